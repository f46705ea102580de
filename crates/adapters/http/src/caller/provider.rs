//! Payment providers that send callbacks.

/// A provider whose signature has been verified.
pub(crate) struct Provider {
    rail: String,
}

impl Provider {
    /// The provider of this rail. Only to be called after its signature over the raw body was verified.
    pub(crate) const fn verified(rail: String) -> Self {
        Self { rail }
    }

    /// The name of its rail.
    pub(crate) fn rail(&self) -> &str {
        &self.rail
    }
}
