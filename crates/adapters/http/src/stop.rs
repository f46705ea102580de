//! The signal that the process is to stop, for long answers.

use tokio::sync::watch;

/// The signal to every long answer that the process is to stop.
#[derive(Debug, Clone)]
pub struct Stop(Option<watch::Receiver<bool>>);

impl Stop {
    /// Given when the channel holds `true`, or its sender is gone.
    pub const fn on(told: watch::Receiver<bool>) -> Self {
        Self(Some(told))
    }

    /// Never given.
    pub const fn never() -> Self {
        Self(None)
    }

    /// Whether the signal is given.
    pub fn is_given(&self) -> bool {
        self.0.as_ref().is_some_and(|told| *told.borrow() || told.has_changed().is_err())
    }

    /// Completes when the signal is given.
    pub async fn given(mut self) {
        match &mut self.0 {
            Some(told) => {
                // An error means that the sender is gone, which counts as the signal.
                let _ = told.wait_for(|stop| *stop).await;
            }
            None => std::future::pending().await,
        }
    }
}
