//! The rounds of a worker that does the due work of one queue: how it claims work, and how long it rests.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use quipu_commit::{Queue, WorkInHand, WorkQueue};
use quipu_kernel::{Clock, StoreError};
use tokio::time::timeout;

use super::back_off;
use crate::stop_signal::StopSignal;

/// How long one piece of work may take. Work that takes longer is given up while its lease still holds, so that no
/// other node does it meanwhile.
pub(crate) const PATIENCE: Duration = Duration::from_secs(25);
/// How long claimed work belongs to this node, unless the worker has a lease of its own. Work that fails is
/// tried again after that.
pub(super) const LEASE: Duration = Duration::from_mins(1);
const _: () = assert!(PATIENCE.as_secs() < LEASE.as_secs(), "a lease must outlast what it covers");
/// How long to sleep if nothing wakes the worker: a commit of another node may not wake it.
pub(super) const LONGEST_SLEEP: Duration = Duration::from_secs(5);
/// How long to wait if work is due that another node has claimed.
const CLAIMED_ELSEWHERE: Duration = Duration::from_millis(250);

/// The rounds of one worker over its queue.
pub(super) struct Rounds {
    queue: Arc<dyn WorkQueue>,
    kind: Queue,
    clock: Arc<dyn Clock>,
    /// Failures since the last round that succeeded.
    failures: u32,
}

/// The result of a claim.
pub(super) enum Found {
    /// Work that belongs to this node until its lease ends.
    Work(Vec<WorkInHand>),
    /// There is nothing to do for this time.
    Nothing(Duration),
}

impl Rounds {
    pub(super) fn of(queue: &Arc<dyn WorkQueue>, kind: Queue, clock: &Arc<dyn Clock>) -> Self {
        Self { queue: Arc::clone(queue), kind, clock: Arc::clone(clock), failures: 0 }
    }

    /// Has due work attended to until it is told to stop, at most `at_once` pieces together. What is claimed by then
    /// is finished.
    pub(super) async fn attend<F: Future<Output = ()>>(
        mut self,
        at_once: u32,
        mut stop: StopSignal,
        attend: impl Fn(WorkInHand) -> F,
    ) {
        while !stop.is_given() {
            let made = self.round(at_once, &attend).await;
            self.rest(made, &mut stop).await;
        }
    }

    /// Has the due work attended to, and answers how long there is nothing to do.
    async fn round<F: Future<Output = ()>>(
        &self,
        at_once: u32,
        attend: impl Fn(WorkInHand) -> F,
    ) -> Result<Duration, StoreError> {
        match self.claim(LEASE, at_once).await? {
            Found::Nothing(pause) => Ok(pause),
            Found::Work(claimed) => {
                join_all(claimed.into_iter().map(attend)).await;
                Ok(Duration::ZERO)
            }
        }
    }

    /// Claims at most `limit` pieces of due work for the time of `lease`. It counts from the beginning of this call,
    /// however long the claim waits for its turn.
    pub(super) async fn claim(&self, lease: Duration, limit: u32) -> Result<Found, StoreError> {
        let now = self.clock.now();
        let Some(next) = self.queue.next_due(self.kind).await? else {
            return Ok(Found::Nothing(LONGEST_SLEEP));
        };
        if next > now {
            return Ok(Found::Nothing(next.since(now).min(LONGEST_SLEEP)));
        }
        let claimed = self.queue.claim(self.kind, now, lease, limit).await?;
        Ok(if claimed.is_empty() { Found::Nothing(CLAIMED_ELSEWHERE) } else { Found::Work(claimed) })
    }

