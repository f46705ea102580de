//! Rate limits (specification, "Limits"; decisions on rate limits).

use quipu_tests::{
    Answer, Database, Gateway, Merchant, Setup, draft, on_both_databases, signature::unix_seconds,
};
use serde_json::json;
use tokio::task::JoinSet;

on_both_databases!(
    creations_and_the_rest_have_budgets_of_their_own,
    the_documented_budgets_are_the_defaults,
    a_key_may_have_limits_of_its_own,
    requests_at_once_never_exceed_the_limit,
    failures_without_credentials_are_limited_by_address,
    nodes_share_budgets_through_redis,
);

#[track_caller]
fn assert_limited(answer: &Answer) {
    answer.refused(429, "RATE_LIMITED");
    let wait: i64 = answer.header("Retry-After").expect("Retry-After").parse().expect("seconds");
    assert!((1..=60).contains(&wait), "{wait}");
    let (_, remaining, reset) = budget(answer);
    assert_eq!(remaining, 0);
    assert!((0..=61).contains(&(reset - unix_seconds())), "{reset}");
}

/// Limit, remaining, reset.
#[track_caller]
fn budget(answer: &Answer) -> (i64, i64, i64) {
    let header = |name: &str| {
        let text = answer.header(name).unwrap_or_else(|| panic!("{name} is missing: {answer}"));
        text.parse().unwrap_or_else(|_| panic!("{name}: {text}"))
    };
    (header("X-RateLimit-Limit"), header("X-RateLimit-Remaining"), header("X-RateLimit-Reset"))
}

async fn creations_and_the_rest_have_budgets_of_their_own(database: Database) {
    let setup = Setup::new(database)
        .set("LIMITS__STANDARD_PER_MINUTE", "4")
        .set("LIMITS__PAYMENT_CREATE_PER_10S", "3");
    let gateway = setup.start().await;
    let merchant = gateway.merchant().await;
    for left in [3, 2, 1, 0] {
        let (limit, remaining, reset) = budget(&merchant.api.get("/api/v1/balance").await);
        assert_eq!((limit, remaining), (4, left));
        assert!((0..=61).contains(&(reset - unix_seconds())), "{reset}");
    }
    assert_limited(&merchant.api.get("/api/v1/payments").await);
    // An invalid request counts like any other.
    for (body, left) in [(draft::deposit_mxn(100), 2), (json!({}), 1), (draft::deposit_mxn(100), 0)] {
        let (limit, remaining, _) = budget(&merchant.api.create(&body).await);
        assert_eq!((limit, remaining), (3, left), "the window with less left is shown");
    }
    assert_limited(&merchant.api.create(&draft::deposit_mxn(100)).await);
    // Another key has another budget.
    let other = merchant.key(&json!({})).await;
    assert_eq!(budget(&other.get("/api/v1/balance").await).1, 3);
}

async fn the_documented_budgets_are_the_defaults(database: Database) {
    let setup = Setup::new(database)
        .default_for("LIMITS__STANDARD_PER_MINUTE")
        .default_for("LIMITS__PAYMENT_CREATE_PER_MINUTE")
        .default_for("LIMITS__PAYMENT_CREATE_PER_10S");
    let gateway = setup.start().await;
    let v1 = gateway.v1();
    let (limit, remaining, _) = budget(&v1.get("/api/v1/balance").await);
    assert_eq!((limit, remaining), (100, 99));
    let (limit, remaining, _) = budget(&v1.create(&draft::deposit_mxn(100)).await);
    assert_eq!((limit, remaining), (500, 499));
    let (limit, remaining, _) = budget(&gateway.v2().get("/api/v2/balance").await);
    assert_eq!((limit, remaining), (100, 99), "a credential of version 2 has the same budgets");
}

async fn a_key_may_have_limits_of_its_own(database: Database) {
    let gateway = Setup::new(database).set("LIMITS__STANDARD_PER_MINUTE", "5").start().await;
    let merchant = gateway.merchant().await;
    let wishes =
        json!({ "rate_limits": { "standard_per_minute": 2, "create_per_minute": 1, "create_per_10s": 1 } });
    let key = merchant.key(&wishes).await;
    assert_eq!(budget(&key.get("/api/v1/balance").await).0, 2);
    key.get("/api/v1/balance").await.ok();
    assert_limited(&key.get("/api/v1/balance").await);
    key.create(&draft::deposit_mxn(100)).await.ok();
    assert_limited(&key.create(&draft::deposit_mxn(100)).await);
    assert_eq!(budget(&merchant.api.get("/api/v1/balance").await).0, 5);
}

async fn flood(merchant: &Merchant, nodes: &[&Gateway], requests: usize) -> usize {
    let mut flood = JoinSet::new();
    for one in 0..requests {
        let api = merchant.moved_to(nodes[one % nodes.len()]).api;
        flood.spawn(async move { api.get("/api/v1/balance").await.status });
    }
    flood.join_all().await.into_iter().filter(|status| *status == 200).count()
}

async fn requests_at_once_never_exceed_the_limit(database: Database) {
    let gateway = Setup::new(database).set("LIMITS__STANDARD_PER_MINUTE", "30").start().await;
    let merchant = gateway.merchant().await;
    assert_eq!(flood(&merchant, &[&gateway], 100).await, 30);
}

async fn failures_without_credentials_are_limited_by_address(database: Database) {
    let gateway = Setup::new(database).set("LIMITS__UNAUTHENTICATED_PER_MINUTE", "5").start().await;
    let merchant = gateway.merchant().await;
    let mut last = gateway.anonymous().get("/api/v1/balance").await;
    for _ in 0..20 {
        if last.status == 429 {
            break;
        }
        assert_eq!(last.status, 401, "{last}");
        last = gateway.anonymous().with_api_key("qp_test_sk_wrong").get("/api/v1/balance").await;
    }
    last.refused(429, "RATE_LIMITED");
    // A good key from the same address still works.
    merchant.api.get("/api/v1/balance").await.ok();
    gateway.anonymous().get("/healthz").await.ok();
}

async fn nodes_share_budgets_through_redis(database: Database) {
    let gateway = Setup::new(database).with_redis().set("LIMITS__STANDARD_PER_MINUTE", "30").start().await;
    let merchant = gateway.merchant().await;
    let other = match database {
        Database::Postgres => Some(gateway.another_node().await),
        Database::Sqlite => None,
    };
    let nodes: Vec<_> = [&gateway].into_iter().chain(&other).collect();
    assert_eq!(flood(&merchant, &nodes, 100).await, 30);
}
