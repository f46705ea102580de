//! The error of reading a name from a closed list.

/// A text that is not one of the values its type admits.
///
/// The message names the admitted values and never repeats the text, which may be hostile or secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be {expected}")]
pub struct Unrecognised {
    /// What would have been accepted, in words: `"one of deposit, withdrawal"`.
    pub expected: &'static str,
}
