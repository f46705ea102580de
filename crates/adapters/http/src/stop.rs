//! The word that the process is to end, for answers that would go on for long.

use tokio::sync::watch;

/// Told to every long answer when the process is to end.
#[derive(Debug, Clone)]
pub struct Stop(Option<watch::Receiver<bool>>);

impl Stop {
    /// Given when the channel says `true`, or when its sender is gone.
    pub const fn on(told: watch::Receiver<bool>) -> Self {
        Self(Some(told))
    }

    /// Never given.
    pub const fn never() -> Self {
        Self(None)
    }

    /// Completes when it is given.
    pub async fn given(mut self) {
        match &mut self.0 {
            Some(told) => {
                // A sender that is gone gives no other word any more.
                let _ = told.wait_for(|stop| *stop).await;
            }
            None => std::future::pending().await,
        }
    }
}
