//! What the workers of the nodes do of themselves: rounds in which one of them takes what is due.

use std::{sync::Arc, time::Duration};

use quipu_commit::{Queue, WorkQueue as _};
use quipu_kernel::{Clock as _, Timestamp};
use quipu_payments::DueAction;

use super::{
    Fault, World,
    engine::{Doing, Kind},
    node::Node,
    receivers,
};

/// What is worked off in rounds.
const QUEUES: [Queue; 2] = [Queue::SETTLEMENT, Queue::REDIRECTPAY_ALERT];
/// The round in which what is owed is delivered.
const DELIVERIES: &str = "deliveries";
/// How long a worker's claim holds.
const LEASE: Duration = Duration::from_secs(30);

impl World {
    /// When a round has something to do. What is due waits for one that is under way.
    pub(super) fn next_rounds(&self) -> impl Iterator<Item = Timestamp> {
        let free = |name| !self.engine.is_under_way(&Kind::Round(name));
        let contents = self.around.store.shared.memory.contents();
        let due = QUEUES.map(|queue| contents.next_due(queue).filter(|_| free(queue.0)));
        let letters = self.around.store.shared.post.letters().next_due().filter(|_| free(DELIVERIES));
        due.into_iter().chain([letters]).flatten()
    }

    /// Begins the rounds that have something to do.
    pub(super) fn begin_rounds(&mut self, now: Timestamp) {
        for queue in QUEUES {
            let due = self.around.store.shared.memory.contents().next_due(queue);
            let early = self.around.fault == Some(Fault::ClaimedTooEarly) && due.is_some();
            if due.is_some_and(|due| due <= now) || early && self.engine.dice.one_in(50) {
                self.begin_round(queue.0, |_, node| work(node, queue));
            }
        }
        if self.around.store.shared.post.letters().next_due().is_some_and(|due| due <= now) {
            self.begin_round(DELIVERIES, |world, node| receivers::round(node, world.weather.deaf_receivers));
        }
    }

    fn begin_round(&mut self, name: &'static str, round: impl FnOnce(&Self, Arc<Node>) -> Doing) {
        let kind = Kind::Round(name);
        if !self.engine.is_under_way(&kind) {
            let node = self.any_node();
            let doing = round(self, Arc::clone(&self.nodes[node]));
            self.engine.begin(node, kind, doing);
        }
    }
}

/// A worker takes on what is due. Payments are claimed or only shown, whichever comes, though other nodes are
/// there: what is done twice must do no harm. A payout that is to be handed over is claimed in any case.
fn work(node: Arc<Node>, queue: Queue) -> Doing {
    Box::pin(async move {
        let now = node.around.alarm.clock.now();
        if queue == Queue::SETTLEMENT && now.millis() % 2 == 0 {
            let due = node.around.store.due_here(queue, now, 4).await;
            let shown = due.ok().flatten().map(|due| due.work).unwrap_or_default();
            let (submissions, others): (Vec<_>, Vec<_>) =
                shown.into_iter().partition(|work| work.action == DueAction::Submit.as_str());
            let claimed = node.around.store.claim_shown(submissions, now.plus(LEASE)).await;
            for work in others.into_iter().chain(claimed.unwrap_or_default()) {
                Box::pin(node.attend(&work)).await;
            }
            return;
        }
        let claimed = node.around.store.claim(queue, now, LEASE, 4).await;
        for work in claimed.unwrap_or_default() {
            if queue == Queue::SETTLEMENT {
                Box::pin(node.attend(&work)).await;
            } else {
                drop(node.alert.attend(&work).await);
            }
        }
    })
}
