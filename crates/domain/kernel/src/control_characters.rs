//! Characters that texts may not have.

/// Whether `text` has characters that no single-line text may have (docs/API.md, "Create").
pub fn has_control_characters(text: &str) -> bool {
    text.chars().any(char::is_control)
}

/// Whether a text that may have several lines has a control character other than tab and line feed.
pub fn has_control_characters_in_prose(text: &str) -> bool {
    text.chars().any(|c| c.is_control() && c != '\t' && c != '\n')
}
