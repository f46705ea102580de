//! The server on a real socket: what only shows where bytes come in pieces, or stop coming.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
};

use quipu_kernel::{MerchantId, Secret};
use quipu_merchants::{Actor, ApiVersion, Role, Scopes};
use quipu_signing::sign_request;

use crate::{
    running::{Running, read_answer, read_head},
    world::{NOW, World, deposit},
};

pub(crate) fn post(key: &str, length: usize) -> String {
    format!(
        "POST /api/v1/payments HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n"
    )
}

/// The head of a signed creation with this body, with another header `more`.
pub(crate) fn signed_head(
    merchant: MerchantId,
    secret: &Secret,
    nonce: &str,
    body: &str,
    more: &str,
) -> String {
    let (timestamp, path) = (NOW.to_string(), "/api/v2/payments");
    let signature = sign_request(secret, &timestamp, nonce, "POST", path, body.as_bytes());
    format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Merchant-Id: {merchant}\r\n\
         X-Timestamp: {timestamp}\r\nX-Nonce: {nonce}\r\nX-Signature-Version: v1\r\nX-Signature: {signature}\r\n\
         {more}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
}

#[track_caller]
pub(crate) fn is_alive(stream: &mut TcpStream) {
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").expect("written");
    assert_eq!(read_answer(stream), (200, r#"{"status":"ok"}"#.to_owned()));
}

/// What is refused before its body is read: the request's head, and the status.
fn refused_heads(key: &str, framing: &str) -> Vec<(String, u16)> {
    let head = |method: &str, path: &str, key: &str| {
        format!("{method} {path} HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\n{framing}\r\n\r\n")
    };
    let mut heads = vec![
        (head("POST", "/api/v1/payments", "nonsense"), 401),
        (head("POST", "/api/v2/payments", "nonsense"), 401),
        (head("POST", "/api/v1/nothing", key), 404),
        (head("DELETE", "/api/v1/payments", key), 405),
        (head("GET", "/healthz", key), 200),
        (head("GET", "/api/v1/balance", key), 200),
    ];
    if framing.starts_with("Content-Length") {
        heads.push((head("POST", "/api/v1/payments", key), 413));
    }
    heads
}

#[actix_web::test]
async fn a_refusal_waits_for_no_body_and_the_connection_ends() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let server = Running::start(&world);
    for framing in ["Content-Length: 10485760", "Transfer-Encoding: chunked"] {
        for (head, expected) in refused_heads(&key, framing) {
            let mut stream = server.connect();
            stream.write_all(head.as_bytes()).expect("written");
            assert_eq!(read_answer(&mut stream).0, expected, "{head}");
            // What still comes is discarded for a moment; then there is an end, and never another answer.
            let mut rest = Vec::new();
            let _reset_or_closed = stream.read_to_end(&mut rest);
            assert!(rest.is_empty(), "{head}");
        }
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_client_that_sends_a_large_body_reads_its_refusal() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let server = Running::start(&world);
    let large = vec![b' '; 4 * 1024 * 1024];
    let mut stream = server.connect();
    stream.write_all(post(&key, large.len()).as_bytes()).expect("written");
    stream.write_all(&large).expect("written");
    let (status, body) = read_answer(&mut stream);
    assert_eq!((status, body.contains("BODY_TOO_LARGE")), (413, true));
    server.stop().await;
}

#[actix_web::test]
async fn after_a_short_body_that_nobody_wanted_the_connection_goes_on() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let server = Running::start(&world);
    let mut stream = server.connect();
    let refused = [post("nonsense", 5), post(&key, 5).replace("/payments", "/nothing")];
    for (head, expected) in refused.iter().zip([401, 404]) {
        stream.write_all(format!("{head}hello").as_bytes()).expect("written");
        assert_eq!(read_answer(&mut stream).0, expected);
        is_alive(&mut stream);
    }
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello").expect("written");
    assert_eq!(read_answer(&mut stream).0, 200);
    is_alive(&mut stream);
    server.stop().await;
}

#[actix_web::test]
async fn a_client_that_leaves_in_mid_request_harms_nobody() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let server = Running::start(&world);
    let body = deposit("r-1").to_string();
    let request = format!("{}{body}", post(&key, body.len()));
    for cut in (1..request.len()).step_by(7) {
        let mut stream = server.connect();
        stream.write_all(&request.as_bytes()[..cut]).expect("written");
        if cut % 2 == 0 {
            // The peer may have answered and closed first, which is no concern here.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
    let mut stream = server.connect();
    is_alive(&mut stream);
    stream.write_all(request.as_bytes()).expect("written");
    assert_eq!(read_answer(&mut stream).0, 200);
    drop(stream);
    server.stop().await;
}

#[actix_web::test]
async fn requests_may_come_one_after_the_other_without_waiting() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let server = Running::start(&world);
    let mut stream = server.connect();
    let bodies = (0..20).map(|index| deposit(&format!("r-{index}")).to_string());
    let all: Vec<_> = bodies.map(|body| format!("{}{body}", post(&key, body.len()))).collect();
    stream.write_all(all.concat().as_bytes()).expect("written");
    for index in 0..20 {
        let (status, body) = read_answer(&mut stream);
        assert_eq!((status, body.contains(&format!("\"r-{index}\""))), (200, true), "{body}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_signed_request_is_judged_when_all_of_it_is_there() {
    let world = World::new();
    let merchant = world.merchant(ApiVersion::V2).await;
    let (_, secret) = world.credential(merchant).await;
    let server = Running::start(&world);
    let body = deposit("r-1").to_string();
    let timestamp = (NOW - 290).to_string();
    let path = "/api/v2/payments";
    let signature = sign_request(&secret, &timestamp, "nonce-0001", "POST", path, body.as_bytes());
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n\
         X-Merchant-Id: {merchant}\r\nX-Timestamp: {timestamp}\r\nX-Nonce: nonce-0001\r\n\
         X-Signature-Version: v1\r\nX-Signature: {signature}\r\nContent-Length: {}\r\n\r\n",
        body.len(),
    );
    for (dawdles, expected) in [(20, 401), (0, 200)] {
        let mut stream = server.connect();
        stream.write_all(head.as_bytes()).expect("written");
        assert_eq!(read_answer(&mut stream).0, 100, "it waits for the body");
        world.clock.advance(dawdles);
        stream.write_all(body.as_bytes()).expect("written");
        let (status, text) = read_answer(&mut stream);
        assert_eq!(status, expected, "{text}");
        world.clock.advance(-dawdles);
    }
    server.stop().await;
}

#[actix_web::test]
async fn the_answer_to_head_has_the_length_of_the_one_to_get_and_no_bytes() {
    let server = Running::start(&World::new());
    let mut stream = server.connect();
    stream.write_all(b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n").expect("written");
    let (status, whole) = read_answer(&mut stream);
    stream.write_all(b"HEAD /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n").expect("written");
    let head = read_head(&mut stream);
    assert!(status == 200 && head.starts_with("http/1.1 200"), "{head}");
    assert!(head.contains(&format!("content-length: {}\r\n", whole.len())), "{head}");
    is_alive(&mut stream);
    server.stop().await;
}

#[actix_web::test]
async fn what_the_server_refuses_by_itself_has_our_shape() {
    let world = World::new();
    let server = Running::start(&world);
    let long = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "y".repeat(200_000));
    let far = |length: usize| format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "y".repeat(length - 1));
    for (sent, expected, code) in [
        ("nonsense\r\n\r\n", 400, "VALIDATION_FAILED"),
        ("GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400, "VALIDATION_FAILED"),
        (long.as_str(), 431, "HEADERS_TOO_LARGE"),
        (&far(32_000), 404, "ROUTE_NOT_FOUND"),
        (&far(33_000), 431, "HEADERS_TOO_LARGE"),
        (&far(65_535), 431, "HEADERS_TOO_LARGE"),
    ] {
        let mut stream = server.connect();
        // The server may have answered and closed before it has read all of a long head.
        let _ = stream.write_all(sent.as_bytes());
        let (status, body) = read_answer(&mut stream);
        assert_eq!((status, body.contains(code)), (expected, true), "{body}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_head_that_never_ends_is_refused_on_a_kept_connection_too() {
    let world = World::new();
    let server = Running::start(&world);
    let mut stream = server.connect();
    is_alive(&mut stream);
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: ").expect("written");
    let (status, body) = read_answer(&mut stream);
    assert_eq!((status, body.contains("REQUEST_TIMEOUT")), (408, true), "{body}");
    assert_eq!(stream.read(&mut [0]).expect("the end"), 0);
    server.stop().await;
}

#[actix_web::test]
async fn nobody_is_told_to_continue_before_a_refusal() {
    let world = World::new();
    let (merchant, key) = world.merchant_with_key().await;
    let admin = world.operator(Role::Admin).await;
    let server = Running::start(&world);
    let expecting = |key: &str, length: usize| {
        post(key, length).replace("Host: x\r\n", "Host: x\r\nExpect: 100-continue\r\n")
    };
    let (_, powerless) = world.key(merchant, Scopes::default()).await;
    let staff = world.operator(Role::Viewer).await;
    let to = |path: &str| expecting(&key, 100).replace("/api/v1/payments", path);
    let by_staff = |path: &str, token: &str| {
        let authorization = format!("Authorization: {token}");
        to(path).replace(&format!("X-API-Key: {key}"), &authorization)
    };
    let payment = "pay_1763683200000_abcdefghjkmn";
    let ticket = "00000000-0000-4000-8000-000000000000";
    for (head, expected) in [
        (expecting("nonsense", 100), 401),
        (expecting(&powerless, 100), 403),
        (expecting(&key, 100).replacen("POST", "DELETE", 1), 405),
        (to(&format!("/api/v1/payments/{payment}/cancel")), 404),
        (to(&format!("/api/v1/tickets/{ticket}/comments")), 404),
        (to(&format!("/api/v1/tickets/{ticket}/close")), 404),
        (to(&format!("/api/v1/webhooks/{ticket}/retry")), 404),
        (to("/api/v1/providers/nobody/callbacks"), 404),
        (by_staff("/operator/v1/merchants/999/adjustments", &staff), 403),
        (by_staff("/operator/v1/merchants/999/adjustments", &admin), 404),
        (by_staff(&format!("/operator/v1/payments/{payment}/refunds"), &admin), 404),
        (expecting(&key, 10 * 1024 * 1024), 413),
        (expecting(&key, 100).replace("/payments", "/nothing"), 404),
        (expecting(&key, 100).replace("application/json", "text/plain"), 415),
        (expecting(&key, 100).replace("Host: x\r\n", "Host: x\r\nContent-Encoding: gzip\r\n"), 415),
    ] {
        let mut stream = server.connect();
        stream.write_all(head.as_bytes()).expect("written");
        assert_eq!(read_answer(&mut stream).0, expected, "{head}");
    }
    // Nor whoever names a merchant that cannot have signed.
    let revoked = world.merchant(ApiVersion::V2).await;
    let (credential, secret) = world.credential(revoked).await;
    world.onboarding.revoke_credential(revoked, &credential, Actor::shell()).await.expect("revoked");
    let unknown = MerchantId(77);
    for merchant in [revoked, unknown] {
        let mut stream = server.connect();
        let head = signed_head(merchant, &secret, "nonce-0001", "{}", "Expect: 100-continue");
        stream.write_all(head.as_bytes()).expect("written");
        let (status, text) = read_answer(&mut stream);
        assert_eq!((status, text.contains("SIGNATURE_INVALID")), (401, true), "{text}");
    }
    let body = deposit("r-1").to_string();
    let mut stream = server.connect();
    stream.write_all(expecting(&key, body.len()).as_bytes()).expect("written");
    assert_eq!(read_answer(&mut stream).0, 100);
    stream.write_all(body.as_bytes()).expect("written");
    assert_eq!(read_answer(&mut stream).0, 200);
    is_alive(&mut stream);
    server.stop().await;
}

pub(crate) fn post_in_chunks(key: &str) -> String {
    post(key, 0).replace("Content-Length: 0", "Transfer-Encoding: chunked")
}

#[actix_web::test]
async fn a_chunk_is_refused_by_its_size_and_what_is_none_in_our_shape() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let server = Running::start(&world);
    for (chunk, expected, code) in [
        ("8000000000000000\r\nabc", 413, "BODY_TOO_LARGE"),
        ("fffffffffffffffff", 413, "BODY_TOO_LARGE"),
        ("200000\r\nabc", 413, "BODY_TOO_LARGE"),
        ("zz\r\n", 400, "VALIDATION_FAILED"),
        ("1\r\nabc", 400, "VALIDATION_FAILED"),
        ("1;x=\"y\"\r\nabc", 400, "VALIDATION_FAILED"),
    ] {
        for at_once in [true, false] {
            let mut stream = server.connect();
            if at_once {
                stream.write_all(format!("{}{chunk}", post_in_chunks(&key)).as_bytes()).expect("written");
            } else {
                stream.write_all(post_in_chunks(&key).as_bytes()).expect("written");
                for byte in chunk.as_bytes() {
                    // The server may have answered before it has read all.
                    let _ = stream.write_all(&[*byte]);
                }
            }
            let (status, body) = read_answer(&mut stream);
            assert_eq!((status, body.contains(code)), (expected, true), "{chunk:?}: {body}");
            let mut rest = Vec::new();
            let _reset_or_closed = stream.read_to_end(&mut rest);
            assert!(rest.is_empty(), "{chunk:?}");
        }
    }
    let body = deposit("r-1").to_string();
    let (first, second) = body.split_at(10);
    let chunks = format!("A\r\n{first}\r\n{:x};x=y\r\n{second}\r\n0\r\nT: z\r\n\r\n", second.len());
    let mut stream = server.connect();
    stream.write_all(format!("{}{chunks}", post_in_chunks(&key)).as_bytes()).expect("written");
    assert_eq!(read_answer(&mut stream).0, 200);
    is_alive(&mut stream);
    server.stop().await;
}
