//! Processes due payments: hands withdrawals to their rails, asks rails, lets payments expire.

mod hands;

use std::{sync::Arc, time::Duration};

use quipu_commit::{DueWork, Queue, WorkInHand, WorkQueue};
use quipu_kernel::{Clock, StoreError, Timestamp};
use quipu_payments::{DueAction, SettlePayment};
use tokio::time::Instant;
use tracing::Instrument;

use self::hands::{AT_ONCE, Hands, Key, LEASE, Waiting, key_of};
use super::rounds::{Found, LONGEST_SLEEP, PATIENCE, Rounds};
use crate::{metrics::DUE_DELAY_SECONDS, stop_signal::StopSignal};

const _: () = assert!(PATIENCE.as_secs() < LEASE.as_secs(), "a lease must outlast what it covers");
const _: () = assert!(
    PATIENCE.as_secs() < SettlePayment::RESUBMIT_AFTER.as_secs(),
    "a submission must not be made again while the first may still run"
);

/// The most payments claimed in one commit.
const BATCH: usize = 512;
/// The most payments shown at once to a node that is alone. They are many, because those in hand are shown
/// again.
const SHOWN: usize = 4_096;

/// The worker that settles payments.
///
/// Where other nodes may be working, it claims due work. A node that is alone is shown due work without a
/// claim, which saves the database a write for each payment. Should another node come meanwhile, both may
/// make the same decision, and the revision check lets only one of them commit. Submissions are always
/// claimed, since a repeated one calls its rail without a commit first. A status question is not claimed,
/// though its answer may lead to another submission: the rail recognises that one by its identifier.
pub(crate) struct Settle {
    pub(crate) queue: Arc<dyn WorkQueue>,
    pub(crate) use_case: Arc<SettlePayment>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Settle {
    /// Works until it is told to stop, then finishes the work in hand.
    pub(crate) async fn run(self, mut stop: StopSignal) {
        let mut hands = Hands::default();
        let mut rounds = Rounds::of(&self.queue, Queue::SETTLEMENT, &self.clock);
        while !stop.is_given() {
            let made = self.round(&rounds, &mut hands).await;
            rounds.rest(made, &mut stop).await;
        }
        // No other node does claimed work before its lease ends.
        while let Some(next) = hands.waiting.pop_front() {
            if next.until.is_some() {
                self.begin(&mut hands, next);
            }
        }
        while hands.one_ended().await {}
    }

    /// Takes due work as far as there is room, and answers how long it will be until more is due.
    async fn round(&self, rounds: &Rounds, hands: &mut Hands) -> Result<Duration, StoreError> {
        hands.put_down();
        while hands.have_room()
            && let Some(next) = hands.waiting.pop_front()
        {
            self.begin(hands, next);
        }
        if !hands.waiting.is_empty() || hands.attending.len() + BATCH > AT_ONCE {
            let _nothing_left = hands.one_ended().await;
            return Ok(Duration::ZERO);
        }
        let now = self.clock.now();
        let most = u32::try_from(SHOWN + hands.held()).unwrap_or(u32::MAX);
        match self.queue.due_here(Queue::SETTLEMENT, now, most).await? {
            Some(due) => self.take_shown(hands, due, now).await,
            None => take_claimed(rounds, hands).await,
        }
    }

    /// Takes the work that this node was shown and does not have in hand yet.
    async fn take_shown(
        &self,
        hands: &mut Hands,
        due: DueWork,
        now: Timestamp,
    ) -> Result<Duration, StoreError> {
        let (mut submissions, others): (Vec<_>, Vec<_>) = due.work.into_iter().partition(is_submission);
        hands.take_up(others);
        // The rest is shown again.
        submissions.truncate(BATCH);
        if !submissions.is_empty() {
            let until = Instant::now() + PATIENCE;
            let claimed = self.queue.claim_shown(submissions, now.plus(LEASE)).await?;
            hands.waiting.extend(claimed.into_iter().map(|work| Waiting { work, until: Some(until) }));
        }
        if !hands.waiting.is_empty() {
            return Ok(Duration::ZERO);
        }
        let next = due.next.map_or(LONGEST_SLEEP, |next| next.since(now));
        Ok(next.min(hands.longest_rest()).min(LONGEST_SLEEP).max(hands.shortest_rest()))
    }

    fn begin(&self, hands: &mut Hands, Waiting { work, until }: Waiting) {
        let until = until.unwrap_or_else(|| Instant::now() + PATIENCE);
        // A provider may hold a submission up for long, which is no delay of this worker.
        if !is_submission(&work) {
            let waited = self.clock.now().since(work.due);
            metrics::histogram!(DUE_DELAY_SECONDS).record(waited.as_secs_f64());
        }
        let span = tracing::info_span!("settle", payment_id = work.subject);
        let key = key_of(&work);
        hands.begin(&key, attend(Arc::clone(&self.use_case), work, until).instrument(span));
    }
}

/// Claims due work, since other nodes may do so too.
async fn take_claimed(rounds: &Rounds, hands: &mut Hands) -> Result<Duration, StoreError> {
    // The lease begins before the claim, however long that waits for its turn.
    let until = Instant::now() + PATIENCE;
    let limit = u32::try_from(BATCH).unwrap_or(u32::MAX);
    match rounds.claim(LEASE, limit).await? {
        Found::Nothing(pause) => Ok(pause),
        Found::Work(claimed) => {
            hands.waiting.extend(claimed.into_iter().map(|work| Waiting { work, until: Some(until) }));
            Ok(Duration::ZERO)
        }
    }
}

/// Whether the work may hand a payout to its rail.
fn is_submission(work: &WorkInHand) -> bool {
    work.action == DueAction::Submit.as_str()
}

/// Does one piece of work; answers it if that succeeded. Work that fails is done again when its lease ends,
/// or after the same time if it has no lease.
async fn attend(settle: Arc<SettlePayment>, work: WorkInHand, until: Instant) -> Option<Key> {
    let id = &work.subject;
    if Instant::now() >= until {
        tracing::warn!(payment_id = id, "a due payment was claimed too slowly");
        return None;
    }
    // Boxed, because it is large and a task of its own.
    match tokio::time::timeout_at(until, Box::pin(settle.attend(&work))).await {
        Ok(Ok(())) => return Some(key_of(&work)),
        Ok(Err(error)) => tracing::warn!(payment_id = id, %error, "a due payment could not be processed"),
        Err(_) => tracing::warn!(payment_id = id, "a due payment took too long"),
    }
    None
}
