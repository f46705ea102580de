//! How the process tells its workers to end.

use tokio::sync::watch;

/// Told to every worker when the process is to end.
#[derive(Clone)]
pub(crate) struct StopSignal(watch::Receiver<bool>);

impl StopSignal {
    /// The one that is given by this sender's `true`.
    pub(crate) const fn heard_by(told: watch::Receiver<bool>) -> Self {
        Self(told)
    }

    /// Whether it was given.
    pub(crate) fn is_given(&self) -> bool {
        *self.0.borrow()
    }

    /// Completes when the signal is given.
    pub(crate) async fn given(&mut self) {
        // A sender that is gone gives no other signal any more.
        let _ = self.0.wait_for(|stop| *stop).await;
    }
}
