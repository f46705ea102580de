//! The dispatcher over a queue in memory and receivers that only pretend, in virtual time.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use quipu_delivery::{Dispatcher, Parts};
use quipu_kernel::{Clock, Entropy, Environment, EventId, MerchantId, Tenant, Timestamp};
use quipu_merchants::StoreUnavailable;
use quipu_webhooks::{
    Answer, Attempted, Begun, Courier, DeliveryQueue, DeliveryStatus, Endpoint, EndpointId, EventName,
    Handover, Next, Outcome, Owed, RetryPolicy, SendProblem, TargetUrl, Wanted,
};
use tokio::{sync::oneshot, time::Instant};

const NOON: Timestamp = Timestamp::from_millis(1_763_726_400_000);

/// The time of the test's runtime, as a time of day.
struct VirtualClock(Instant);

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        NOON.plus(self.0.elapsed())
    }
}

struct Zeros;

impl Entropy for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

#[derive(Clone)]
struct Row {
    owed: Owed,
    held: bool,
    status: DeliveryStatus,
}

/// A store as the port describes it.
#[derive(Default)]
struct Queue {
    rows: Mutex<BTreeMap<(EndpointId, String), Row>>,
    /// What other nodes have made of endpoints.
    endpoints: Mutex<Vec<Endpoint>>,
    commits: AtomicUsize,
    refusals_left: AtomicUsize,
    /// Whose rows somebody holds locked for ever.
    locked: Mutex<Option<MerchantId>>,
    is_broken: AtomicBool,
}

impl Queue {
    fn add(&self, owed: &Owed, held: bool) {
        let row = Row { owed: owed.clone(), held, status: DeliveryStatus::Pending };
        let key = (owed.endpoint.id.clone(), owed.event_id.to_string());
        self.rows.lock().expect("no panic").insert(key, row);
    }

    fn count(&self, status: DeliveryStatus) -> usize {
        self.rows.lock().expect("no panic").values().filter(|row| row.status == status).count()
    }

    fn held(&self) -> usize {
        self.rows.lock().expect("no panic").values().filter(|row| row.held).count()
    }
}

#[async_trait]
impl DeliveryQueue for Queue {
    async fn waiting(
        &self,
        now: Timestamp,
        after: Option<&EndpointId>,
    ) -> Result<Vec<(Tenant, EndpointId)>, StoreUnavailable> {
        assert!(!self.is_broken.load(Ordering::Relaxed), "as a fault in a part of the dispatcher would");
        let rows = self.rows.lock().expect("no panic");
        let mut found: Vec<_> = rows
            .values()
            .filter(|row| !row.held && row.status == DeliveryStatus::Pending && row.owed.due_at <= now)
            .filter(|row| after.is_none_or(|after| row.owed.endpoint.id > *after))
            .map(|row| (row.owed.endpoint.tenant, row.owed.endpoint.id.clone()))
            .collect();
        found.dedup();
        found.truncate(1_000);
        Ok(found)
    }

    async fn claim(&self, now: Timestamp, wanted: Vec<Wanted>) -> Result<Vec<Owed>, StoreUnavailable> {
        let endpoints = self.endpoints.lock().expect("no panic");
        let mut rows = self.rows.lock().expect("no panic");
        for row in rows.values_mut().filter(|row| !row.held && row.status == DeliveryStatus::Pending) {
            let now = endpoints.iter().find(|endpoint| endpoint.id == row.owed.endpoint.id);
            if now.is_some_and(|endpoint| !endpoint.is_enabled()) {
                row.status = DeliveryStatus::Failed;
            }
        }
        let mut claimed = Vec::new();
        for wanted in wanted {
            let due = rows.values_mut().filter(|row| {
                row.owed.endpoint.id == wanted.endpoint
                    && !row.held
                    && row.status == DeliveryStatus::Pending
                    && row.owed.due_at <= now
            });
            for row in due.take(wanted.most as usize) {
                row.held = true;
                claimed.push(row.owed.clone());
            }
        }
        Ok(claimed)
    }

    async fn endpoints_now(&self, ids: Vec<EndpointId>) -> Result<Vec<Endpoint>, StoreUnavailable> {
        let endpoints = self.endpoints.lock().expect("no panic");
        Ok(endpoints.iter().filter(|endpoint| ids.contains(&endpoint.id)).cloned().collect())
    }

