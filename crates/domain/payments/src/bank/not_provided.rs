//! What banks write where there is no text.

/// The word of ISO 20022 for a required text that is not known.
pub const NOT_PROVIDED: &str = "NOTPROVIDED";

/// Whether a bank wrote this word because it has no text, no reference or no identifier.
pub fn says_nothing(text: &str) -> bool {
    [NOT_PROVIDED, "NONREF", "NOREF", "NONE"].iter().any(|word| text.eq_ignore_ascii_case(word))
}
