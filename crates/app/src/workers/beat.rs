//! Writes this node's heartbeat every two seconds, and releases the work of dead nodes.

use std::{sync::Arc, time::Duration};

use quipu_commit::WorkQueue;
use tokio::time::Instant;

use crate::stop_signal::StopSignal;

/// The time between two heartbeats. A node that misses several of them is taken for dead.
const PAUSE: Duration = Duration::from_secs(2);
/// The time after a heartbeat that failed. Whoever starts as the database comes back waits only a little longer.
const AGAIN: Duration = Duration::from_secs(1);

/// The worker that writes heartbeats. It must outlast the others: while a node finishes what it has in hand, the
/// others would do the same work a second time if they took this node for dead.
pub(crate) struct Beat {
    pub(crate) queue: Arc<dyn WorkQueue>,
}

impl Beat {
    /// Works until it is told to stop. A heartbeat under way is then given up, so that a database that does not
    /// answer keeps nobody waiting.
    pub(crate) async fn run(self, mut stop: StopSignal) {
        tokio::select! {
            () = self.beat() => {}
            () = stop.given() => {}
        }
    }

    async fn beat(&self) {
        let mut pulse = Pulse::starting(Instant::now());
        loop {
            let pause = match self.queue.beat().await {
                Ok(since) => {
                    self.release_dead(&mut pulse, since).await;
                    PAUSE
                }
                Err(error) => {
                    tracing::warn!(%error, "the heartbeat of this node could not be written");
                    AGAIN
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn release_dead(&self, pulse: &mut Pulse, pause: Option<Duration>) {
        if !pulse.is_steady(Instant::now(), pause) {
            return;
        }
        if let Err(error) = self.queue.release_dead().await {
            tracing::warn!(%error, "the work of dead nodes could not be given back");
        }
    }
}

/// Whether this node has beaten for long enough to tell dead nodes from those that could not beat. While the database is
/// away no node can, and the first to reach it again would take all others for dead. So it would if the clock of the
/// database, by which they are judged, is set forward or back.
struct Pulse {
    last: Instant,
    /// When the others have had time to beat too.
    steady_from: Instant,
}

impl Pulse {
    /// The longest time between two heartbeats of a database that answers.
    const LONGEST_PAUSE: Duration = Duration::from_secs(5);
    /// How long the others may take after the database is back: the rest of an attempt that fails, the pause after it,
    /// and an attempt that succeeds.
    const AFTER_A_GAP: Duration = Duration::from_secs(10);
    /// How long they may take when this node starts, which may be when the database is back. It is so short that the work
    /// of a process that was killed and started again waits no longer than for another node.
    const AT_START: Duration = Duration::from_secs(5);

    fn starting(now: Instant) -> Self {
        Self { last: now, steady_from: now + Self::AT_START }
    }

    /// Notes a heartbeat, which came so long after the one before by the clock of the database.
    fn is_steady(&mut self, now: Instant, pause: Option<Duration>) -> bool {
        let is_long = |pause| pause > Self::LONGEST_PAUSE;
        if is_long(now - self.last) || pause.is_none_or(is_long) {
            self.steady_from = now + Self::AFTER_A_GAP;
        }
        self.last = now;
        now >= self.steady_from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_gap_nobody_is_taken_for_dead_until_the_others_have_had_time_to_beat() {
        let start = Instant::now();
        let mut pulse = Pulse::starting(start);
        let usual = Some(Duration::from_secs(2));
        for (second, pause, is_steady) in [
            (0, usual, false),
            (2, usual, false),
            (4, usual, false),
            (6, usual, true),
            (11, usual, true),
            // The database was away.
            (17, usual, false),
            (22, usual, false),
            (26, usual, false),
            (27, usual, true),
            // Its clock was set forward, or back.
            (29, Some(Duration::from_secs(22)), false),
            (34, usual, false),
            (39, usual, true),
            // Somebody took this node for dead.
            (41, None, false),
        ] {
            assert_eq!(pulse.is_steady(start + Duration::from_secs(second), pause), is_steady, "{second}");
        }
    }
}
