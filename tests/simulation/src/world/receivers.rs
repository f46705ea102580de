//! Merchants' receivers, and the rounds in which a node delivers to them.

use std::{sync::Arc, time::Duration};

use quipu_kernel::Clock as _;
use quipu_webhooks::{
    Attempted, DeliveryStatus, Owed, Reception, Response, RetryPolicy, SendProblem, Spread,
};

use super::{engine::Doing, fault::Fault, node::Node};
use crate::turns::give_way;

/// How long deliveries are in the hands of a node.
const IN_HAND: Duration = Duration::from_mins(1);

/// A node takes what is due and delivers it.
pub(super) fn round(node: Arc<Node>, deaf: bool) -> Doing {
    Box::pin(async move {
        let post = || node.around.store.shared.post.letters();
        let now = node.around.alarm.clock.now();
        let claimed = post().claim(now, now.plus(IN_HAND), 16);
        let policy = policy(node.around.fault);
        for (owed, turn) in claimed {
            give_way().await;
            let attempted = attempt(&node, &owed, deaf);
            give_way().await;
            let mut outcome = owed.after(&attempted, &policy, Spread::random(&*node.around.entropy));
            if node.around.fault == Some(Fault::FailureIsDelivery)
                && outcome.status() != DeliveryStatus::Delivered
            {
                outcome.reception = Reception::Accepted;
            }
            post().record(&outcome, turn, &policy);
            give_way().await;
        }
    })
}

fn policy(fault: Option<Fault>) -> RetryPolicy {
    let mut policy = RetryPolicy::default();
    if fault == Some(Fault::GivesUpTooSoon) {
        policy.gaps.truncate(1);
    }
    policy
}

/// One attempt: some receivers fail before they have it, some after.
fn attempt(node: &Node, owed: &Owed, deaf: bool) -> Attempted {
    let mut random = [0; 1];
    quipu_kernel::Entropy::fill(&*node.around.entropy, &mut random);
    let luck = if deaf { random[0] % 16 } else { 15 };
    let key = (owed.endpoint.id.clone(), owed.event_id.clone());
    let mut payload = owed.payload.to_string();
    if node.around.fault == Some(Fault::PayloadMadeAnew) && !owed.attempts.is_empty() {
        payload.push(' ');
    }
    let mut book = node.around.book.open();
    let mut takes = |says: bool| {
        book.received.entry(key.clone()).or_default().push(payload.clone());
        if says {
            book.taken.insert(key.clone());
        }
    };
    let result = match luck {
        0..=2 => Ok(Response::new(500, None, b"")),
        3 => Err((SendProblem::NotConnected, None)),
        4 => {
            takes(false);
            Err((SendProblem::TimedOut, None))
        }
        5 => Ok(Response::new(503, Some(Duration::from_mins(20)), b"")),
        _ => {
            takes(true);
            Ok(Response::new(200, None, b""))
        }
    };
    Attempted { started_at: node.around.alarm.clock.now(), duration: Duration::from_millis(20), result }
}
