//! A queue in memory, receivers that only pretend, and a dispatcher between them, in virtual time.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use quipu_delivery::{Dispatcher, MOST_AT_ONCE, Parts};
use quipu_kernel::{Clock, Entropy, Environment, EventId, MerchantId, StoreError, Tenant, Timestamp};
use quipu_webhooks::{
    Attempted, Begun, Courier, Deliverer, DeliveryKey, DeliveryQueue, DeliveryStatus, DueEndpoints, Endpoint,
    EndpointId, EventName, Outcome, Owed, Response, RetryPolicy, SendProblem, TargetUrl, Waiting, Wanted,
};
use tokio::{sync::oneshot, time::Instant};

pub(crate) const NOON: Timestamp = Timestamp::from_millis(1_763_726_400_000);

/// How long after [`NOON`] `https://tires.test` answers; from then on it breaks connections after some time.
pub(crate) const TIRED_AFTER: Duration = Duration::from_secs(1);

/// The time of the test's runtime, as a time of day.
pub(crate) struct VirtualClock(Instant);

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        NOON.plus(self.0.elapsed())
    }
}

pub(crate) struct Zeros;

impl Entropy for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

#[derive(Clone)]
pub(crate) struct Row {
    pub(crate) owed: Owed,
    pub(crate) held: bool,
    pub(crate) status: DeliveryStatus,
}

/// A store as the port describes it.
#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) rows: Mutex<BTreeMap<(EndpointId, String), Row>>,
    /// How many parts of a walk over the endpoints are left in which nothing is due. Each takes 100 ms.
    pub(crate) idle_parts: AtomicUsize,
    /// What other nodes have made of endpoints.
    pub(crate) endpoints: Mutex<Vec<Endpoint>>,
    pub(crate) commits: AtomicUsize,
    pub(crate) refusals_left: AtomicUsize,
    /// Whose rows somebody holds locked for ever.
    pub(crate) locked: Mutex<Option<MerchantId>>,
    /// Endpoints whose deliveries cannot be claimed: it takes two seconds to learn that.
    pub(crate) unclaimable: Mutex<Vec<EndpointId>>,
    pub(crate) is_broken: AtomicBool,
    /// Whether nothing can be claimed, and how often it was tried.
    pub(crate) gives_nothing: AtomicBool,
    pub(crate) refused_claims: AtomicUsize,
    /// How many deliveries each release was about, and whether nobody learns that it succeeded.
    pub(crate) released: Mutex<Vec<usize>>,
    pub(crate) releases_are_doubtful: AtomicBool,
    /// Whether it takes for ever to disable endpoints that fail.
    pub(crate) disables_for_ever: AtomicBool,
    /// Whether rounds find no database.
    pub(crate) is_away: AtomicBool,
    /// How often endpoints that fail were to be disabled.
    pub(crate) disabling: AtomicUsize,
    /// Whether what is in hand is so in the hands of a node that has died.
    pub(crate) holder_is_dead: AtomicBool,
}

impl Queue {
    pub(crate) fn add(&self, owed: &Owed, held: bool) {
        let row = Row { owed: owed.clone(), held, status: DeliveryStatus::Pending };
        let key = (owed.endpoint.id.clone(), owed.event_id.to_string());
        self.rows.lock().expect("no panic").insert(key, row);
    }

    pub(crate) fn count(&self, status: DeliveryStatus) -> usize {
        self.rows.lock().expect("no panic").values().filter(|row| row.status == status).count()
    }

    pub(crate) fn held(&self) -> usize {
        self.rows.lock().expect("no panic").values().filter(|row| row.held).count()
    }
}

#[async_trait]
impl DeliveryQueue for Queue {
    async fn due(&self, now: Timestamp) -> Result<DueEndpoints, StoreError> {
        let rows = self.rows.lock().expect("no panic");
        let is_due =
            |row: &&Row| !row.held && row.status == DeliveryStatus::Pending && row.owed.due_at <= now;
        let mut due: Vec<_> = rows.values().filter(is_due).collect();
        due.sort_by_key(|row| row.owed.due_at);
        let are_all = due.len() < DueEndpoints::MOST.into();
        due.truncate(DueEndpoints::MOST.into());
        let endpoints: BTreeMap<_, _> =
            due.into_iter().map(|row| (row.owed.endpoint.id.clone(), row.owed.endpoint.tenant)).collect();
        let endpoints = endpoints.into_iter().map(|(id, tenant)| (tenant, id)).collect();
        Ok(DueEndpoints { endpoints, are_all })
    }

