//! The state that the tasks of the dispatcher share. It hands deliveries to the courier in the order of the
//! board, and their outcomes to the recorder.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use quipu_kernel::{Clock, Entropy, locked};
use quipu_webhooks::{
    Attempted, Courier, DeliveryQueue, Endpoint, Outcome, Owed, RetryPolicy, SendProblem, Spread,
};
use tokio::{
    runtime::Handle,
    sync::{Notify, mpsc, watch},
    time::timeout,
};
use tracing::Instrument;

use crate::{
    board::{Board, Going},
    endpoint_queue::Ending,
    kept::Amount,
    merchant::Places,
    metric_names::{ATTEMPT_SECONDS, ATTEMPTS, DELAY_SECONDS},
};

/// How long a delivery keeps its place if nothing could be sent. The database may be the reason, and without a
/// pause it would be asked again at once.
const NOTHING_SENT: Duration = Duration::from_secs(1);

/// The parts that the dispatcher works with.
#[derive(Clone)]
pub struct Parts {
    /// The queue of deliveries that no node has claimed, which also records outcomes.
    pub queue: Arc<dyn DeliveryQueue>,
    /// The sender of deliveries.
    pub courier: Arc<dyn Courier>,
    /// The source of the current time.
    pub clock: Arc<dyn Clock>,
    /// The same without jumps ahead by mistake, for what ends by the time that has passed.
    pub steady_clock: Arc<dyn Clock>,
    /// The source of randomness, for the spread of retries.
    pub entropy: Arc<dyn Entropy>,
    /// The schedule of retries.
    pub policy: RetryPolicy,
    /// The most attempts in progress, each with a socket; at least eight.
    pub at_once: usize,
}

/// The state that the tasks share.
pub(crate) struct InHand {
    pub(crate) parts: Parts,
    /// The runtime on which attempts run. A thread that commits hands deliveries over, and must not run them
    /// itself.
    runtime: Handle,
    board: Mutex<Board>,
    /// Unbounded, since the board bounds the number of outcomes.
    outcomes: mpsc::UnboundedSender<Outcome>,
    waiting_outcomes: Mutex<Option<mpsc::UnboundedReceiver<Outcome>>>,
    /// Deliveries to be released to the store, since there was no room.
    pub(crate) returned: Mutex<Vec<Owed>>,
    /// Notified when there are deliveries to fetch or to release.
    pub(crate) look: Notify,
    /// Notified when dead nodes may have left deliveries that must not wait for the next round.
    pub(crate) round: Notify,
    stopping: watch::Sender<bool>,
    /// Notified when the last attempt may have ended.
    idle: Notify,
}

impl InHand {
    /// A state without deliveries, on the runtime on which this is called.
    pub(crate) fn new(parts: Parts) -> Self {
        let (outcomes, waiting) = mpsc::unbounded_channel();
        Self {
            board: Mutex::new(Board::with_places(Places::for_attempts(parts.at_once))),
            parts,
            runtime: Handle::current(),
            outcomes,
            waiting_outcomes: Mutex::new(Some(waiting)),
            returned: Mutex::default(),
            look: Notify::new(),
            round: Notify::new(),
            stopping: watch::Sender::new(false),
            idle: Notify::new(),
        }
    }

    /// The outcomes to record, for the recorder; `None` after the first call.
    pub(crate) fn outcomes_to_record(&self) -> Option<mpsc::UnboundedReceiver<Outcome>> {
        locked(&self.waiting_outcomes).take()
    }

    /// Stops: no attempt begins from now on.
    pub(crate) fn announce_the_end(&self) {
        self.stopping.send_replace(true);
        self.look.notify_one();
    }

    /// Requests a round at once, to find deliveries that dead nodes left, and other due ones.
    pub(crate) fn ask_for_a_round(&self) {
        self.round.notify_one();
        self.look.notify_one();
    }

    pub(crate) fn board(&self) -> MutexGuard<'_, Board> {
        locked(&self.board)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    pub(crate) async fn stopped(&self) {
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }

    /// Completes when no attempt is in progress.
    pub(crate) async fn attempts_ended(&self) {
        loop {
            let idle = self.idle.notified();
            if self.board().load().0 == 0 {
                return;
            }
            idle.await;
        }
    }

