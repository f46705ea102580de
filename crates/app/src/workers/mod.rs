//! The workers of a serving process, which run beside the HTTP server until the process is told to end. A
//! worker survives every error, and stops between two pieces of work.

mod alert;
mod beat;
mod deletion;
mod expired_keys;
mod old_deliveries;
mod rounds;
mod seal;
mod settle;
mod start;
mod tend;
mod watched;

use std::time::Duration;

use tokio::{
    sync::watch,
    task::{JoinError, JoinSet},
};

use self::{
    alert::Alert, beat::Beat, expired_keys::ExpiredKeys, old_deliveries::OldDeliveries, seal::Seal,
    settle::Settle, tend::Tend, watched::Watched,
};
pub(crate) use self::{
    rounds::PATIENCE,
    start::{start_heart, start_workers},
};
use crate::stop_signal::StopSignal;

/// Running workers that are told to stop together.
pub(crate) struct Workers {
    stop: watch::Sender<bool>,
    running: JoinSet<()>,
}

impl Workers {
    /// No workers yet.
    pub(crate) fn new() -> Self {
        Self { stop: watch::Sender::new(false), running: JoinSet::new() }
    }

    /// A receiver of the stop signal, for parts of the process that end by themselves when it is given.
    pub(crate) fn told_to_stop(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Starts a worker.
    pub(crate) fn start<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        worker: impl FnOnce(StopSignal) -> F,
    ) {
        self.running.spawn(worker(StopSignal::heard_by(self.stop.subscribe())));
    }

    /// Completes when a worker ends without a stop signal; the process must then end too.
    pub(crate) async fn one_ended(&mut self) {
        match self.running.join_next().await {
            Some(ended) => log_panic("a worker", &ended),
            None => std::future::pending().await,
        }
    }

    /// Gives the signal and waits until each worker has finished its work.
    pub(crate) async fn stop(mut self) {
        self.stop.send_replace(true);
        while let Some(ended) = self.running.join_next().await {
            log_panic("a worker", &ended);
        }
    }
}

/// Logs which task panicked; the panic itself has been logged already.
fn log_panic(what: &str, ended: &Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "{what} ended early");
    }
}

/// The pause after a number of failures in a row: twice as long each time, half a minute at most.
fn back_off(failures: u32) -> Duration {
    Duration::from_millis(250 << failures.min(7)).min(Duration::from_secs(30))
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use super::*;

    #[tokio::test]
    async fn a_worker_that_panics_is_noticed_and_the_others_finish_in_order() {
        let finished = Arc::new(AtomicBool::new(false));
        let mut workers = Workers::new();
        let done = Arc::clone(&finished);
        workers.start(|mut stop| async move {
            stop.given().await;
            tokio::task::yield_now().await;
            done.store(true, Ordering::Relaxed);
        });
        workers.start(|_| async { panic!("as a fault in a worker would") });
        workers.one_ended().await;
        assert!(!finished.load(Ordering::Relaxed));
        workers.stop().await;
        assert!(finished.load(Ordering::Relaxed));
    }
}
