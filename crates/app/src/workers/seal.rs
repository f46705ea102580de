//! Adds entries and lines of the audit log to their chains once they are old enough. All other work of the
//! database comes first.

use std::{sync::Arc, time::Duration};

use quipu_kernel::Clock;
use quipu_ledger::Chains;

use super::back_off;
use crate::{metrics::SEALED_ROWS, stop_signal::StopSignal};

/// The time between two rounds: a fraction of the age at which rows are sealed, and half a minute at most.
const PAUSE: Duration = Duration::from_secs(30);
/// The pause between two turns of one round, so that other work of the database comes first.
const BREATH: Duration = Duration::from_millis(50);

/// The worker that seals.
pub(crate) struct Seal {
    pub(crate) chains: Arc<dyn Chains>,
    /// Steady: no row gets a place before what is sealed.
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) after: Duration,
}

impl Seal {
    /// Works until it is told to stop.
    pub(crate) async fn run(self, mut stop: StopSignal) {
        let usual = PAUSE.min(self.after / 5).max(Duration::from_millis(100));
        let mut failures = 0;
        while !stop.is_given() {
            let now = self.clock.now();
            let pause = match self.chains.extend_chains(now, self.after).await {
                Ok(sealed) => {
                    metrics::counter!(SEALED_ROWS).increment(sealed.rows);
                    failures = 0;
                    if sealed.more { BREATH } else { usual }
                }
                Err(error) => {
                    tracing::warn!(%error, "the hash chains could not be extended; this is tried again");
                    failures += 1;
                    usual.max(back_off(failures))
                }
            };
            let _ = tokio::time::timeout(pause, stop.given()).await;
        }
    }
}
