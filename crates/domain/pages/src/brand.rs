//! What a page shows of its merchant.

use serde::{Deserialize, Serialize};

use crate::accent::Accent;

/// A logo by the hash of its bytes, under which the gateway serves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logo {
    /// Hexadecimal digits of the hash.
    pub hash: String,
}

impl Logo {
    /// Its path below the public address.
    pub fn path(&self) -> String {
        format!("/assets/logo-{}.png", self.hash)
    }
}

/// A merchant as its payers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brand {
    /// The name that payers know.
    pub name: String,
    /// Its colour.
    pub accent: Accent,
    /// Its logo, if it gave one.
    pub logo: Option<Logo>,
}

impl Brand {
    /// A merchant that gave nothing but its name.
    pub fn plain(name: impl Into<String>) -> Self {
        Self { name: name.into(), accent: Accent::DEFAULT, logo: None }
    }
}
