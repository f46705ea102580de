//! Codes as a page shows them.

/// A code to be scanned from the screen.
pub(crate) struct Code {
    pub(crate) class: &'static str,
    pub(crate) view: String,
    pub(crate) outline: String,
    pub(crate) stretch: bool,
    pub(crate) label: String,
    pub(crate) text: Option<String>,
}
