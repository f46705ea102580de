//! The work that the settling worker has in hand, so that it does not take the same work twice when it is
//! shown again.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    time::Duration,
};

use quipu_commit::WorkInHand;
use quipu_kernel::Tenant;
use tokio::{
    task::{JoinError, JoinSet},
    time::Instant,
};

use crate::workers::log_panic;

/// How long a claimed payment belongs to this node. If nothing was committed for it by then, another node may
/// take it.
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// The most payments that are processed at once. They are many, because commits at the same time share one
/// flush to disk.
pub(super) const AT_ONCE: usize = 2_048;
/// A time longer than any work waits to be begun.
const UNTIL_BEGUN: Duration = Duration::from_hours(24);

/// The key of a piece of work, with the turn of its row.
pub(super) type Key = (Tenant, String, i64);

pub(super) fn key_of(work: &WorkInHand) -> Key {
    (work.tenant, work.subject.clone(), work.turn)
}

/// Work that was taken and has not begun. Claimed work must be done by `until`.
pub(super) struct Waiting {
    pub(super) work: WorkInHand,
    pub(super) until: Option<Instant>,
}

/// The work in hand: waiting, being done, or resting for a while after it failed.
#[derive(Default)]
pub(super) struct Hands {
    pub(super) waiting: VecDeque<Waiting>,
    /// Each task answers the key of what it has done; nothing if it failed.
    pub(super) attending: JoinSet<Option<Key>>,
    /// The work that was shown without a claim, and the time until which it is not taken again.
    held: HashMap<Key, Instant>,
}

impl Hands {
    pub(super) fn have_room(&self) -> bool {
        self.attending.len() < AT_ONCE
    }

    /// The number of pieces of work that were shown without a claim and are in hand.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    /// Takes the shown work that is not in hand yet. It is held until it is done, and once begun no longer
    /// than a lease would last.
    pub(super) fn take_up(&mut self, shown: Vec<WorkInHand>) {
        let now = Instant::now();
        self.held.retain(|_, until| now < *until);
        for work in shown {
            if let Entry::Vacant(free) = self.held.entry(key_of(&work)) {
                free.insert(now + UNTIL_BEGUN);
                self.waiting.push_back(Waiting { work, until: None });
            }
        }
    }

    /// Begins `attending`, which does a piece of work.
    pub(super) fn begin(&mut self, key: &Key, attending: impl Future<Output = Option<Key>> + Send + 'static) {
        if let Some(until) = self.held.get_mut(key) {
            *until = Instant::now() + LEASE;
        }
        self.attending.spawn(attending);
    }

    /// Forgets work that is done.
    pub(super) fn put_down(&mut self) {
        while let Some(ended) = self.attending.try_join_next() {
            self.let_go(ended);
        }
    }

    /// Waits until a piece of work has ended; answers whether there was any.
    pub(super) async fn one_ended(&mut self) -> bool {
        match self.attending.join_next().await {
            Some(ended) => {
                self.let_go(ended);
                true
            }
            None => false,
        }
    }

    fn let_go(&mut self, ended: Result<Option<Key>, JoinError>) {
        match ended {
            Ok(Some(done)) => drop(self.held.remove(&done)),
            Ok(None) => {}
            Err(error) => log_panic("attending to a payment", &Err(error)),
        }
    }

    /// How long work that failed rests at most before it is taken again.
    pub(super) fn longest_rest(&self) -> Duration {
        let first = self.held.values().min();
        first.map_or(Duration::MAX, |first| first.saturating_duration_since(Instant::now()))
    }

    /// How long to leave the queue alone: the more work is in hand, the more of it is shown again in vain.
    pub(super) fn shortest_rest(&self) -> Duration {
        Duration::from_micros(20).saturating_mul(u32::try_from(self.held.len()).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use quipu_commit::Queue;
    use quipu_kernel::{Environment, MerchantId, Timestamp};

    use super::*;

    fn work(subject: &str, turn: i64) -> WorkInHand {
        WorkInHand {
            queue: Queue::SETTLEMENT,
            tenant: Tenant::new(MerchantId(1), Environment::Test),
            subject: subject.to_owned(),
            action: "ask".to_owned(),
            due: Timestamp::from_millis(0),
            attempts: 1,
            turn,
        }
    }

    fn taken(hands: &mut Hands, shown: &[WorkInHand]) -> Vec<(String, i64)> {
        hands.take_up(shown.to_vec());
        hands.waiting.drain(..).map(|waiting| (waiting.work.subject, waiting.work.turn)).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_in_hand_is_not_taken_up_again_until_it_is_done_or_failed_long_ago() {
        let mut hands = Hands::default();
        let (one, other) = (work("one", 1), work("other", 1));
        let both = [one.clone(), other.clone()];
        assert_eq!(taken(&mut hands, &both), [("one".to_owned(), 1), ("other".to_owned(), 1)]);
        tokio::time::advance(LEASE * 2).await;
        assert_eq!(taken(&mut hands, &both), [], "it waits to be begun");
        let done = key_of(&one);
        hands.begin(&key_of(&one), async { Some(done) });
        hands.begin(&key_of(&other), async { None });
        assert!(hands.one_ended().await && hands.one_ended().await && !hands.one_ended().await);
        assert_eq!(
            taken(&mut hands, &both),
            [("one".to_owned(), 1)],
            "only what is done may come again at once"
        );
        assert_eq!(
            taken(&mut hands, &[work("other", 2)]),
            [("other".to_owned(), 2)],
            "another writing of it"
        );
        assert!(hands.longest_rest() <= LEASE);
        tokio::time::advance(LEASE).await;
        assert_eq!(taken(&mut hands, &[other]), [("other".to_owned(), 1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_panicked_is_taken_up_again_when_a_lease_would_have_ended() {
        let mut hands = Hands::default();
        let one = work("one", 1);
        assert_eq!(taken(&mut hands, std::slice::from_ref(&one)).len(), 1);
        hands.begin(&key_of(&one), async { panic!("as a fault would") });
        assert!(hands.one_ended().await);
        assert_eq!(taken(&mut hands, std::slice::from_ref(&one)), []);
        tokio::time::advance(LEASE).await;
        assert_eq!(taken(&mut hands, &[one]).len(), 1);
    }
}