    async fn waiting(&self, now: Timestamp, after: Option<&EndpointId>) -> Result<Waiting, StoreError> {
        assert!(!self.is_broken.load(Ordering::Relaxed), "as a fault in a part of the dispatcher would");
        let one_less = |parts: usize| parts.checked_sub(1);
        if self.idle_parts.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
            return Ok(Waiting { endpoints: Vec::new(), next: Some(World::endpoint("idle").id.clone()) });
        }
        let rows = self.rows.lock().expect("no panic");
        let mut found: Vec<_> = rows
            .values()
            .filter(|row| !row.held && row.status == DeliveryStatus::Pending && row.owed.due_at <= now)
            .filter(|row| after.is_none_or(|after| row.owed.endpoint.id > *after))
            .map(|row| (row.owed.endpoint.tenant, row.owed.endpoint.id.clone()))
            .collect();
        found.dedup();
        let next = found.get(999).map(|(_, endpoint)| endpoint.clone());
        found.truncate(1_000);
        Ok(Waiting { endpoints: found, next })
    }

    async fn claim(&self, now: Timestamp, wanted: Vec<Wanted>) -> Result<Vec<Owed>, StoreError> {
        if self.gives_nothing.load(Ordering::Relaxed) {
            self.refused_claims.fetch_add(1, Ordering::Relaxed);
            return Err(StoreError::Overloaded);
        }
        let unclaimable = self.unclaimable.lock().expect("no panic").clone();
        if wanted.iter().any(|one| unclaimable.contains(&one.endpoint)) {
            tokio::time::sleep(Duration::from_secs(2)).await;
            return Err(StoreError::Unavailable("a row is locked".to_owned()));
        }
        let endpoints = self.endpoints.lock().expect("no panic");
        let mut rows = self.rows.lock().expect("no panic");
        for row in rows.values_mut().filter(|row| !row.held && row.status == DeliveryStatus::Pending) {
            let now = endpoints.iter().find(|endpoint| endpoint.id == row.owed.endpoint.id);
            if now.is_some_and(|endpoint| !endpoint.is_enabled()) {
                row.status = DeliveryStatus::Failed;
            }
        }
        let mut claimed: Vec<Owed> = Vec::new();
        let mut bytes = 0;
        for wanted in wanted {
            let until = Wanted::BYTES_AT_ONCE.min(bytes + wanted.bytes);
            let due = rows.values_mut().filter(|row| {
                row.owed.endpoint.id == wanted.endpoint
                    && !row.held
                    && row.status == DeliveryStatus::Pending
                    && row.owed.due_at <= now
            });
            for row in due.take(wanted.most as usize) {
                if bytes >= until {
                    break;
                }
                bytes += row.owed.bytes();
                row.held = true;
                claimed.push(row.owed.clone());
            }
        }
        Ok(claimed)
    }

    async fn endpoints_now(&self, ids: Vec<EndpointId>) -> Result<Vec<Endpoint>, StoreError> {
        let endpoints = self.endpoints.lock().expect("no panic");
        Ok(endpoints.iter().filter(|endpoint| ids.contains(&endpoint.id)).cloned().collect())
    }

    async fn record(&self, outcomes: Vec<Outcome>, _: &RetryPolicy) -> Result<(), StoreError> {
        let locked = *self.locked.lock().expect("no panic");
        if outcomes.iter().any(|outcome| Some(outcome.tenant.merchant()) == locked) {
            std::future::pending::<()>().await;
        }
        let refuse = |left: usize| left.checked_sub(1);
        if self.refusals_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, refuse).is_ok() {
            return Err(StoreError::Overloaded);
        }
        self.commits.fetch_add(1, Ordering::Relaxed);
        let mut rows = self.rows.lock().expect("no panic");
        for outcome in outcomes {
            let row = rows.get_mut(&(outcome.endpoint.clone(), outcome.event_id.to_string())).expect("a row");
            assert!(row.held && row.status == DeliveryStatus::Pending, "an outcome of what is not in hand");
            row.held = false;
            row.status = outcome.status();
            row.owed.step = outcome.step;
            if let Some(at) = outcome.reception.next_at() {
                row.owed.due_at = at;
            }
            row.owed.attempts = outcome.attempts;
        }
        Ok(())
    }

    async fn give_back(&self, deliveries: Vec<Owed>) -> Result<(), StoreError> {
        let mut rows = self.rows.lock().expect("no panic");
        self.released.lock().expect("no panic").push(deliveries.len());
        for owed in deliveries {
            rows.get_mut(&(owed.endpoint.id.clone(), owed.event_id.to_string())).expect("a row").held = false;
        }
        if self.releases_are_doubtful.load(Ordering::Relaxed) {
            return Err(StoreError::OutcomeUnknown("the answer was lost".to_owned()));
        }
        Ok(())
    }

    async fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        let rows = self.rows.lock().expect("no panic");
        let due = rows.values().filter(|row| !row.held && row.status == DeliveryStatus::Pending);
        Ok(due.map(|row| row.owed.due_at).filter(|due| *due > now).min())
    }

    async fn long_in_hand(&self, before: Timestamp, limit: u32) -> Result<Vec<DeliveryKey>, StoreError> {
        let rows = self.rows.lock().expect("no panic");
        let held = rows
            .values()
            .filter(|row| row.held && row.status == DeliveryStatus::Pending && row.owed.due_at < before);
        Ok(held.map(|row| row.owed.key()).take(limit as usize).collect())
    }

    async fn release_lost(&self, deliveries: Vec<DeliveryKey>) -> Result<(), StoreError> {
        let mut rows = self.rows.lock().expect("no panic");
        for key in deliveries {
            rows.get_mut(&(key.endpoint, key.event.to_string())).expect("a row").held = false;
        }
        Ok(())
    }

    async fn free_abandoned(&self) -> Result<u64, StoreError> {
        if self.is_away.load(Ordering::Relaxed) {
            return Err(StoreError::Unavailable("away".to_owned()));
        }
        if !self.holder_is_dead.swap(false, Ordering::Relaxed) {
            return Ok(0);
        }
        let mut rows = self.rows.lock().expect("no panic");
        let held = rows.values_mut().filter(|row| row.held);
        Ok(held.map(|row| row.held = false).count() as u64)
    }

    async fn disable_failing(
        &self,
        _: Timestamp,
        _: &RetryPolicy,
        _: u32,
    ) -> Result<Vec<Endpoint>, StoreError> {
        self.disabling.fetch_add(1, Ordering::Relaxed);
        if self.disables_for_ever.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        Ok(Vec::new())
    }

    async fn prune(&self, _: Timestamp, _: Duration, _: u32) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn backlog(&self) -> Result<(u64, Option<Timestamp>), StoreError> {
        Ok((0, None))
    }
}

