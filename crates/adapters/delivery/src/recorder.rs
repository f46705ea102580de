//! The recorder: writes outcomes down, as many as wait in one commit.

use std::{sync::Arc, time::Duration};

use quipu_webhooks::{Next, Outcome};
use tokio::{sync::mpsc, time::sleep};

use crate::in_hand::InHand;

/// Outcomes in one commit.
const AT_ONCE: usize = 512;
/// How long the store may go on refusing after the end was announced. What is not recorded then is sent again by the
/// next node.
const LAST_TRIES: u32 = 8;

/// Records until the dispatcher stops and its last attempt has ended.
pub(crate) async fn run(in_hand: Arc<InHand>, mut outcomes: mpsc::Receiver<Outcome>) {
    let mut batch = Vec::with_capacity(AT_ONCE);
    loop {
        tokio::select! {
            biased;
            received = outcomes.recv_many(&mut batch, AT_ONCE) => {
                if received == 0 {
                    return;
                }
                record(&in_hand, std::mem::take(&mut batch)).await;
            }
            () = stopped_and_idle(&in_hand) => {
                // Whatever was handed on before the last attempt ended is here by now.
                outcomes.close();
                while outcomes.recv_many(&mut batch, AT_ONCE).await > 0 {
                    record(&in_hand, std::mem::take(&mut batch)).await;
                }
                return;
            }
        }
    }
}

async fn stopped_and_idle(in_hand: &InHand) {
    in_hand.stopped().await;
    in_hand.attempts_ended().await;
}

async fn record(in_hand: &Arc<InHand>, batch: Vec<Outcome>) {
    let mut failures = 0;
    loop {
        match in_hand.parts.queue.record(batch.clone(), &in_hand.parts.policy).await {
            Ok(changed) => {
                let mut board = in_hand.board();
                for endpoint in changed {
                    board.changed(&Arc::new(endpoint));
                }
                drop(board);
                if batch.iter().any(|outcome| matches!(outcome.next, Next::RetryAt(_))) {
                    in_hand.look.notify_one();
                }
                return;
            }
            Err(error) if in_hand.is_stopping() && failures >= LAST_TRIES => {
                tracing::warn!(%error, "outcomes of deliveries were not recorded; they will be sent again");
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
