//! Many connections at once: who gives way, and who is served all the same.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use quipu_kernel::MerchantId;
use quipu_merchants::ApiVersion;
use quipu_signing::sign_request;
use quipu_tests::is_held;
use socket2::{Domain, Socket, Type};

use crate::{
    running::{Running, read_answer},
    sockets::post,
    world::{NOW, World, deposit},
};

#[actix_web::test]
async fn whoever_takes_nothing_is_not_waited_for() {
    let mut world = World::new();
    world.settings.stall_timeout = Duration::from_secs(1);
    let server = Running::start(&world);
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    // So small that an answer finds no room in it.
    socket.set_recv_buffer_size(2_048).expect("a size");
    socket.connect(&server.address.into()).expect("a connection");
    let mut stream: TcpStream = socket.into();
    stream.write_all(b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n").expect("written");
    let client = stream.local_addr().expect("an address");
    let deadline = Instant::now() + Duration::from_mins(1);
    while is_held(server.address, client) {
        assert!(Instant::now() < deadline, "the server waits for it");
        thread::sleep(Duration::from_millis(50));
    }
    drop(stream);
    server.stop().await;
}

#[actix_web::test]
async fn among_many_silent_clients_somebody_else_is_served() {
    let mut world = World::new();
    world.settings.max_connections = 32;
    let server = Running::start(&world);
    let silent: Vec<_> = (0..40).map(|_| server.connect()).collect();
    let mut served = false;
    // A place is found as soon as enough of the silent ones have given way, which none does before it had time to speak.
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        let mut stream = server.connect();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").expect("written");
        let mut answer = Vec::new();
        served = stream.read_to_end(&mut answer).is_ok() && answer.starts_with(b"HTTP/1.1 200");
        if served {
            break;
        }
    }
    assert!(served);
    drop(silent);
    server.stop().await;
}

#[actix_web::test]
async fn behind_a_proxy_one_client_keeps_no_other_out() {
    let mut world = World::new();
    world.settings.max_connections = 32;
    world.settings.trusted_proxies = vec!["127.0.0.1".parse().expect("a network")];
    let (_, key) = world.merchant_with_key().await;
    let server = Running::start(&world);
    let send = |address: &str, length: usize, body: &str| {
        let mut stream = server.connect();
        let head = post(&key, length).replace("Host: x", &format!("Host: x\r\nX-Forwarded-For: {address}"));
        stream.write_all(format!("{head}{body}").as_bytes()).expect("written");
        stream
    };
    let stalled: Vec<_> = (0..24).map(|_| send("192.0.2.1", 5_000, "{")).collect();
    let body = deposit("r-1").to_string();
    // It is in the way once all of its calls have come as far as their bodies.
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let (status, text) = read_answer(&mut send("192.0.2.1", body.len(), &body));
        if status == 503 {
            assert!(text.contains("OVERLOADED"), "{text}");
            break;
        }
        assert!(Instant::now() < deadline, "it holds three quarters of all places");
    }
    let (status, text) = read_answer(&mut send("192.0.2.2", body.len(), &body));
    assert_eq!(status, 200, "{text}");
    drop(stalled);
    server.stop().await;
}

const PATH: &str = "/api/v2/payments";

/// A signed creation as it is written.
struct Head<'a> {
    merchant: MerchantId,
    nonce: &'a str,
    signature: &'a str,
    more: &'a str,
    length: usize,
}

impl Head<'_> {
    fn text(&self) -> String {
        let Self { merchant, nonce, signature, more, length } = self;
        format!(
            "POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Merchant-Id: {merchant}\r\n\
             X-Timestamp: {NOW}\r\nX-Nonce: {nonce}\r\nX-Signature-Version: v1\r\nX-Signature: {signature}\r\n\
             {more}\r\nContent-Length: {length}\r\n\r\n"
        )
    }
}

fn forged() -> String {
    format!("hmac_sha256={}", "0".repeat(64))
}

