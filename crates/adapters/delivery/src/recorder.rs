//! The recorder: records outcomes, as many of a merchant as wait in one commit.
//!
//! Each merchant has at most one call in progress. A merchant whose rows are locked delays no other.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use quipu_kernel::MerchantId;
use quipu_webhooks::Outcome;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use crate::{in_hand::InHand, kept::Amount};

/// The most outcomes in one commit.
const AT_ONCE: usize = 512;
/// How many failures of the store are accepted after the stop. A delivery whose outcome is not recorded then
/// is sent again by the next node.
const LAST_TRIES: u32 = 8;
/// How long attempts in progress may take after the stop: as long as one lasts, and a little.
const DRAIN: Duration = Duration::from_secs(20);

/// Records until the dispatcher stops and its last attempt has ended, or has had its time to end.
pub(crate) async fn run(in_hand: Arc<InHand>, mut outcomes: mpsc::UnboundedReceiver<Outcome>) {
    let mut desk =
        Desk { in_hand: Arc::clone(&in_hand), waiting: HashMap::new(), calls: FuturesUnordered::new() };
    let mut batch = Vec::with_capacity(AT_ONCE);
    let mut is_over = std::pin::pin!(stopped_and_idle(&in_hand));
    loop {
        tokio::select! {
            biased;
            Some(merchant) = desk.calls.next() => desk.go_on(merchant),
            received = outcomes.recv_many(&mut batch, AT_ONCE) => {
                if received == 0 {
                    break;
                }
                desk.take_in(batch.drain(..));
            }
            // Outcomes of all attempts that have ended are in the channel by now, and are still received from it.
            () = &mut is_over, if !outcomes.is_closed() => outcomes.close(),
        }
    }
    while let Some(merchant) = desk.calls.next().await {
        desk.go_on(merchant);
    }
}

async fn stopped_and_idle(in_hand: &InHand) {
    in_hand.stopped().await;
    if timeout(DRAIN, in_hand.attempts_ended()).await.is_err() {
        tracing::warn!("attempts under way were abandoned; they will be made again when this node is gone");
    }
}

/// The outcomes that wait for their commit.
struct Desk {
    in_hand: Arc<InHand>,
    /// For each merchant with a call in progress, the outcomes that came since it began.
    waiting: HashMap<MerchantId, Vec<Outcome>>,
    calls: FuturesUnordered<BoxFuture<'static, MerchantId>>,
}

impl Desk {
    fn take_in(&mut self, batch: impl Iterator<Item = Outcome>) {
        let mut free: HashMap<MerchantId, Vec<Outcome>> = HashMap::new();
        for outcome in batch {
            let merchant = outcome.tenant.merchant();
            match self.waiting.get_mut(&merchant) {
                Some(waiting) => waiting.push(outcome),
                None => free.entry(merchant).or_default().push(outcome),
            }
        }
        for (merchant, outcomes) in free {
            self.waiting.insert(merchant, Vec::new());
            self.begin(merchant, outcomes);
        }
    }

    /// After a call has ended, begins the next one with the outcomes that came since.
    fn go_on(&mut self, merchant: MerchantId) {
        let Some(waiting) = self.waiting.get_mut(&merchant) else { return };
        if waiting.is_empty() {
            self.waiting.remove(&merchant);
            return;
        }
        let outcomes = waiting.drain(..waiting.len().min(AT_ONCE)).collect();
        self.begin(merchant, outcomes);
    }

    fn begin(&self, merchant: MerchantId, outcomes: Vec<Outcome>) {
        let in_hand = Arc::clone(&self.in_hand);
        self.calls.push(Box::pin(async move {
            let amount = Amount::new(outcomes.len(), outcomes.iter().map(Outcome::bytes).sum());
            let keys: Vec<_> = outcomes.iter().map(Outcome::key).collect();
            record(&in_hand, outcomes).await;
            in_hand.board().recorded(merchant, amount, &keys);
            in_hand.send_next();
            merchant
        }));
    }
}

async fn record(in_hand: &Arc<InHand>, batch: Vec<Outcome>) {
    let mut failures = 0;
    loop {
        match in_hand.parts.queue.record(batch.clone(), &in_hand.parts.policy).await {
            Ok(()) => {
                if batch.iter().any(|outcome| outcome.reception.next_at().is_some()) {
                    in_hand.look.notify_one();
                }
                return;
            }
            Err(error) if in_hand.is_stopping() && failures >= LAST_TRIES => {
                tracing::warn!(%error, "outcomes of deliveries were not recorded; the deliveries will be sent again");
                return;
            }
            Err(error) => {
                tracing::warn!(%error, "outcomes of deliveries could not be recorded yet");
                sleep(Duration::from_millis(50 << failures.min(7))).await;
                failures += 1;
            }
        }
    }
}
