//! Places for calls: how many calls to one provider may be open at once.
//!
//! Payouts and questions come in bursts and can wait; a payer cannot. So workers share most of the places,
//! and the rest is reserved for new deposits.

use std::{sync::Arc, time::Duration};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most open calls to one provider.
pub(super) const ALL: usize = 64;
/// The most of them for workers.
const FOR_WORKERS: usize = 48;
/// The most payouts that may queue for a place at once, and also the most questions. This many keep all
/// places in use; more would only keep the worker from payments on other rails.
const IN_QUEUE: usize = 256;

/// The kinds of calls that wait for a worker's place. Each has its own queue, so that neither fills the
/// other's.
#[derive(Debug, Clone, Copy)]
pub(super) enum Line {
    Payouts,
    Questions,
}

/// A place. Dropping it releases it.
#[derive(Debug)]
pub(super) struct CallPermit {
    _of_all: OwnedSemaphorePermit,
    _of_workers: Option<OwnedSemaphorePermit>,
}

/// All places, and the queues for them.
pub(super) struct Places {
    all: Arc<Semaphore>,
    for_workers: Arc<Semaphore>,
    payouts: Semaphore,
    questions: Semaphore,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(ALL)),
            for_workers: Arc::new(Semaphore::new(FOR_WORKERS)),
            payouts: Semaphore::new(IN_QUEUE),
            questions: Semaphore::new(IN_QUEUE),
        }
    }
}

impl Places {
    /// A place for a new deposit, if one is free within `patience`.
    pub(super) async fn for_payer(&self, patience: Duration) -> Option<CallPermit> {
        let taken = tokio::time::timeout(patience, Arc::clone(&self.all).acquire_owned()).await;
        Some(CallPermit { _of_all: taken.ok()?.ok()?, _of_workers: None })
    }

    /// A place for a worker, if one is free within `patience`.
    async fn for_worker(&self, patience: Duration) -> Option<CallPermit> {
        let taken = async {
            let of_workers = Arc::clone(&self.for_workers).acquire_owned().await.ok()?;
            let of_all = Arc::clone(&self.all).acquire_owned().await.ok()?;
            Some(CallPermit { _of_all: of_all, _of_workers: Some(of_workers) })
        };
        tokio::time::timeout(patience, taken).await.ok().flatten()
    }

    /// A place for a worker's call that can be put off: `None` at once if too many already wait in this line.
    pub(super) async fn queued(&self, line: Line, patience: Duration) -> Option<CallPermit> {
        let queue = match line {
            Line::Payouts => &self.payouts,
            Line::Questions => &self.questions,
        };
        let _in_queue = queue.try_acquire().ok()?;
        self.for_worker(patience).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_mins(1);

    async fn taken_by_workers(places: &Places) -> Vec<CallPermit> {
        let mut taken = Vec::new();
        for _ in 0..FOR_WORKERS {
            taken.push(places.for_worker(MOMENT).await.expect("free"));
        }
        taken
    }

    #[tokio::test]
    async fn workers_leave_places_to_payers() {
        let places = Places::default();
        let _taken = taken_by_workers(&places).await;
        assert!(places.for_worker(MOMENT).await.is_none());
        let mut payers = Vec::new();
        for _ in FOR_WORKERS..ALL {
            payers.push(places.for_payer(MOMENT).await.expect("free"));
        }
        assert!(places.for_payer(MOMENT).await.is_none());
    }

    #[tokio::test]
    async fn whoever_queues_gets_the_next_place_unless_too_many_do() {
        let places = Places::default();
        let mut taken = taken_by_workers(&places).await;
        let freed = async { drop(taken.pop()) };
        let (found, ()) = futures_util::future::join(places.queued(Line::Payouts, LONG), freed).await;
        assert!(found.is_some());
        drop((found, taken));
        let many = u32::try_from(IN_QUEUE).expect("few enough");
        let _others = places.questions.try_acquire_many(many).expect("an empty queue");
        assert!(places.queued(Line::Questions, LONG).await.is_none());
        assert!(places.queued(Line::Payouts, LONG).await.is_some(), "another line");
    }
}