/// Receivers that behave as their address says.
pub(crate) struct Receivers {
    pub(crate) clock: Arc<VirtualClock>,
    /// Endpoint and time of each attempt.
    pub(crate) seen: Mutex<Vec<(String, Timestamp)>>,
    /// Whether the secrets of `https://unsigned.test` cannot be read.
    pub(crate) has_no_secrets: AtomicBool,
}

#[async_trait]
impl Courier for Receivers {
    async fn attempt(&self, endpoint: &Endpoint, _: &EventId, _: &Arc<str>) -> Attempted {
        let (started_at, begun) = (self.clock.now(), Instant::now());
        let url = endpoint.url.as_str().to_owned();
        self.seen.lock().expect("no panic").push((url.clone(), started_at));
        let answer = |status| Ok(Response::new(status, None, b""));
        let (wait, result) = match url.as_str() {
            "https://hangs.test" => (15_000, Err((SendProblem::TimedOut, None))),
            "https://drips.test" => (
                15_000,
                Err((SendProblem::TimedOut, Some(Begun { status: 200, retry_after: None, excerpt: None }))),
            ),
            "https://fails.test" => (3, answer(500)),
            "https://unsigned.test" if self.has_no_secrets.load(Ordering::Relaxed) => {
                (3, Err((SendProblem::NothingSent, None)))
            }
            "https://endless.test" => (3_600_000, answer(200)),
            "https://lags.test" => (600, answer(200)),
            "https://tires.test" if started_at.since(NOON) > TIRED_AFTER => {
                (14_000, Err((SendProblem::Broken, None)))
            }
            _ => (3, answer(200)),
        };
        tokio::time::sleep(Duration::from_millis(wait)).await;
        Attempted { started_at, duration: begun.elapsed(), result }
    }
}

