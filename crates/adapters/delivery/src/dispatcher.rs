//! The dispatcher: hands deliveries to the courier as the board says, and what comes of them to the recorder.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use quipu_kernel::{Clock, Entropy};
use quipu_webhooks::{
    Attempted, Courier, DeliveryQueue, Endpoint, Handover, Outcome, Owed, RetryPolicy, SendProblem, Spread,
};
use tokio::sync::{Notify, mpsc, watch};
use tracing::Instrument;

use crate::{
    board::{Board, Going, Places},
    claims,
    lane::Ending,
    recorder,
};

/// Outcomes that wait for their commit. When there are more, attempts end later and so begin later.
const OUTCOMES_WAITING: usize = 4_096;
/// How long attempts under way may take after the end was announced: as long as one lasts, and a little.
const DRAIN: Duration = Duration::from_secs(20);

/// What the dispatcher works with.
#[derive(Clone)]
pub struct Parts {
    /// What is owed and nobody has in hand, and where outcomes go.
    pub queue: Arc<dyn DeliveryQueue>,
    /// Who sends.
    pub courier: Arc<dyn Courier>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Randomness, for the spread of retries.
    pub entropy: Arc<dyn Entropy>,
    /// The periods of retrying.
    pub policy: RetryPolicy,
}

/// Delivers what is owed. Cheap to clone; all clones are one dispatcher.
#[derive(Clone)]
pub struct Dispatcher {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) parts: Parts,
    board: Mutex<Board>,
    outcomes: mpsc::Sender<Outcome>,
    waiting_outcomes: Mutex<Option<mpsc::Receiver<Outcome>>>,
    /// Given back to the store, since there was no room.
    pub(crate) returned: Mutex<Vec<Owed>>,
    /// There is something to fetch, or to give back.
    pub(crate) look: Notify,
    stopping: watch::Sender<bool>,
    /// Wakes who waits for the last attempt to end.
    idle: Notify,
}

impl Dispatcher {
    /// A dispatcher with nothing in hand.
    pub fn new(parts: Parts) -> Self {
        let (outcomes, waiting) = mpsc::channel(OUTCOMES_WAITING);
        let inner = Inner {
            parts,
            board: Mutex::new(Board::with_places(Places::default())),
            outcomes,
            waiting_outcomes: Mutex::new(Some(waiting)),
            returned: Mutex::default(),
            look: Notify::new(),
            stopping: watch::Sender::new(false),
            idle: Notify::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Works until `stop` completes, then lets attempts under way end, records them and gives the rest back. Runs once.
    ///
    /// # Panics
    /// If it is run a second time.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        let waiting = lock(&self.inner.waiting_outcomes).take().expect("a dispatcher runs once");
        let recorder = tokio::spawn(recorder::run(Arc::clone(&self.inner), waiting));
        let claims = tokio::spawn(claims::run(Arc::clone(&self.inner)));
        stop.await;
        self.inner.stopping.send_replace(true);
        self.inner.look.notify_one();
        let _ = claims.await;
        if tokio::time::timeout(DRAIN, self.inner.attempts_ended()).await.is_err() {
            tracing::warn!("attempts under way were abandoned; they will be made again");
        }
        let _ = recorder.await;
    }
}

impl Handover for Dispatcher {
    fn hand_over(&self, deliveries: Vec<Owed>) {
        self.inner.take_in(deliveries);
    }

    fn endpoint_changed(&self, endpoint: &Endpoint) {
        self.inner.board().changed(&Arc::new(endpoint.clone()));
    }

    fn look(&self) {
        self.inner.look.notify_one();
    }
}

impl Inner {
    pub(crate) fn board(&self) -> MutexGuard<'_, Board> {
        lock(&self.board)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    pub(crate) async fn stopped(&self) {
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }

    /// Completes when no attempt is under way.
    pub(crate) async fn attempts_ended(&self) {
        loop {
            let idle = self.idle.notified();
            if self.board().load().0 == 0 {
                return;
            }
            idle.await;
        }
    }

    pub(crate) fn take_in(self: &Arc<Self>, deliveries: Vec<Owed>) {
        let mut returned = Vec::new();
        if self.is_stopping() {
            returned = deliveries;
        } else {
            let mut board = self.board();
            for owed in deliveries {
                returned.extend(board.take_in(owed).err());
            }
        }
        if !returned.is_empty() {
            lock(&self.returned).append(&mut returned);
            self.look.notify_one();
        }
        self.send_next();
    }

    /// Sends what may go.
    pub(crate) fn send_next(self: &Arc<Self>) {
        while !self.is_stopping() {
            let Some(going) = self.board().next() else { return };
            tokio::spawn(Arc::clone(self).attempt(going));
        }
    }

    /// One attempt after the other, as long as there is a place and something to send: a task that has just ended an attempt
    /// begins the next.
    async fn attempt(self: Arc<Self>, going: Going) {
        let mut next = Some(going);
        while let Some(going) = next {
            let attempted = self.make(&going.owed).await;
            let spread = Spread::random(self.parts.entropy.as_ref());
            let outcome = going.owed.after(&attempted, &self.parts.policy, spread);
            // The place is kept until the outcome is handed on: a slow database slows sending down.
            let _ = self.outcomes.send(outcome).await;
            let mut board = self.board();
            let fetch = board.ended(&going, ending(&attempted));
            next = if self.is_stopping() { None } else { board.next() };
            drop(board);
            if fetch {
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
            metrics::histogram!("quipu_webhook_delay_seconds").record(delay);
        }
        let span = tracing::info_span!("deliver", otel.kind = "client", event_id = %owed.event_id);
        let attempt = parts.courier.attempt(&owed.endpoint, &owed.event_id, &owed.payload);
        let attempted = attempt.instrument(span).await;
        let result = if attempted.is_success() { "delivered" } else { "failed" };
        metrics::counter!("quipu_webhook_attempts_total", "result" => result).increment(1);
        metrics::histogram!("quipu_webhook_attempt_seconds").record(attempted.duration.as_secs_f64());
        attempted
    }
}

fn ending(attempted: &Attempted) -> Ending {
    match &attempted.result {
        Ok(_) | Err((SendProblem::TooMuch | SendProblem::Broken, Some(_))) => {
            Ending::Answered(attempted.duration)
        }
        Err((SendProblem::TimedOut, _)) => Ending::Hung,
        Err(_) => Ending::Refused,
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
