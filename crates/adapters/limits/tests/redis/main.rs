//! The shared limiter against a real Redis: the one in `QUIPU_TEST_REDIS`, and private ones that are killed.

mod outages;
mod private;

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use quipu_kernel::SystemClock;
use quipu_limits::{BadRedisUrl, LocalLimiter, RedisLimiter};
use quipu_merchants::{Budget, BudgetKind, RateLimiter, Window};
use tokio::{task::JoinSet, time::interval};

use crate::private::{IN_USE, PrivateRedis};

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

/// A node that shares its limits.
async fn join(url: &str, patience: Duration) -> Arc<RedisLimiter> {
    let limiter = connect(url, patience).await;
    until_shared(&limiter).await;
    limiter
}

/// Several that began at the same time.
async fn join_all<const NODES: usize>(url: &str, patience: Duration) -> [Arc<RedisLimiter>; NODES] {
    let mut nodes = JoinSet::new();
    for _ in 0..NODES {
        let url = url.to_owned();
        nodes.spawn(async move { join(&url, patience).await });
    }
    nodes.join_all().await.try_into().expect("as many as were begun")
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

#[tokio::test(flavor = "multi_thread")]
async fn nodes_together_allow_no_more_than_the_limit() {
    let budget =
        Budget::double(BudgetKind::PaymentCreation, Window::per_minute(5000), Window::new(500, 3600));
    let subject = new_subject();
    let mut callers = JoinSet::new();
    for limiter in join_all::<2>(&shared_redis(), PATIENT).await {
        for _ in 0..8 {
            let (limiter, subject) = (limiter.clone(), subject.clone());
            callers.spawn(async move { take_many(&limiter, budget, &subject, 50).await });
        }
    }
    assert_eq!(callers.join_all().await.iter().sum::<usize>(), 500);
}

#[tokio::test]
async fn redis_and_memory_answer_alike() {
    let redis = PrivateRedis::start_in_use().await;
    let limiter = join(&redis.url(), PATIENT).await;
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
    let redis = PrivateRedis::start_in_use().await;
    let limiter = join(&redis.url(), PATIENT).await;
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
    let redis = PrivateRedis::start_in_use().await;
    let limiter = join(&redis.url(), PATIENT).await;
    let (budget, subject) = (budget(2, 60), new_subject());
    assert_eq!(take_many(&limiter, budget, &subject, 9).await, 2);
    let mut connection = redis.connection().await;
    let key = format!("quipu:limits:{IN_USE}:standard:{subject}");
    let stored: Vec<(i64, u32)> =
        redis::cmd("HGETALL").arg(&key).query_async(&mut connection).await.expect("a hash");
    assert_eq!(stored.iter().map(|(_, count)| count).sum::<u32>(), 2);
    let lives: i64 = redis::cmd("TTL").arg(&key).query_async(&mut connection).await.expect("a number");
    assert!((1..=62).contains(&lives), "{lives}");
}

#[tokio::test]
async fn a_bad_address_is_refused_without_being_shown() {
    let refused = RedisLimiter::connect("postgres://u:secret@host/", PATIENT, Arc::new(SystemClock)).await;
    assert_eq!(refused.err(), Some(BadRedisUrl));
    assert!(!BadRedisUrl.to_string().contains("secret"));
}