pub(crate) struct World {
    pub(crate) queue: Arc<Queue>,
    pub(crate) receivers: Arc<Receivers>,
    pub(crate) dispatcher: Dispatcher,
    pub(crate) clock: Arc<VirtualClock>,
    pub(crate) stop: Option<oneshot::Sender<()>>,
    pub(crate) running: tokio::task::JoinHandle<()>,
}

impl World {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(VirtualClock(Instant::now()));
        let queue = Arc::new(Queue::default());
        let (seen, has_no_secrets) = (Mutex::default(), AtomicBool::default());
        let receivers = Arc::new(Receivers { clock: Arc::clone(&clock), seen, has_no_secrets });
        let dispatcher = Dispatcher::new(Parts {
            queue: Arc::clone(&queue) as _,
            courier: Arc::clone(&receivers) as _,
            clock: Arc::clone(&clock) as _,
            steady_clock: Arc::clone(&clock) as _,
            entropy: Arc::new(Zeros),
            policy: RetryPolicy::default(),
            at_once: MOST_AT_ONCE,
        });
        let (stop, stopped) = oneshot::channel::<()>();
        let runs = dispatcher.clone();
        let running = tokio::spawn(async move { runs.run(async { drop(stopped.await) }).await });
        Self { queue, receivers, dispatcher, clock, stop: Some(stop), running }
    }

    pub(crate) fn endpoint(name: &str) -> Arc<Endpoint> {
        let url = TargetUrl::restore(format!("https://{name}.test"));
        let tenant = Tenant::new(MerchantId(1), Environment::Test);
        let id = EndpointId::restore(name.to_owned());
        Arc::new(Endpoint::named(id, tenant, url, vec![EventName::PaymentCreated], NOON))
    }

    pub(crate) fn owed(&self, endpoint: &Arc<Endpoint>, number: usize) -> Owed {
        Owed {
            endpoint: Arc::clone(endpoint),
            event_id: EventId::restore(format!("evt_{number:06}")),
            payload: "{}".into(),
            attempts: Vec::new(),
            step: 0,
            due_at: self.clock.now(),
        }
    }

    /// As a commit of this node does.
    pub(crate) fn hand_over(&self, endpoint: &Arc<Endpoint>, numbers: std::ops::Range<usize>) {
        let owed: Vec<_> = numbers.map(|number| self.owed(endpoint, number)).collect();
        for owed in &owed {
            self.queue.add(owed, true);
        }
        self.dispatcher.hand_over(owed);
    }

    pub(crate) async fn until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_hours(1);
        while !condition(self) {
            assert!(Instant::now() < deadline, "{what}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    pub(crate) async fn stop(mut self) -> Arc<Queue> {
        drop(self.stop.take());
        self.running.await.expect("it ends well");
        self.queue
    }

    pub(crate) fn delays(&self, name: &str, since: Timestamp, every: Duration) -> Vec<u128> {
        let seen = self.receivers.seen.lock().expect("no panic");
        let url = format!("https://{name}.test");
        let times = seen.iter().filter(|(seen, _)| *seen == url).map(|(_, at)| *at);
        let mut due = since;
        let mut delays: Vec<_> = times
            .map(|at| {
                let delay = at.since(due).as_millis();
                due = due.plus(every);
                delay
            })
            .collect();
        delays.sort_unstable();
        delays
    }
}
