//! Rate limits at the edge.

use quipu_kernel::{Environment, Tenant};
use quipu_merchants::{Actor, ApiVersion, NewApiKey, RateLimits, Scopes};

use crate::world::{World, request};

async fn limited_key(world: &World) -> String {
    let merchant = world.merchant(ApiVersion::V1).await;
    let rate_limits =
        RateLimits { create_per_minute: None, create_per_10s: Some(2), standard_per_minute: Some(1) };
    let new = NewApiKey {
        tenant: Tenant::new(merchant, Environment::Test),
        name: String::new(),
        scopes: Scopes::all(),
        rate_limits,
        expires_at: None,
    };
    let issued = world.onboarding.issue_api_key(new, Actor::shell()).await.expect("a key");
    issued.secret.expose().to_owned()
}

#[actix_web::test]
async fn creation_and_everything_else_have_budgets_of_their_own() {
    let world = World::new();
    let key = limited_key(&world).await;
    let balance = async || {
        world.send(request("GET", "/api/v1/balance").insert_header(("X-API-Key", key.as_str()))).await
    };
    let first = world.deposit(&key, "r-1").await;
    assert_eq!(first.header("x-ratelimit-limit"), Some("2"));
    assert_eq!(first.header("x-ratelimit-remaining"), Some("1"));
    assert_eq!(first.header("x-ratelimit-reset"), Some("1763683260"));
    assert_eq!(world.deposit(&key, "r-2").await.status, 200);
    let third = world.deposit(&key, "r-3").await;
    assert_eq!(third.code(), (429, "RATE_LIMITED"));
    assert_eq!((third.header("retry-after"), third.header("x-ratelimit-remaining")), (Some("60"), Some("0")));

    assert_eq!(balance().await.status, 200);
    assert_eq!(balance().await.code(), (429, "RATE_LIMITED"));
}

#[actix_web::test]
async fn failures_are_limited_by_address_and_a_good_key_is_not() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let guess = async || {
        world.send(request("GET", "/api/v1/balance").insert_header(("X-API-Key", "qp_test_sk_guess"))).await
    };
    for _ in 0..60 {
        assert_eq!(guess().await.code(), (401, "API_KEY_INVALID"));
    }
    assert_eq!(guess().await.code(), (429, "RATE_LIMITED"));
    assert_eq!(world.send(request("GET", "/api/v1/balance")).await.code(), (429, "RATE_LIMITED"));
    assert_eq!(world.deposit(&key, "r-1").await.status, 200);
    assert_eq!(world.send(request("GET", "/healthz")).await.status, 200);
}
