//! The rounds of a worker that deletes what is old.

use std::time::Duration;

use quipu_kernel::StoreError;
use tokio::time::timeout;

use crate::stop_signal::StopSignal;

/// What is deleted, and how fast.
pub(super) struct Deletion {
    /// The rows, for the log.
    pub(super) what: &'static str,
    /// The most rows deleted in one commit.
    pub(super) at_once: u32,
    /// The time between two rounds.
    pub(super) pause: Duration,
}

impl Deletion {
    /// Has `delete` called until it is told to stop; it deletes at most `at_once` rows and answers how many they were. If
    /// they were as many, there may be more, and no pause follows.
    pub(super) async fn run<F: Future<Output = Result<u64, StoreError>>>(
        self,
        mut stop: StopSignal,
        delete: impl Fn() -> F,
    ) {
        while !stop.is_given() {
            let more = match delete().await {
                Ok(deleted) => deleted >= u64::from(self.at_once),
                Err(error) => {
                    tracing::warn!(%error, "{} could not be deleted", self.what);
                    false
                }
            };
            if !more {
                let _ = timeout(self.pause, stop.given()).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::{sync::watch, time::Instant};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn as_many_as_may_be_deleted_at_once_are_followed_by_the_rest_and_the_rest_by_a_pause() {
        let (told, receiver) = watch::channel(false);
        let (begun, calls) = (Instant::now(), std::cell::RefCell::new(Vec::new()));
        let delete = async || {
            calls.borrow_mut().push(begun.elapsed().as_secs());
            match calls.borrow().len() {
                1 => Ok(5),
                2 => Ok(4),
                3 => Err(StoreError::Overloaded),
                _ => {
                    told.send_replace(true);
                    Ok(5)
                }
            }
        };
        let deletion = Deletion { what: "rows", at_once: 5, pause: Duration::from_mins(1) };
        deletion.run(StopSignal::heard_by(receiver), delete).await;
        assert_eq!(*calls.borrow(), [0, 0, 60, 120]);
    }
}