    /// Rests after a round. A round that succeeded says how long there is nothing to do; new work that is due
    /// earlier ends this rest. After a failure the rest is longer each time, and new work does not end it, since
    /// the next claim would most likely fail as well. The signal to stop ends every rest.
    pub(super) async fn rest(&mut self, round: Result<Duration, StoreError>, stop: &mut StopSignal) {
        match round {
            Ok(pause) => {
                self.failures = 0;
                let before = self.clock.now().plus(pause);
                tokio::select! {
                    () = stop.given() => {}
                    () = self.queue.woken(self.kind, before) => {}
                    () = tokio::time::sleep(pause) => {}
                }
            }
            Err(error) => {
                tracing::warn!(%error, queue = self.kind.0, "due work could not be claimed");
                let _ = timeout(back_off(self.failures), stop.given()).await;
                self.failures += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use quipu_commit::{Changes, Commit as _, Memory, Work, WorkChange};
    use quipu_kernel::{Environment, MerchantId, Tenant, Timestamp};
    use tokio::{sync::watch, time::Instant};

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_763_726_400_000);

    struct Noon;

    impl Clock for Noon {
        fn now(&self) -> Timestamp {
            NOON
        }
    }

    fn rounds(store: &Memory) -> Rounds {
        let (queue, clock): (Arc<dyn WorkQueue>, Arc<dyn Clock>) = (Arc::new(store.clone()), Arc::new(Noon));
        Rounds::of(&queue, Queue::THUMBNAILS, &clock)
    }

    async fn add(store: &Memory, subject: &str, due: Timestamp) {
        let mut changes = Changes::new(Tenant::new(MerchantId(1), Environment::Test), NOON);
        changes.work.push(WorkChange::Put(Work::plain(Queue::THUMBNAILS, subject, due)));
        store.commit(changes).await.expect("committed");
    }

    async fn nothing_for(rounds: &Rounds) -> Duration {
        match rounds.claim(LEASE, 8).await.expect("answered") {
            Found::Nothing(pause) => pause,
            Found::Work(claimed) => panic!("there is work: {claimed:?}"),
        }
    }

    #[tokio::test]
    async fn a_claim_brings_due_work_or_the_time_until_there_may_be_some() {
        let store = Memory::default();
        let rounds = rounds(&store);
        assert_eq!(nothing_for(&rounds).await, LONGEST_SLEEP);
        add(&store, "later", NOON.plus(Duration::from_mins(1))).await;
        assert_eq!(nothing_for(&rounds).await, LONGEST_SLEEP);
        add(&store, "soon", NOON.plus(Duration::from_secs(2))).await;
        assert_eq!(nothing_for(&rounds).await, Duration::from_secs(2));
        add(&store, "now", NOON).await;
        let Found::Work(claimed) = rounds.claim(LEASE, 8).await.expect("answered") else {
            panic!("there is work")
        };
        assert_eq!(claimed.iter().map(|work| work.subject.as_str()).collect::<Vec<_>>(), ["now"]);
        assert_eq!(nothing_for(&rounds).await, Duration::from_secs(2));
    }

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_make_the_rest_longer_and_a_signal_ends_every_rest() {
        let (told, receiver) = watch::channel(false);
        let (mut rounds, mut stop) = (rounds(&Memory::default()), StopSignal::heard_by(receiver));
        let (failed, made) = (|| Err(StoreError::Overloaded), Ok(Duration::from_secs(3)));
        let mut rests = Vec::new();
        for round in [failed(), failed(), failed(), made, failed()] {
            let begun = Instant::now();
            rounds.rest(round, &mut stop).await;
            rests.push(begun.elapsed().as_millis());
        }
        assert_eq!(rests, [250, 500, 1_000, 3_000, 250]);
        told.send_replace(true);
        for round in [failed(), Ok(LONGEST_SLEEP)] {
            let begun = Instant::now();
            rounds.rest(round, &mut stop).await;
            assert_eq!(begun.elapsed(), Duration::ZERO);
        }
    }

    #[tokio::test]
    async fn all_that_is_due_is_attended_to_a_few_pieces_at_a_time() {
        let (told, receiver) = watch::channel(false);
        let store = Memory::default();
        for number in 0..5 {
            add(&store, &format!("{number}"), NOON).await;
        }
        let (busy, attended) = (std::cell::Cell::new(0), std::cell::RefCell::new(Vec::new()));
        let attend = async |work: WorkInHand| {
            busy.set(busy.get() + 1);
            tokio::task::yield_now().await;
            attended.borrow_mut().push((work.subject.clone(), busy.get()));
            if attended.borrow().len() == 5 {
                told.send_replace(true);
            }
            tokio::task::yield_now().await;
            busy.set(busy.get() - 1);
        };
        rounds(&store).attend(2, StopSignal::heard_by(receiver), attend).await;
        let together: Vec<_> = attended.borrow().iter().map(|(_, busy)| *busy).collect();
        assert_eq!(together, [2, 2, 2, 2, 1]);
    }
}
