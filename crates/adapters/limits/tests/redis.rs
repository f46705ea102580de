//! The shared limiter against a real Redis: the one in `QUIPU_TEST_REDIS`, and private ones that are killed.

use std::{
    collections::HashSet,
    net::{Ipv4Addr, TcpListener},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use quipu_kernel::SystemClock;
use quipu_limits::{BadRedisUrl, LocalLimiter, RedisLimiter};
use quipu_merchants::{Budget, BudgetKind, RateLimiter, Window};
use tokio::{task::JoinSet, time::interval};

/// So patient that a busy machine is not taken for a lost Redis.
const PATIENT: Duration = Duration::from_secs(10);
const DEADLINE: Duration = Duration::from_secs(30);

fn shared_redis() -> String {
    std::env::var("QUIPU_TEST_REDIS").expect(
        "QUIPU_TEST_REDIS must hold the address of a Redis; `make test` installs, starts and names one",
    )
}

async fn connect(url: &str, patience: Duration) -> Arc<RedisLimiter> {
    let limiter = RedisLimiter::connect(url, patience, Arc::new(SystemClock)).await;
    Arc::new(limiter.expect("an address"))
}

fn new_subject() -> String {
    uuid::Uuid::new_v4().to_string()
}

fn budget(limit: u32, seconds: u32) -> Budget {
    Budget::single(BudgetKind::Standard, Window::new(limit, seconds))
}

async fn take_many(limiter: &RedisLimiter, budget: Budget, subject: &str, times: usize) -> usize {
    let mut allowed = 0;
    for _ in 0..times {
        allowed += usize::from(limiter.take(budget, subject).await.allowed);
    }
    allowed
}

async fn until_shared(limiter: &RedisLimiter) {
    let (deadline, mut looks) = (Instant::now() + DEADLINE, interval(Duration::from_millis(20)));
    while limiter.probe().await.is_err() {
        assert!(Instant::now() < deadline, "Redis is not found again");
        looks.tick().await;
    }
}

/// A port below those that the system hands out, so that nobody is given it while its Redis is down.
fn free_port() -> u16 {
    let candidates = std::iter::repeat_with(|| 20_000 + (uuid::Uuid::new_v4().as_u128() % 12_000) as u16);
    let mut free = candidates.filter(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    free.next().expect("the candidates never end")
}

/// A Redis process of a test's own, which ends with it.
struct PrivateRedis {
    port: u16,
    process: Child,
}

impl PrivateRedis {
    fn start() -> Self {
        Self::start_on(free_port())
    }

    fn start_on(port: u16) -> Self {
        let process = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .args(["--dir", env!("CARGO_TARGET_TMPDIR")])
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server must be installed; `make test` does that");
        Self { port, process }
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.process.id().to_string()]).status();
        assert!(status.expect("kill runs").success());
    }

    fn kill(mut self) -> u16 {
        self.end();
        self.port
    }

    fn end(&mut self) {
        self.process.kill().expect("it can be killed");
        self.process.wait().expect("it ends");
    }
}

