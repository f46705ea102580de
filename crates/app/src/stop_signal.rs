//! The signal by which the process tells its workers to end.

use tokio::sync::watch;

/// A worker's receiver of the signal.
#[derive(Clone)]
pub(crate) struct StopSignal(watch::Receiver<bool>);

impl StopSignal {
    /// The receiver of a signal that is given when the sender sends `true`.
    pub(crate) const fn heard_by(told: watch::Receiver<bool>) -> Self {
        Self(told)
    }

    /// Whether the signal was given.
    pub(crate) fn is_given(&self) -> bool {
        *self.0.borrow()
    }

    /// Completes when the signal is given.
    pub(crate) async fn given(&mut self) {
        // If the sender is gone, the process is ending as well.
        let _ = self.0.wait_for(|stop| *stop).await;
    }
}
