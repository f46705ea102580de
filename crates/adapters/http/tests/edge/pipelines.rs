//! Requests that come behind others on one connection, and what might make the server lose where one ends.

use std::io::{Read, Write};

use crate::{
    running::{Running, read_answer},
    sockets::{is_alive, post, post_in_chunks},
    world::{World, deposit},
};

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

/// Sends a text, and reads until the server ends the connection.
fn all_answers(server: &Running, text: &str) -> String {
    let mut stream = server.connect();
    // The server may have answered and closed before it has read all, and what it did not read resets the connection.
    let _ = stream.write_all(text.as_bytes());
    let mut answers = Vec::new();
    let _ = stream.read_to_end(&mut answers);
    String::from_utf8(answers).expect("UTF-8")
}

fn balance(key: &str) -> String {
    format!("GET /api/v1/balance HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\n\r\n")
}

/// A head with an offer to upgrade.
fn offering(head: &str, offer: &str) -> String {
    head.replacen("\r\n", &format!("\r\n{offer}\r\n"), 1)
}

const OFFERS: [&str; 4] = [
    "Upgrade: websocket\r\nConnection: Upgrade",
    "UPGRADE: websocket",
    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA",
    "Connection: upgrade",
];

#[actix_web::test]
async fn an_offer_to_upgrade_is_ignored() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let server = Running::start(&world);
    for (number, offer) in OFFERS.into_iter().enumerate() {
        for piece in [7, 10_000] {
            let body = deposit(&format!("r-{number}-{piece}")).to_string();
            let post = format!("{}{body}", offering(&post(&key, body.len()), offer));
            let mut stream = server.connect();
            for bytes in format!("{}{post}{HEALTH}", offering(HEALTH, offer)).as_bytes().chunks(piece) {
                stream.write_all(bytes).expect("written");
                server.until_read(&stream);
            }
            for _ in 0..3 {
                let (status, body) = read_answer(&mut stream);
                assert_eq!(status, 200, "{offer}: {body}");
            }
            is_alive(&mut stream);
        }
        for (chunk, expected) in [("zz\r\n", 400), ("8000000000000000\r\nabc", 413)] {
            let mut stream = server.connect();
            let text = format!("{}{chunk}", offering(&post_in_chunks(&key), offer));
            stream.write_all(text.as_bytes()).expect("written");
            assert_eq!(read_answer(&mut stream).0, expected, "{offer} {chunk}");
        }
    }
    server.stop().await;
}

#[actix_web::test]
async fn what_the_server_refuses_by_itself_has_our_shape_behind_others_too() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let server = Running::start(&world);
    let too_large = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "a".repeat(300_000));
    for (number, (bad, code)) in [
        ("BAD\r\n\r\n", "VALIDATION_FAILED"),
        ("GET / HTTP/1.1\r\n\r\n", "VALIDATION_FAILED"),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", "VALIDATION_FAILED"),
        (&too_large, "HEADERS_TOO_LARGE"),
    ]
    .into_iter()
    .enumerate()
    {
        let body = deposit(&format!("r-{number}")).to_string();
        let post = format!("{}{body}", post(&key, body.len()));
        let of_old = HEALTH.replace("HTTP/1.1", "HTTP/1.0\r\nConnection: keep-alive");
        let long = format!("{HEALTH}{}{HEALTH}", balance(&key));
        for good in [HEALTH, &balance(&key), &post, &of_old, &long] {
            let answers = all_answers(&server, &format!("{good}{bad}")).to_lowercase();
            let expected = good.matches(" HTTP/1.").count() + 1;
            assert_eq!(answers.matches("http/1.").count(), expected, "{answers}");
            assert_eq!(answers.matches("x-request-id: ").count(), expected, "{answers}");
            assert!(answers.contains(&code.to_lowercase()), "{answers}");
        }
    }
    server.stop().await;
}

