//! The configured rails.

use std::{collections::BTreeMap, sync::Arc};

use quipu_kernel::StoreError;

use crate::rail::Rail;

/// The configured rails, found by the names that routes use.
#[derive(Clone, Default)]
pub struct Rails(BTreeMap<String, Arc<dyn Rail>>);

impl Rails {
    /// A collection of these rails; of two with the same name the later is used.
    pub fn new(rails: Vec<Arc<dyn Rail>>) -> Self {
        Self(rails.into_iter().map(|rail| (rail.name().to_owned(), rail)).collect())
    }

    /// The rail of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Rail>> {
        self.0.get(name)
    }

    /// The rail of this name, which a route of a merchant names. A node without it can do nothing for that route at the
    /// moment; another node may.
    pub(crate) fn require(&self, name: &str) -> Result<&Arc<dyn Rail>, StoreError> {
        let missing = || StoreError::Unavailable(format!("the rail {name} is not configured on this node"));
        self.get(name).ok_or_else(missing)
    }

    /// The rail whose callbacks have this name in their path.
    pub fn by_callback_name(&self, name: &str) -> Option<&Arc<dyn Rail>> {
        self.0.values().find(|rail| rail.callback_name() == Some(name))
    }

    /// Whether any of them is a provider's, which a creation may have to ask.
    pub fn have_providers(&self) -> bool {
        self.0.values().any(|rail| rail.callback_name().is_some())
    }

    /// Whether there is a rail of this name.
    pub fn knows(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

impl std::fmt::Debug for Rails {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
