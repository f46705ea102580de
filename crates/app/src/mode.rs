//! The two modes of `quipu serve`.

/// What is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Payments of real merchants. Whatever is missing must be made by a person.
    Production,
    /// A demo, which makes what it needs (`--dev`).
    Demo,
}
