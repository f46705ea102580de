//! The brand of a merchant, as its pages show it.

use quipu_merchants::{Accent, Merchant, MerchantPage};

use crate::accent::OWN_ACCENT;

/// A merchant as its payers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brand {
    /// The name that payers know.
    pub name: String,
    /// The accent colour.
    pub accent: Accent,
    /// Hex of SHA-256 over the logo, if there is one.
    pub logo: Option<String>,
}

impl Brand {
    /// A brand that has only a name.
    pub fn plain(name: impl Into<String>) -> Self {
        Self { name: name.into(), accent: OWN_ACCENT, logo: None }
    }

    /// The brand of this merchant, with the appearance that the operator set for its pages.
    pub fn of(merchant: &Merchant, set: Option<MerchantPage>) -> Self {
        let set = set.unwrap_or_default();
        Self {
            name: set.name.unwrap_or_else(|| merchant.name.clone()),
            accent: set.accent.unwrap_or(OWN_ACCENT),
            logo: set.logo,
        }
    }

    /// The path of the logo below the public address.
    pub fn logo_path(&self) -> Option<String> {
        self.logo.as_ref().map(|hash| format!("/logos/{hash}.png"))
    }
}
