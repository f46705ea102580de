//! Which histories are run.

use std::ops::Range;

/// Seeds of histories, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seeds(pub Range<u64>);

impl Seeds {
    /// So many from the first on, unless the environment says otherwise: `QUIPU_SEED` is another first seed,
    /// `QUIPU_SIMULATE` another number of them, and `QUIPU_EFFORT` how many times as many there are.
    pub fn of(runs: u64) -> Self {
        let number = |name: &str| {
            let text = std::env::var(name).ok()?;
            Some(text.parse::<u64>().unwrap_or_else(|_| panic!("{name} is a whole number")))
        };
        let first = number("QUIPU_SEED").unwrap_or(1);
        let effort = number("QUIPU_EFFORT").unwrap_or(1);
        let runs = number("QUIPU_SIMULATE").unwrap_or_else(|| runs.saturating_mul(effort));
        Self(first..first.saturating_add(runs))
    }
}