impl Drop for PrivateRedis {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            self.end();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_together_allow_no_more_than_the_limit() {
    let url = shared_redis();
    let budget =
        Budget::double(BudgetKind::PaymentCreation, Window::per_minute(5000), Window::new(500, 3600));
    let subject = new_subject();
    let mut callers = JoinSet::new();
    for _node in 0..2 {
        let limiter = connect(&url, PATIENT).await;
        for _ in 0..8 {
            let (limiter, subject) = (limiter.clone(), subject.clone());
            callers.spawn(async move { take_many(&limiter, budget, &subject, 50).await });
        }
    }
    assert_eq!(callers.join_all().await.iter().sum::<usize>(), 500);
}

#[tokio::test]
async fn redis_and_memory_answer_alike() {
    let limiter = connect(&shared_redis(), PATIENT).await;
    let memory = LocalLimiter::new(Arc::new(SystemClock));
    let budgets = [
        budget(7, 60),
        budget(3, 5),
        budget(0, 5),
        Budget::double(BudgetKind::PaymentCreation, Window::per_minute(8), Window::new(5, 10)),
        Budget::double(BudgetKind::PaymentCreation, Window::new(5, 10), Window::per_minute(5)),
    ];
    for budget in budgets {
        // Where a second ends between the two, they differ by right; no run of bad luck lasts.
        let deadline = Instant::now() + DEADLINE;
        loop {
            let subject = new_subject();
            let mut answers = HashSet::new();
            for _ in 0..10 {
                answers.insert(limiter.take(budget, &subject).await == memory.check(budget, &subject));
            }
            if answers == HashSet::from([true]) {
                break;
            }
            assert!(Instant::now() < deadline, "{budget:?}");
        }
    }
}

#[tokio::test]
async fn no_window_sees_more_than_its_limit_as_time_goes_by() {
    const LIMIT: usize = 5;
    let limiter = connect(&shared_redis(), PATIENT).await;
    let (budget, subject) = (budget(5, 1), new_subject());
    let mut allowed = Vec::new();
    let (deadline, mut pace) = (Instant::now() + DEADLINE, interval(Duration::from_millis(5)));
    while allowed.len() < 4 * LIMIT {
        assert!(Instant::now() < deadline, "the window does not open again: {}", allowed.len());
        let before = Instant::now();
        if limiter.take(budget, &subject).await.allowed {
            allowed.push((before, Instant::now()));
        }
        pace.tick().await;
    }
    for run in allowed.windows(LIMIT + 1) {
        let span = run[LIMIT].1 - run[0].0;
        assert!(span > Duration::from_secs(1), "{} requests in {span:?}", LIMIT + 1);
    }
}

#[tokio::test]
async fn a_refused_request_consumes_nothing_and_keys_expire() {
    let url = shared_redis();
    let limiter = connect(&url, PATIENT).await;
    let (budget, subject) = (budget(2, 60), new_subject());
    assert_eq!(take_many(&limiter, budget, &subject, 9).await, 2);
    let client = redis::Client::open(url).expect("an address");
    let mut connection = client.get_multiplexed_async_connection().await.expect("a connection");
    let key = format!("quipu:limits:standard:{subject}");
    let stored: Vec<(i64, u32)> =
        redis::cmd("HGETALL").arg(&key).query_async(&mut connection).await.expect("a hash");
    assert_eq!(stored.iter().map(|(_, count)| count).sum::<u32>(), 2);
    let lives: i64 = redis::cmd("TTL").arg(&key).query_async(&mut connection).await.expect("a number");
    assert!((1..=62).contains(&lives), "{lives}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_redis_is_replaced_by_local_shares_until_it_is_back() {
    let redis = PrivateRedis::start();
    // Two nodes are what is assumed, and what is there once they have been counted.
    let other = connect(&redis.url(), PATIENT).await;
    until_shared(&other).await;
    let limiter = connect(&redis.url(), PATIENT).await;
    until_shared(&limiter).await;
    let (budget, subject) = (budget(10, 3600), new_subject());
    assert_eq!(take_many(&limiter, budget, &subject, 4).await, 4);

    let port = redis.kill();
    assert_eq!(take_many(&limiter, budget, &subject, 50).await, 1, "half of ten, and four were taken");
    assert!(limiter.probe().await.is_err());

    let _redis = PrivateRedis::start_on(port);
    until_shared(&limiter).await;
    // The new Redis has no memory, but the node has one and told it: five of its ten are taken.
    let verdict = limiter.take(budget, &subject).await;
    assert!(verdict.allowed && verdict.remaining == 4, "{verdict:?}");
    assert_eq!(take_many(&limiter, budget, &subject, 50).await, 4);
    let verdict = limiter.take(budget, &subject).await;
    assert!(!verdict.allowed && verdict.retry_after_seconds > 0, "{verdict:?}");
    assert_eq!(take_many(&limiter, budget, &new_subject(), 50).await, 10, "others have all of theirs");
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_fall_back_to_a_share_each_and_share_again_when_redis_is_back() {
    let redis = PrivateRedis::start();
    let mut nodes = Vec::new();
    for _ in 0..3 {
        let node = connect(&redis.url(), PATIENT).await;
        until_shared(&node).await;
        nodes.push(node);
    }
    let port = redis.kill();
    let (budget, subject) = (budget(12, 3600), new_subject());
    assert_eq!(take_many(&nodes[2], budget, &subject, 50).await, 4, "a third");

    let _redis = PrivateRedis::start_on(port);
    until_shared(&nodes[0]).await;
    until_shared(&nodes[1]).await;
    assert_eq!(take_many(&nodes[0], budget, &subject, 50).await, 8, "four were taken without Redis");
    assert_eq!(take_many(&nodes[1], budget, &subject, 50).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_comes_back_empty_is_told_what_every_node_allowed() {
    let redis = PrivateRedis::start();
    let nodes = [connect(&redis.url(), PATIENT).await, connect(&redis.url(), PATIENT).await];
    until_shared(&nodes[0]).await;
    until_shared(&nodes[1]).await;
    until_counted(&redis, 2).await;
    let (budget, [even, odd]) = (budget(60, 3600), [new_subject(), new_subject()]);
    for _ in 0..30 {
        assert_eq!(take_many(&nodes[0], budget, &even, 1).await, 1);
        assert_eq!(take_many(&nodes[1], budget, &even, 1).await, 1);
    }
    assert_eq!(take_many(&nodes[0], budget, &odd, 70).await, 60);

    let port = redis.kill();
    // Nobody asks while it is away, but each node finds out.
    for node in &nodes {
        until_away(node).await;
    }
    let redis = PrivateRedis::start_on(port);
    for node in &nodes {
        until_shared(node).await;
    }
    for node in &nodes {
        assert_eq!(take_many(node, budget, &even, 70).await, 0);
        assert_eq!(take_many(node, budget, &odd, 70).await, 0);
    }

    // The same while the connections live.
    let client = redis::Client::open(redis.url()).expect("an address");
    let mut connection = client.get_multiplexed_async_connection().await.expect("a connection");
    redis::cmd("FLUSHALL").exec_async(&mut connection).await.expect("done");
    // Each notices by itself, perhaps before anybody looks; afterwards both are known there again.
    until_known(&redis, 2).await;
    for node in &nodes {
        until_shared(node).await;
        assert_eq!(take_many(node, budget, &even, 70).await, 0);
    }
    assert_eq!(take_many(&nodes[1], budget, &odd, 70).await, 0);
}

async fn until_away(limiter: &RedisLimiter) {
    let (deadline, mut looks) = (Instant::now() + DEADLINE, interval(Duration::from_millis(20)));
    while limiter.probe().await.is_ok() {
        assert!(Instant::now() < deadline, "Redis is not missed");
        looks.tick().await;
    }
}

/// Waits until Redis knows of so many nodes.
async fn until_known(redis: &PrivateRedis, count: usize) {
    let client = redis::Client::open(redis.url()).expect("an address");
    let mut connection = client.get_multiplexed_async_connection().await.expect("a connection");
    let (deadline, mut looks) = (Instant::now() + DEADLINE, interval(Duration::from_millis(20)));
    loop {
        let mut call = redis::cmd("ZCARD");
        call.arg("quipu:limits:nodes");
        let known: usize = call.query_async(&mut connection).await.expect("a number");
        if known == count {
            return;
        }
        assert!(Instant::now() < deadline, "Redis knows of {known} nodes");
        looks.tick().await;
    }
}

/// Waits until each of so many nodes knows of the others, which they learn every few seconds.
async fn until_counted(redis: &PrivateRedis, count: usize) {
    let client = redis::Client::open(redis.url()).expect("an address");
    let mut connection = client.get_multiplexed_async_connection().await.expect("a connection");
    let (deadline, mut looks) = (Instant::now() + DEADLINE, interval(Duration::from_millis(20)));
    let scores = |connection: &mut redis::aio::MultiplexedConnection| {
        let mut connection = connection.clone();
        async move {
            let mut call = redis::cmd("ZRANGE");
            call.arg("quipu:limits:nodes").arg(0).arg(-1).arg("WITHSCORES");
            call.query_async::<Vec<(String, i64)>>(&mut connection).await.expect("a set")
        }
    };
    let first = scores(&mut connection).await;
    loop {
        let now = scores(&mut connection).await;
        let announced =
            now.iter().filter(|(node, at)| first.iter().any(|(known, then)| known == node && at > then));
        if announced.count() == count {
            return;
        }
        assert!(Instant::now() < deadline, "the nodes are not announced: {now:?}");
        looks.tick().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_hangs_holds_nobody_up() {
    let redis = PrivateRedis::start();
    let limiter = connect(&redis.url(), RedisLimiter::PATIENCE).await;
    until_shared(&limiter).await;
    redis.signal("-STOP");
    let (budget, subject) = (budget(10, 3600), new_subject());
    assert!(take_many(&limiter, budget, &subject, 50).await <= 10);
    assert!(limiter.probe().await.is_err());
    redis.signal("-CONT");
    until_shared(&limiter).await;
}

#[tokio::test]
async fn a_redis_that_was_never_there_is_no_reason_to_refuse() {
    let gone = PrivateRedis::start().kill();
    let limiter = connect(&format!("redis://127.0.0.1:{gone}/"), PATIENT).await;
    assert!(limiter.probe().await.is_err());
    let (budget, subject) = (budget(10, 3600), new_subject());
    assert_eq!(take_many(&limiter, budget, &subject, 50).await, 5, "half, as if there were another node");
}

#[tokio::test]
async fn a_bad_address_is_refused_without_being_shown() {
    let refused = RedisLimiter::connect("postgres://u:secret@host/", PATIENT, Arc::new(SystemClock)).await;
    assert_eq!(refused.err(), Some(BadRedisUrl));
    assert!(!BadRedisUrl.to_string().contains("secret"));
}
