//! Rate limits at the edge.

use std::sync::{Arc, atomic::Ordering};

use actix_web::{App, test};
use async_trait::async_trait;
use quipu_http::configure;
use quipu_kernel::{Environment, Tenant};
use quipu_merchants::{
    Actor, ApiVersion, Budget, BudgetKind, LimitsNotShared, NewApiKey, RateDecision, RateLimiter, RateLimits,
    RateVerdict, Role, Scopes,
};
use quipu_signing::{Keyring, SystemEntropy, generate_master_key};
use serde_json::json;

use crate::world::{NOW, World, request};

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
async fn a_limited_call_about_tickets_is_refused_in_their_shape() {
    let world = World::new();
    let key = limited_key(&world).await;
    let list = async || {
        world.send(request("GET", "/api/v1/tickets").insert_header(("X-API-Key", key.as_str()))).await
    };
    assert_eq!(list().await.status, 200);
    let refused = list().await;
    assert!(refused.body["error"].is_string(), "{refused:?}");
    assert_eq!(
        refused.body,
        json!({
            "success": false, "statusCode": 429, "error": refused.body["error"], "error_code": "RATE_LIMITED",
        })
    );
    for (header, value) in [
        ("x-ratelimit-limit", "1"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1763683260"),
        ("retry-after", "60"),
    ] {
        assert_eq!(refused.header(header), Some(value), "{header}");
    }
}

#[actix_web::test]
async fn a_creation_under_pressure_is_counted_and_refused_before_it_is_read() {
    let world = World::new();
    let key = limited_key(&world).await;
    world.books.pressed.store(true, Ordering::Relaxed);
    let unreadable = request("POST", "/api/v1/payments").insert_header(("X-API-Key", key.as_str()));
    let refused = world.send(unreadable.set_payload("{")).await;
    assert_eq!(refused.code(), (503, "OVERLOADED"));
    assert!(refused.header("retry-after").is_some());
    assert_eq!(refused.header("x-ratelimit-remaining"), Some("1"));
    let stranger = request("POST", "/api/v1/payments").insert_header(("X-API-Key", "qp_test_sk_guess"));
    assert_eq!(world.send(stranger).await.code(), (401, "API_KEY_INVALID"));
    let balance = request("GET", "/api/v1/balance").insert_header(("X-API-Key", key.as_str()));
    assert_eq!(world.send(balance).await.status, 200);

    world.books.pressed.store(false, Ordering::Relaxed);
    assert_eq!(world.deposit(&key, "r-1").await.status, 200);
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

#[actix_web::test]
async fn an_address_that_failed_too_often_has_few_unknown_credentials_looked_up() {
    let world = World::new();
    let (merchant, key) = world.merchant_with_key().await;
    let (_, unused) = world.key(merchant, Scopes::all()).await;
    let routes = configure(world.services.clone(), world.settings.clone());
    let app = test::init_service(App::new().configure(routes)).await;
    let read = async |key: &str| {
        let request = request("GET", "/api/v1/balance").insert_header(("X-API-Key", key));
        let answer = test::call_service(&app, request.to_request()).await;
        assert!(answer.headers().contains_key("X-RateLimit-Limit"));
        answer.status().as_u16()
    };
    assert_eq!(read(&key).await, 200);
    for _ in 0..60 {
        read("qp_test_sk_guess").await;
    }
    // The limiter of this world forgets nothing, so the ten of a second are ten in all.
    for _ in 0..10 {
        let refused = test::call_service(&app, signed_by_nobody().to_request()).await;
        assert_eq!(refused.status(), 429);
    }
    assert_eq!(read(&unused).await, 429, "it was not found lately");
    assert_eq!(read(&key).await, 200, "it was found lately");
}

/// Refuses every failure and every look-up of an address that is distrusted, and nothing else.
struct Strict {
    is_judged: bool,
}

#[async_trait]
impl RateLimiter for Strict {
    fn take<'a>(&'a self, budget: Budget, _subject: &'a str) -> RateDecision<'a> {
        let allowed = !matches!(budget.kind(), BudgetKind::Unauthenticated | BudgetKind::Lookups);
        RateDecision::Ready(RateVerdict {
            allowed,
            is_judged: self.is_judged,
            limit: 60,
            remaining: 0,
            reset_epoch_seconds: NOW + 60,
            retry_after_seconds: 1,
        })
    }

    async fn probe(&self) -> Result<(), LimitsNotShared> {
        Ok(())
    }
}

#[actix_web::test]
async fn an_address_whose_failure_could_not_be_judged_is_not_distrusted() {
    for (is_judged, good_key) in [(true, 429), (false, 200)] {
        let mut world = World::new();
        world.services.limiter = Arc::new(Strict { is_judged });
        let (_, key) = world.merchant_with_key().await;
        let routes = configure(world.services.clone(), world.settings.clone());
        let app = test::init_service(App::new().configure(routes)).await;
        for (key, status) in [("qp_test_sk_guess", 429), (&*key, good_key)] {
            let request = request("GET", "/api/v1/balance").insert_header(("X-API-Key", key));
            let answer = test::call_service(&app, request.to_request()).await;
            assert_eq!(answer.status(), status, "judged: {is_judged}");
        }
    }
}

#[actix_web::test]
async fn credentials_that_are_kept_under_a_retired_master_key_are_remembered_too() {
    let mut world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let token = world.operator(Role::Admin).await;
    let fresh = Keyring::from_base64(&generate_master_key(&SystemEntropy)).expect("a master key");
    world.services.keyring = Arc::new(fresh.with_retired(&world.master).expect("a master key"));
    let routes = configure(world.services.clone(), world.settings.clone());
    let app = test::init_service(App::new().configure(routes)).await;
    let read = async |path: &str, header: (&'static str, &str)| {
        let request = request("GET", path).insert_header(header);
        test::call_service(&app, request.to_request()).await.status().as_u16()
    };
    let merchant = async || read("/api/v1/balance", ("X-API-Key", &key)).await;
    let operator = async || read("/operator/v1/merchants", ("Authorization", &token)).await;
    assert_eq!((merchant().await, operator().await), (200, 200));
    for _ in 0..60 {
        read("/api/v1/balance", ("X-API-Key", "qp_test_sk_guess")).await;
    }
    // More than the look-ups of a second.
    for _ in 0..20 {
        assert_eq!((merchant().await, operator().await), (200, 200));
    }
}

#[actix_web::test]
async fn a_callback_whose_body_cannot_be_read_is_counted_like_one_that_is_forged() {
    let world = World::new();
    let send = async |body: String| {
        let callback = request("POST", "/api/v1/providers/patient/callbacks");
        world.send(callback.insert_header(("webhook-signature", "v1,forged")).set_payload(body)).await
    };
    for (length, code, left) in
        [(2, (401, "SIGNATURE_INVALID"), "299"), (64 * 1024 + 1, (413, "BODY_TOO_LARGE"), "298")]
    {
        let refused = send("x".repeat(length)).await;
        assert_eq!(refused.code(), code);
        assert_eq!(refused.header("x-ratelimit-remaining"), Some(left));
    }
}

/// A signed request of a merchant that does not exist, which has its credentials looked up all the same.
fn signed_by_nobody() -> actix_web::test::TestRequest {
    let secret = quipu_kernel::Secret::new("nobody's");
    crate::world::signed(quipu_kernel::MerchantId(77), &secret, "nonce-0001", ("GET", "/api/v2/balance"), "")
}
