//! Rounds: each looks for deliveries that dead nodes left, and for endpoints that have failed for too long.
//!
//! They have a task of their own, so that nothing that makes a round long delays what is due, or the reading
//! of endpoints that were changed.

use std::{sync::Arc, time::Duration};

use tokio::{
    task::JoinError,
    time::{Instant, timeout},
};

use quipu_kernel::StoreError;

use crate::{
    in_hand::InHand,
    metric_names::{ATTEMPTS_UNDER_WAY, DELIVERIES_IN_MEMORY},
};

/// The pause between two rounds, unless one is requested.
const ROUNDS: Duration = Duration::from_secs(2);
/// The most endpoints that one round disables. If there are more, the next round follows at once.
const DISABLED_AT_ONCE: u32 = 100;

/// How long rounds must have been made before one disables endpoints. After a time in which the gateway attempted nothing,
/// because it or its database was down, what is due is attempted first.
const FIRST_ATTEMPTS: Duration = Duration::from_mins(5);

/// Makes rounds until the dispatcher stops.
pub(crate) async fn run(in_hand: Arc<InHand>) {
    let first_attempts = FIRST_ATTEMPTS.min(in_hand.parts.policy.disable_after);
    let mut well_since = Instant::now();
    while !in_hand.is_stopping() {
        let part = Arc::clone(&in_hand);
        let may_disable = well_since.elapsed() >= first_attempts;
        let making = tokio::spawn(async move { make(&part, may_disable).await });
        let made = tokio::select! {
            made = making => made,
            // The task goes on and finishes what it has begun, such as telling that an endpoint was disabled.
            () = in_hand.stopped() => return,
        };
        let made = match made.map_err(JoinError::try_into_panic) {
            Ok(made) => made,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            Err(Err(_ended)) => return,
        };
        let are_more = made.unwrap_or_else(|error| {
            tracing::warn!(%error, "deliveries that dead nodes left could not be looked for");
            well_since = Instant::now();
            false
        });
        let rest = if are_more { Duration::ZERO } else { ROUNDS };
        tokio::select! {
            _ = timeout(rest, in_hand.round.notified()) => {}
            () = in_hand.stopped() => return,
        }
    }
}

/// Makes one round, which disables endpoints if it may. Returns whether there is more to do than fits into it.
async fn make(in_hand: &Arc<InHand>, may_disable: bool) -> Result<bool, StoreError> {
    let queue = &in_hand.parts.queue;
    tidy_up(in_hand);
    let freed = queue.free_abandoned().await?;
    if freed > 0 {
        tracing::info!(
            deliveries = freed,
            "deliveries were released, because no node was going to attempt them"
        );
        in_hand.look.notify_one();
    }
    if !may_disable {
        return Ok(false);
    }
    let now = in_hand.parts.steady_clock.now();
    let disabled = queue.disable_failing(now, &in_hand.parts.policy, DISABLED_AT_ONCE).await?;
    let are_more = disabled.len() >= DISABLED_AT_ONCE as usize;
    for endpoint in disabled {
        tracing::info!(endpoint = %endpoint.id, "an endpoint was disabled, since no delivery succeeded for too long");
    }
    Ok(are_more)
}

/// Tidies the board up, and tells how full it is.
fn tidy_up(in_hand: &InHand) {
    let mut board = in_hand.board();
    board.forget_old(in_hand.parts.clock.now());
    let (under_way, waiting) = board.load();
    drop(board);
    #[expect(clippy::cast_precision_loss, reason = "there are far fewer deliveries in memory than 2^52")]
    {
        metrics::gauge!(ATTEMPTS_UNDER_WAY).set(under_way as f64);
        metrics::gauge!(DELIVERIES_IN_MEMORY).set(waiting as f64);
    }
}