    async fn record(
        &self,
        outcomes: Vec<Outcome>,
        _: &RetryPolicy,
    ) -> Result<Vec<Endpoint>, StoreUnavailable> {
        let locked = *self.locked.lock().expect("no panic");
        if outcomes.iter().any(|outcome| Some(outcome.tenant.merchant()) == locked) {
            std::future::pending::<()>().await;
        }
        let refuse = |left: usize| left.checked_sub(1);
        if self.refusals_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, refuse).is_ok() {
            return Err(StoreUnavailable::Overloaded);
        }
        self.commits.fetch_add(1, Ordering::Relaxed);
        let mut rows = self.rows.lock().expect("no panic");
        for outcome in outcomes {
            let row = rows.get_mut(&(outcome.endpoint.clone(), outcome.event_id.to_string())).expect("a row");
            assert!(row.held && row.status == DeliveryStatus::Pending, "an outcome of what is not in hand");
            row.held = false;
            row.status = outcome.status();
            row.owed.step = outcome.step;
            if let Next::RetryAt(at) = outcome.next {
                row.owed.due_at = at;
            }
            row.owed.attempts = outcome.attempts;
        }
        Ok(Vec::new())
    }

    async fn give_back(&self, deliveries: Vec<Owed>) -> Result<(), StoreUnavailable> {
        let mut rows = self.rows.lock().expect("no panic");
        for owed in deliveries {
            rows.get_mut(&(owed.endpoint.id.clone(), owed.event_id.to_string())).expect("a row").held = false;
        }
        Ok(())
    }

    async fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreUnavailable> {
        let rows = self.rows.lock().expect("no panic");
        let due = rows.values().filter(|row| !row.held && row.status == DeliveryStatus::Pending);
        Ok(due.map(|row| row.owed.due_at).filter(|due| *due > now).min())
    }

    async fn free_abandoned(&self) -> Result<u64, StoreUnavailable> {
        Ok(0)
    }

    async fn disable_failing(
        &self,
        _: Timestamp,
        _: &RetryPolicy,
        _: u32,
    ) -> Result<Vec<Endpoint>, StoreUnavailable> {
        Ok(Vec::new())
    }

    async fn prune(&self, _: Timestamp, _: u32) -> Result<u64, StoreUnavailable> {
        Ok(0)
    }

    async fn backlog(&self) -> Result<(u64, Option<Timestamp>), StoreUnavailable> {
        Ok((0, None))
    }
}

/// Receivers that behave as their address says.
struct Receivers {
    clock: Arc<VirtualClock>,
    /// Endpoint and time of each attempt.
    seen: Mutex<Vec<(String, Timestamp)>>,
}

#[async_trait]
impl Courier for Receivers {
    async fn attempt(&self, endpoint: &Endpoint, _: &EventId, _: &str) -> Attempted {
        let (started_at, begun) = (self.clock.now(), Instant::now());
        let url = endpoint.url.as_str().to_owned();
        self.seen.lock().expect("no panic").push((url.clone(), started_at));
        let answer = |status| Ok(Answer::new(status, None, b""));
        let (wait, result) = match url.as_str() {
            "https://hangs.test" => (15_000, Err((SendProblem::TimedOut, None))),
            "https://drips.test" => (
                15_000,
                Err((SendProblem::TimedOut, Some(Begun { status: 200, retry_after: None, excerpt: None }))),
            ),
            "https://fails.test" => (3, answer(500)),
            _ => (3, answer(200)),
        };
        tokio::time::sleep(Duration::from_millis(wait)).await;
        Attempted { started_at, duration: begun.elapsed(), result }
    }
}