    /// Puts deliveries on the board as `take_in` does, and releases those that it returns.
    pub(crate) fn take_in(
        self: &Arc<Self>,
        deliveries: Vec<Owed>,
        take_in: fn(&mut Board, Owed) -> Result<(), Owed>,
    ) {
        let mut returned = Vec::new();
        if self.is_stopping() {
            returned = deliveries;
        } else {
            let mut board = self.board();
            let was_stale = board.has_stale();
            for owed in deliveries {
                returned.extend(take_in(&mut board, owed).err());
            }
            if board.has_stale() && !was_stale {
                self.look.notify_one();
            }
        }
        self.give_back_later(&returned);
        self.send_next();
    }

    /// Applies a change of an endpoint that this node has made.
    pub(crate) fn follow(self: &Arc<Self>, endpoint: &Arc<Endpoint>) {
        let returned = self.board().changed(endpoint);
        self.give_back_later(&returned);
        self.look.notify_one();
        self.send_next();
    }

    /// Queues deliveries to be released to the store. While they wait they take hardly any memory.
    pub(crate) fn give_back_later(&self, returned: &[Owed]) {
        if !returned.is_empty() {
            locked(&self.returned).extend(returned.iter().map(Owed::emptied));
            self.look.notify_one();
        }
    }

    /// Begins attempts while the board has deliveries and places for them.
    pub(crate) fn send_next(self: &Arc<Self>) {
        while !self.is_stopping() {
            let Some(going) = self.board().next() else { return };
            self.runtime.spawn(Arc::clone(self).attempt(going));
        }
    }

    /// Makes one attempt after the other, as long as there is a place and a delivery: the task that ends an
    /// attempt begins the next.
    async fn attempt(self: Arc<Self>, going: Going) {
        let mut next = Some(going);
        while let Some(going) = next {
            let attempted = self.make(&going.owed).await;
            if !attempted.was_made() {
                let _stopped = timeout(NOTHING_SENT, self.stopped()).await;
            }
            let spread = Spread::random(self.parts.entropy.as_ref());
            let outcome = going.owed.after(&attempted, &self.parts.policy, spread);
            let mut board = self.board();
            let bytes = outcome.bytes();
            let ended = board.ended(&going, ending(&attempted), bytes);
            self.give_back_later(&ended.given_up);
            if attempted.was_made() {
                // A slow database slows sending down, since the board counts outcomes that are not recorded.
                let _ = self.outcomes.send(board.compare(outcome));
            } else {
                board.recorded(outcome.tenant.merchant(), Amount::one(bytes), &[outcome.key()]);
                self.give_back_later(&[going.owed]);
            }
            next = if self.is_stopping() { None } else { board.next() };
            drop(board);
            if ended.wants_more {
                self.look.notify_one();
            }
        }
        self.send_next();
        self.idle.notify_waiters();
    }

    async fn make(&self, owed: &Owed) -> Attempted {
        let (parts, begun) = (&self.parts, self.parts.clock.now());
        if owed.is_fresh() {
            let delay = begun.since(owed.due_at).as_secs_f64();
            metrics::histogram!(DELAY_SECONDS).record(delay);
        }
        let span = tracing::info_span!("deliver", otel.kind = "client", event_id = %owed.event_id);
        let attempt = parts.courier.attempt(&owed.endpoint, &owed.event_id, &owed.payload);
        let attempted = attempt.instrument(span).await;
        if !attempted.was_made() {
            return attempted;
        }
        let result = if attempted.is_success() { "delivered" } else { "failed" };
        metrics::counter!(ATTEMPTS, "result" => result).increment(1);
        metrics::histogram!(ATTEMPT_SECONDS).record(attempted.duration.as_secs_f64());
        attempted
    }
}

fn ending(attempted: &Attempted) -> Ending {
    match &attempted.result {
        Ok(_) | Err((SendProblem::TooMuch | SendProblem::Broken, Some(_))) => {
            Ending::Answered(attempted.duration)
        }
        Err((SendProblem::TimedOut, _)) => Ending::Hung,
        // This installation failed, whatever the endpoint would have done.
        Err((SendProblem::NothingSent | SendProblem::Unprepared, _)) => Ending::Failed(Duration::ZERO),
        Err(_) => Ending::Failed(attempted.duration),
    }
}