#[actix_web::test]
async fn what_comes_behind_the_last_request_is_not_done() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let server = Running::start(&world);
    let body = deposit("r-1").to_string();
    let post = format!("{}{body}", post(&key, body.len()));
    for last in [
        "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "GET /healthz HTTP/1.0\r\n\r\n",
        "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n",
        "CONNECT /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
    ] {
        let answers = all_answers(&server, &format!("{HEALTH}{last}{post}"));
        assert_eq!(answers.matches("HTTP/1.").count(), 2, "{answers}");
        assert_eq!(answers.to_lowercase().matches("x-request-id: ").count(), 2, "{answers}");
    }
    let mut stream = server.connect();
    stream.write_all(post.as_bytes()).expect("written");
    assert_eq!(read_answer(&mut stream).0, 200, "its reference is free");
    server.stop().await;
}

/// Nobody wants the body of such a request, and the next one begins behind it all the same.
#[actix_web::test]
async fn a_question_for_methods_ends_where_its_body_ends() {
    let world = World::new();
    let server = Running::start(&world);
    let head = |lines: &str| format!("OPTIONS /api/v1/payments HTTP/1.1\r\nHost: x\r\n{lines}\r\n\r\n");
    let chunked = "Transfer-Encoding: chunked";
    let last = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

    // More than is passed on at once: its end is still held when its head could be answered.
    let long = head(&format!("X: {}\r\n{chunked}", "y".repeat(31_600)));
    let (begun, rest) = long.split_at(31_000);
    let mut stream = server.connect();
    stream.write_all(begun.as_bytes()).expect("written");
    server.until_read(&stream);
    let rest = format!("{rest}7d0\r\n{}\r\n0\r\n\r\n", "x".repeat(2_000));
    assert!(begun.len() + rest.len() > 32_768 && long.len() < 32_768);
    stream.write_all(rest.as_bytes()).expect("written");
    assert_eq!(read_answer(&mut stream).0, 204);
    stream.write_all(format!("{last}{last}").as_bytes()).expect("written");
    assert_eq!(read_answer(&mut stream), (200, r#"{"status":"ok"}"#.to_owned()));
    let mut more = Vec::new();
    let _reset_or_closed = stream.read_to_end(&mut more);
    assert!(more.is_empty(), "what comes behind the last request is not done");

    let mut stream = server.connect();
    stream.write_all(format!("{}1\r\nx\r\n0\r\n\r\n", head(chunked)).as_bytes()).expect("written");
    assert_eq!(read_answer(&mut stream).0, 204);
    is_alive(&mut stream);

    // A body that is held back, or is none, is not waited for.
    for text in [head(&format!("Expect: 100-continue\r\n{chunked}")), format!("{}zz\r\n", head(chunked))] {
        let mut stream = server.connect();
        stream.write_all(text.as_bytes()).expect("written");
        assert_eq!(read_answer(&mut stream).0, 204, "{text}");
        let mut more = Vec::new();
        let _reset_or_closed = stream.read_to_end(&mut more);
        assert!(more.is_empty(), "{text}");
    }
    server.stop().await;
}

#[actix_web::test]
async fn a_long_pipeline_is_answered_in_its_order() {
    let world = World::new();
    let (_, key) = world.merchant_with_key().await;
    let server = Running::start(&world);
    let post = format!("{}{}", post(&key, 3_000), "x".repeat(3_000));
    let all = format!("{post}{HEALTH}").repeat(25);
    for piece in [1_111, 1_000_000] {
        let mut stream = server.connect();
        let mut writing = stream.try_clone().expect("a socket");
        let all = all.clone();
        let writer = std::thread::spawn(move || {
            for bytes in all.as_bytes().chunks(piece) {
                writing.write_all(bytes).expect("written");
            }
        });
        for number in 0..50 {
            let expected = if number % 2 == 0 { 400 } else { 200 };
            assert_eq!(read_answer(&mut stream).0, expected, "{number}");
        }
        writer.join().expect("no panic");
        is_alive(&mut stream);
    }
    server.stop().await;
}
