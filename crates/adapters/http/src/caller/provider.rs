//! Payment providers that call back.

/// A provider whose signature has verified.
pub(crate) struct Provider {
    rail: String,
}

impl Provider {
    /// The provider of this rail; to be made by whoever has verified its signature over the raw body.
    pub(crate) const fn verified(rail: String) -> Self {
        Self { rail }
    }

    /// The name of its rail.
    pub(crate) fn rail(&self) -> &str {
        &self.rail
    }
}
