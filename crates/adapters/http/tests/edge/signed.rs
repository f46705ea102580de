//! Signed requests.

use std::{
    io::Write as _,
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use actix_web::test::TestRequest;
use quipu_kernel::{Environment, MerchantId, Tenant};
use quipu_merchants::{Actor, ApiVersion, MerchantStatus};
use quipu_signing::sign_request;
use serde_json::json;
use socket2::SockRef;

use crate::{
    running::{Running, read_answer},
    sockets::signed_head,
    world::{NOW, World, deposit, signed},
};

const CREATE: (&str, &str) = ("POST", "/api/v2/payments");
const BALANCE: (&str, &str) = ("GET", "/api/v2/balance?currency=MXN&x=%7e");

#[actix_web::test]
async fn a_signed_creation_uses_its_nonce_up() {
    let world = World::new();
    let merchant = world.merchant(ApiVersion::V2).await;
    let (_, secret) = world.credential(merchant).await;
    let send =
        async |nonce: &str, body: &str| world.send(signed(merchant, &secret, nonce, CREATE, body)).await;
    let body = deposit("r-1").to_string();
    let created = send("nonce-0001", &body).await;
    assert_eq!((created.status, &created.body["success"]), (200, &json!(true)), "{}", created.text);
    assert_eq!(send("nonce-0001", &body).await.code(), (401, "NONCE_REUSED"));
    assert_eq!(send("nonce-0002", &body).await.code(), (409, "DUPLICATE_MERCHANT_REFERENCE"));
    assert_eq!(send("nonce-0002", &body).await.code(), (401, "NONCE_REUSED"));
    assert_eq!(send("nonce-0003", "{}").await.code(), (400, "VALIDATION_FAILED"));
    assert_eq!(send("nonce-0003", "{}").await.code(), (401, "NONCE_REUSED"));

    let id = created.body["transaction_id"].as_str().expect("an id");
    let path = format!("/api/v2/payments/{id}");
    let read = async || world.send(signed(merchant, &secret, "nonce-0004", ("GET", &path), "")).await;
    assert_eq!(read().await.body["data"]["transaction_id"], id);
    assert_eq!(read().await.code(), (401, "NONCE_REUSED"));
}

#[actix_web::test]
async fn a_nonce_that_did_not_verify_is_not_used_up() {
    let world = World::new();
    let merchant = world.merchant(ApiVersion::V2).await;
    let (_, secret) = world.credential(merchant).await;
    let good = || signed(merchant, &secret, "nonce-0001", BALANCE, "");
    let forged = good().uri("/api/v2/balance?currency=ARS&x=%7e");
    assert_eq!(world.send(forged).await.code(), (401, "SIGNATURE_INVALID"));
    assert_eq!(world.send(good()).await.status, 200);
}

#[actix_web::test]
async fn a_nonce_is_kept_as_long_as_its_timestamp_is_good() {
    let world = World::new();
    let merchant = world.merchant(ApiVersion::V2).await;
    let (_, secret) = world.credential(merchant).await;
    // As far ahead as a timestamp may lie.
    let (timestamp, nonce, (method, path)) = ((NOW + 300).to_string(), "nonce-0001", BALANCE);
    let signature = sign_request(&secret, &timestamp, nonce, method, path, b"");
    let request = || {
        signed(merchant, &secret, nonce, BALANCE, "")
            .insert_header(("X-Timestamp", timestamp.clone()))
            .insert_header(("X-Signature", signature.clone()))
    };
    assert_eq!(world.send(request()).await.status, 200);
    let mut passed = 0;
    for (seconds, code) in [
        (301, "NONCE_REUSED"),
        (599, "NONCE_REUSED"),
        (600, "NONCE_REUSED"),
        (601, "TIMESTAMP_OUT_OF_WINDOW"),
    ] {
        world.clock.advance(seconds - passed);
        passed = seconds;
        assert_eq!(world.send(request()).await.code(), (401, code), "after {seconds} s");
    }
}

#[actix_web::test]
async fn each_failure_has_its_own_code() {
    let world = World::new();
    let merchant = world.merchant(ApiVersion::V2).await;
    let (credential_id, secret) = world.credential(merchant).await;
    let good = || signed(merchant, &secret, "nonce-0001", BALANCE, "");
    let cases: [(TestRequest, &str); 6] = [
        (good().insert_header(("X-Merchant-Id", "77")), "SIGNATURE_INVALID"),
        (good().insert_header(("X-Timestamp", "1763682899")), "TIMESTAMP_OUT_OF_WINDOW"),
        (good().insert_header(("X-Timestamp", "1763682901")), "SIGNATURE_INVALID"),
        (good().insert_header(("X-Nonce", "short")), "SIGNATURE_INVALID"),
        (good().insert_header(("X-Signature-Version", "v9")), "SIGNATURE_INVALID"),
        (good().insert_header(("X-Signature", "hmac_sha256=00")), "SIGNATURE_INVALID"),
    ];
    for (index, (request, code)) in cases.into_iter().enumerate() {
        assert_eq!(world.send(request).await.code(), (401, code), "case {index}");
    }
    world.onboarding.revoke_credential(merchant, &credential_id, Actor::shell()).await.expect("revoked");
    assert_eq!(world.send(good()).await.code(), (401, "SIGNATURE_INVALID"));

    let old = world.merchant(ApiVersion::V1).await;
    let by_old = signed(old, &secret, "nonce-0001", BALANCE, "");
    assert_eq!(world.send(by_old).await.code(), (401, "API_VERSION_MISMATCH"));
}

#[actix_web::test]
async fn either_of_two_credentials_verifies() {
    let world = World::new();
    let merchant = world.merchant(ApiVersion::V2).await;
    let (_, first) = world.credential(merchant).await;
    let (_, second) = world.credential(merchant).await;
    for (secret, nonce) in [(&first, "nonce-0001"), (&second, "nonce-0002")] {
        assert_eq!(world.send(signed(merchant, secret, nonce, BALANCE, "")).await.status, 200);
    }
}

#[actix_web::test]
async fn a_verified_nonce_is_used_up_whatever_is_answered() {
    let mut world = World::new();
    world.settings.limits.standard_per_minute = 1;
    let merchant = world.merchant(ApiVersion::V2).await;
    let (_, secret) = world.credential(merchant).await;
    let read =
        async |world: &World, nonce: &str| world.send(signed(merchant, &secret, nonce, BALANCE, "")).await;
    assert_eq!(read(&world, "nonce-0001").await.status, 200);
    assert_eq!(read(&world, "nonce-0002").await.code(), (429, "RATE_LIMITED"));
    assert_eq!(read(&world, "nonce-0002").await.code(), (401, "NONCE_REUSED"));

    world.settings.limits.standard_per_minute = 100;
    let suspend = |world: &World, status| {
        for row in &mut world.directory.rows().merchants {
            row.status = status;
        }
    };
    suspend(&world, MerchantStatus::Suspended);
    assert_eq!(read(&world, "nonce-0003").await.code(), (403, "MERCHANT_SUSPENDED"));
    suspend(&world, MerchantStatus::Active);
    assert_eq!(read(&world, "nonce-0003").await.code(), (401, "NONCE_REUSED"));
    assert_eq!(read(&world, "nonce-0004").await.status, 200);
}

#[actix_web::test]
async fn copies_of_signed_calls_are_limited_by_address_and_their_merchant_goes_on() {
    let mut world = World::new();
    world.settings.limits.unauthenticated_per_minute = 3;
    let merchant = world.merchant(ApiVersion::V2).await;
    let (_, secret) = world.credential(merchant).await;
    let send = async |address: &str, nonce: &str, path, body: &str| {
        let peer = address.parse().expect("an address and a port");
        world.send(signed(merchant, &secret, nonce, path, body).peer_addr(peer)).await
    };
    let (own, copier, body) = ("192.0.2.1:1", "192.0.2.2:1", deposit("r-1").to_string());
    assert_eq!(send(own, "nonce-0001", BALANCE, "").await.status, 200);
    assert_eq!(send(own, "nonce-0002", CREATE, &body).await.status, 200);
    let set_status = |status| world.directory.rows().merchants.iter_mut().for_each(|row| row.status = status);
    set_status(MerchantStatus::Suspended);
    let not_admitted = send(copier, "nonce-0001", BALANCE, "").await;
    set_status(MerchantStatus::Active);
    let read = send(copier, "nonce-0001", BALANCE, "").await;
    let created = send(copier, "nonce-0002", CREATE, &body).await;
    for (answer, remaining) in [(not_admitted, "2"), (read, "1"), (created, "0")] {
        assert_eq!(answer.code(), (401, "NONCE_REUSED"));
        assert_eq!(answer.header("x-ratelimit-remaining"), Some(remaining));
    }
    assert_eq!(send(copier, "nonce-0001", BALANCE, "").await.code(), (429, "RATE_LIMITED"));
    assert_eq!(send(copier, "nonce-0002", CREATE, &body).await.code(), (429, "RATE_LIMITED"));
    assert_eq!(send(own, "nonce-0003", BALANCE, "").await.status, 200);
    assert_eq!(send(copier, "nonce-0004", BALANCE, "").await.status, 200, "a good signature still works");
}

#[actix_web::test]
async fn a_client_that_resets_its_call_has_used_its_nonce_up() {
    let world = World::new();
    let merchant = world.merchant(ApiVersion::V2).await;
    let (_, secret) = world.credential(merchant).await;
    world.books.hangs.store(true, Ordering::Relaxed);
    let server = Running::start(&world);
    let (timestamp, nonce, path) = (NOW.to_string(), "nonce-0001", "/api/v2/balance");
    let signature = sign_request(&secret, &timestamp, nonce, "GET", path, b"");
    let mut stream = server.connect();
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: x\r\nX-Merchant-Id: {merchant}\r\nX-Timestamp: {timestamp}\r\n\
         X-Nonce: {nonce}\r\nX-Signature-Version: v1\r\nX-Signature: {signature}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("written");
    let deadline = Instant::now() + Duration::from_secs(20);
    while world.books.asked.load(Ordering::Relaxed) == 0 {
        assert!(Instant::now() < deadline, "the call does not begin");
        thread::yield_now();
    }
    // Closing without lingering resets the connection.
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("an option");
    drop(stream);
    let tenant = Tenant::new(merchant, Environment::Test);
    while !world.books.memory.contents().used(tenant, nonce) {
        assert!(Instant::now() < deadline, "its nonce is not used up");
        thread::yield_now();
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_signed_creation_under_pressure_is_refused_before_it_is_read_whoever_signed_it() {
    let world = World::new();
    let merchant = world.merchant(ApiVersion::V2).await;
    let (_, secret) = world.credential(merchant).await;
    world.books.pressed.store(true, Ordering::Relaxed);
    let server = Running::start(&world);
    let unknown = MerchantId(77);
    let body = deposit("r-1").to_string();
    let mut answers = Vec::new();
    for named in [merchant, unknown] {
        let mut stream = server.connect();
        // The body never comes.
        let head = signed_head(named, &secret, "nonce-0001", &body, "X-Request-Id: req-1");
        stream.write_all(head.as_bytes()).expect("written");
        let (status, text) = read_answer(&mut stream);
        assert_eq!((status, text.contains("OVERLOADED")), (503, true), "{text}");
        answers.push(text);
    }
    assert_eq!(answers[0], answers[1], "the answer shows which merchants there are");
    server.stop().await;

    let send = async |path| world.send(signed(merchant, &secret, "nonce-0001", path, "")).await;
    assert_eq!(send(BALANCE).await.status, 200, "only creations are refused");
    let create = async || world.send(signed(merchant, &secret, "nonce-0002", CREATE, &body)).await;
    assert_eq!(create().await.code(), (503, "OVERLOADED"));
    world.books.pressed.store(false, Ordering::Relaxed);
    assert_eq!(create().await.status, 200, "its nonce was not used up");
}