struct World {
    queue: Arc<Queue>,
    receivers: Arc<Receivers>,
    dispatcher: Dispatcher,
    clock: Arc<VirtualClock>,
    stop: Option<oneshot::Sender<()>>,
    running: tokio::task::JoinHandle<()>,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(VirtualClock(Instant::now()));
        let queue = Arc::new(Queue::default());
        let receivers = Arc::new(Receivers { clock: Arc::clone(&clock), seen: Mutex::default() });
        let dispatcher = Dispatcher::new(Parts {
            queue: Arc::clone(&queue) as _,
            courier: Arc::clone(&receivers) as _,
            clock: Arc::clone(&clock) as _,
            entropy: Arc::new(Zeros),
            policy: RetryPolicy::default(),
        });
        let (stop, stopped) = oneshot::channel::<()>();
        let runs = dispatcher.clone();
        let running = tokio::spawn(async move { runs.run(async { drop(stopped.await) }).await });
        Self { queue, receivers, dispatcher, clock, stop: Some(stop), running }
    }

    fn endpoint(name: &str) -> Arc<Endpoint> {
        let url = TargetUrl::restore(format!("https://{name}.test"));
        let tenant = Tenant::new(MerchantId(1), Environment::Test);
        let id = EndpointId::restore(name.to_owned());
        Arc::new(Endpoint::named(id, tenant, url, vec![EventName::PaymentCreated], NOON))
    }

    fn owed(&self, endpoint: &Arc<Endpoint>, number: usize) -> Owed {
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
    fn hand_over(&self, endpoint: &Arc<Endpoint>, numbers: std::ops::Range<usize>) {
        let owed: Vec<_> = numbers.map(|number| self.owed(endpoint, number)).collect();
        for owed in &owed {
            self.queue.add(owed, true);
        }
        self.dispatcher.hand_over(owed);
    }

    async fn until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_hours(1);
        while !condition(self) {
            assert!(Instant::now() < deadline, "{what}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn stop(mut self) -> Arc<Queue> {
        drop(self.stop.take());
        self.running.await.expect("it ends well");
        self.queue
    }

    fn delays(&self, name: &str, since: Timestamp, every: Duration) -> Vec<u128> {
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

#[tokio::test(start_paused = true)]
async fn what_is_handed_over_arrives_and_outcomes_share_commits() {
    let world = World::new();
    let endpoint = World::endpoint("healthy");
    world.hand_over(&endpoint, 0..1_000);
    world.until("all delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 1_000).await;
    assert_eq!(world.receivers.seen.lock().expect("no panic").len(), 1_000, "each was sent once");
    assert!(world.queue.commits.load(Ordering::Relaxed) < 500);
}

#[tokio::test(start_paused = true)]
async fn endpoints_that_hang_drip_and_fail_delay_no_healthy_one() {
    let every = Duration::from_millis(10);
    let mut p99 = Vec::new();
    for others in [&[][..], &["hangs", "drips", "fails"]] {
        let world = World::new();
        for name in others {
            world.hand_over(&World::endpoint(name), 0..1_500);
        }
        let healthy = World::endpoint("healthy");
        let since = world.clock.now();
        for number in 0..1_000 {
            world.hand_over(&healthy, number..number + 1);
            tokio::time::sleep(every).await;
        }
        world.until("all delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 1_000).await;
        let delays = world.delays("healthy", since, every);
        p99.push(delays[delays.len() * 99 / 100]);
    }
    assert!(p99[1] <= 2 * p99[0] + 10, "{p99:?}");
}

#[tokio::test(start_paused = true)]
async fn waiting_behind_a_probe_uses_no_attempt() {
    let world = World::new();
    world.hand_over(&World::endpoint("hangs"), 0..5_000);
    tokio::time::sleep(Duration::from_mins(3)).await;
    let queue = world.stop().await;
    let rows = queue.rows.lock().expect("no panic");
    let attempts: usize = rows.values().map(|row| row.owed.attempts.len()).sum();
    // Eight at first, then one after the other, each for fifteen seconds.
    assert!((15..=25).contains(&attempts), "{attempts}");
}

#[tokio::test(start_paused = true)]
async fn what_failed_is_tried_again_by_the_schedule_and_then_given_up() {
    let world = World::new();
    world.hand_over(&World::endpoint("fails"), 0..1);
    tokio::time::sleep(Duration::from_hours(100)).await;
    assert_eq!(world.queue.count(DeliveryStatus::Failed), 1);
    let seen = world.receivers.seen.lock().expect("no panic");
    let gaps: Vec<_> = seen.windows(2).map(|pair| pair[1].1.since(pair[0].1).as_secs()).collect();
    // The test's randomness gives the shortest gaps, four fifths of the schedule's.
    let expected = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map(|gap| gap * 4 / 5);
    assert_eq!(gaps.len(), expected.len());
    for (gap, expected) in gaps.iter().zip(expected) {
        assert!(gap.abs_diff(expected) <= 1, "{gaps:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_refuses_for_a_while_learns_every_outcome_in_the_end() {
    let world = World::new();
    world.queue.refusals_left.store(5, Ordering::Relaxed);
    world.hand_over(&World::endpoint("healthy"), 0..50);
    world.until("all delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 50).await;
}

#[tokio::test(start_paused = true)]
async fn more_than_finds_room_is_fetched_later() {
    let world = World::new();
    let endpoint = World::endpoint("healthy");
    for number in 0..6_000 {
        world.queue.add(&world.owed(&endpoint, number), false);
    }
    world.dispatcher.look();
    world.hand_over(&endpoint, 6_000..8_000);
    world.until("all delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 8_000).await;
    assert_eq!(world.receivers.seen.lock().expect("no panic").len(), 8_000);
}

#[tokio::test(start_paused = true)]
async fn at_the_end_attempts_are_recorded_and_the_rest_is_given_back() {
    let world = World::new();
    world.hand_over(&World::endpoint("hangs"), 0..60);
    world.hand_over(&World::endpoint("healthy"), 0..60);
    world.until("some under way", |world| !world.receivers.seen.lock().expect("no panic").is_empty()).await;
    let queue = world.stop().await;
    assert_eq!(queue.held(), 0);
    let attempted =
        queue.rows.lock().expect("no panic").values().filter(|row| !row.owed.attempts.is_empty()).count();
    assert!(attempted >= 16, "{attempted}");
}

#[tokio::test(start_paused = true)]
async fn what_another_node_has_disabled_or_moved_is_not_sent_where_it_was() {
    let world = World::new();
    let (disabled, moved) = (World::endpoint("hangs"), World::endpoint("drips"));
    for endpoint in [&disabled, &moved] {
        world.hand_over(endpoint, 0..60);
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let elsewhere = {
        let mut elsewhere = Endpoint::clone(&disabled);
        elsewhere.disable(None, world.clock.now());
        let url = TargetUrl::restore("https://moved.test".to_owned());
        vec![elsewhere, Endpoint { url, ..Endpoint::clone(&moved) }]
    };
    *world.queue.endpoints.lock().expect("no panic") = elsewhere;
    let named = [&disabled, &moved].map(|endpoint| endpoint.id.clone());
    world.dispatcher.changed_elsewhere(Some(named.to_vec()));
    world.until("all moved", |world| world.queue.count(DeliveryStatus::Delivered) == 52).await;
    let seen = world.receivers.seen.lock().expect("no panic");
    let sent = |name: &str| seen.iter().filter(|(url, _)| *url == format!("https://{name}.test")).count();
    assert_eq!((sent("hangs"), sent("drips"), sent("moved")), (8, 8, 52));
}

#[tokio::test(start_paused = true)]
async fn a_merchant_whose_rows_are_locked_delays_nobody_elses_outcomes() {
    let world = World::new();
    let (locked, healthy) = (World::endpoint("locked"), World::endpoint("healthy"));
    let others = Tenant::new(MerchantId(2), Environment::Test);
    let healthy = Arc::new(Endpoint { tenant: others, ..Endpoint::clone(&healthy) });
    *world.queue.locked.lock().expect("no panic") = Some(locked.tenant.merchant());
    world.hand_over(&locked, 0..6_000);
    tokio::time::sleep(Duration::from_secs(10)).await;
    world.hand_over(&healthy, 0..1_000);
    world.until("all delivered", |world| world.queue.count(DeliveryStatus::Delivered) == 1_000).await;
}

#[tokio::test(start_paused = true)]
async fn a_part_that_panics_ends_the_dispatcher_so_that_it_is_noticed() {
    let World { queue, dispatcher, running, stop, .. } = World::new();
    queue.is_broken.store(true, Ordering::Relaxed);
    dispatcher.look();
    running.await.expect("it ends by itself");
    assert!(stop.is_some(), "nobody told it to stop");
}
