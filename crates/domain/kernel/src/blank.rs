//! Texts that say nothing.

/// The text, unless it is blank: empty, or white space alone. For members that count as absent then.
pub fn unless_blank(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.trim().is_empty())
}