#[actix_web::test]
async fn bodies_that_are_only_announced_take_no_room_from_others() {
    let world = World::new();
    let merchant = world.merchant(ApiVersion::V2).await;
    let (_, secret) = world.credential(merchant).await;
    let server = Running::start(&world);
    let more = "Expect: 100-continue";
    let waiting: Vec<_> = (0..70)
        .map(|number| {
            let mut stream = server.connect();
            let (nonce, signature) = (format!("nonce-{number:04}"), forged());
            let head = Head { merchant, nonce: &nonce, signature: &signature, more, length: 1024 * 1024 };
            stream.write_all(head.text().as_bytes()).expect("written");
            // Its body is waited for from here on.
            assert_eq!(read_answer(&mut stream).0, 100);
            stream
        })
        .collect();
    let (nonce, body) = ("nonce-good", deposit("r-1").to_string());
    let signature = sign_request(&secret, &NOW.to_string(), nonce, "POST", PATH, body.as_bytes());
    let mut stream = server.connect();
    let head = Head { merchant, nonce, signature: &signature, more, length: body.len() };
    stream.write_all(head.text().as_bytes()).expect("written");
    assert_eq!(read_answer(&mut stream).0, 100);
    stream.write_all(body.as_bytes()).expect("written");
    let (status, text) = read_answer(&mut stream);
    assert_eq!(status, 200, "{text}");
    drop((waiting, stream));
    server.stop().await;
}

#[actix_web::test]
async fn one_address_that_fills_its_share_of_the_room_for_strangers_is_not_waited_for() {
    let mut world = World::new();
    world.settings.trusted_proxies = vec!["127.0.0.1".parse().expect("a network")];
    world.settings.limits.unauthenticated_per_minute = u32::MAX;
    world.settings.body_timeout = Duration::from_hours(1);
    let merchant = world.merchant(ApiVersion::V2).await;
    let (_, secret) = world.credential(merchant).await;
    let server = Running::start(&world);
    let (full, forged) = (1024 * 1024, forged());
    let greedy = Head {
        merchant,
        nonce: "nonce-0001",
        signature: &forged,
        more: "X-Forwarded-For: 192.0.2.1",
        length: full,
    };
    let mut stalled: Vec<_> = (0..8)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(greedy.text().as_bytes()).expect("written");
            stream.write_all(&vec![b' '; full - 1]).expect("written");
            stream
        })
        .collect();
    let (nonce, body) = ("nonce-good", deposit("r-1").to_string());
    let signature = sign_request(&secret, &NOW.to_string(), nonce, "POST", PATH, body.as_bytes());
    let more = "X-Forwarded-For: 192.0.2.2";
    let head = Head { merchant, nonce, signature: &signature, more, length: body.len() };
    let mut stream = server.connect();
    stream.write_all(format!("{}{body}", head.text()).as_bytes()).expect("written");
    let (status, text) = read_answer(&mut stream);
    assert_eq!(status, 200, "{text}");
    // The address that holds so much is not waited for, though bodies may take an hour.
    let deadline = Instant::now() + Duration::from_mins(1);
    let is_answered = |stream: &TcpStream| {
        stream.set_nonblocking(true).expect("a socket");
        let is_there = stream.peek(&mut [0]).is_ok_and(|bytes| bytes > 0);
        stream.set_nonblocking(false).expect("a socket");
        is_there
    };
    let mut answered = loop {
        if let Some(at) = stalled.iter().position(is_answered) {
            break stalled.swap_remove(at);
        }
        assert!(Instant::now() < deadline, "it is waited for");
        thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(read_answer(&mut answered).0, 408);
    drop((stalled, stream));
    server.stop().await;
}

#[actix_web::test]
async fn whose_callbacks_failed_too_often_is_not_waited_for() {
    let mut world = World::new();
    world.settings.limits.callbacks_per_minute = 1;
    world.settings.body_timeout = Duration::from_hours(1);
    let server = Running::start(&world);
    let head = "POST /api/v1/providers/patient/callbacks HTTP/1.1\r\nHost: x\r\nwebhook-signature: v1,forged\r\n\
                Content-Length: 2\r\n\r\n";
    let mut stream = server.connect();
    stream.write_all(format!("{head}{{}}").as_bytes()).expect("written");
    assert_eq!(read_answer(&mut stream).0, 401);
    stream.write_all(head.as_bytes()).expect("written");
    let (status, text) = read_answer(&mut stream);
    assert_eq!(status, 429, "{text}");
    drop(stream);
    server.stop().await;
}
