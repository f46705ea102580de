//! What no honest client sends: each gets a clear refusal in the right shape, and never a word of SQL.

use std::time::Duration;

use quipu_tests::{
    Answer, Database, Gateway, Table,
    draft::{self, with},
    on_both_databases,
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

on_both_databases!(
    bytes_that_are_no_json,
    text_that_databases_dislike,
    paths_and_headers_with_odd_bytes,
    bodies_that_never_end,
);

/// A refusal in one of the specified shapes that tells nothing of the inside.
fn is_clear_refusal(answer: &Answer) -> Result<(), String> {
    let body: Value = serde_json::from_str(&answer.text).map_err(|error| format!("{error}: {answer}"))?;
    let shaped =
        body["statusCode"] == answer.status && body["error_code"].is_string() && !body["message"].is_null();
    if !(400..500).contains(&answer.status) || !shaped {
        return Err(format!("not a refusal in shape: {answer}"));
    }
    tells_nothing(answer)
}

fn tells_nothing(answer: &Answer) -> Result<(), String> {
    let told = ["SELECT", "INSERT", "sqlite", "postgres", "diesel", "UNIQUE", "panicked", "src/", "serde"];
    match told.iter().find(|word| answer.text.contains(**word)) {
        Some(word) => Err(format!("the answer speaks of {word}: {answer}")),
        None => Ok(()),
    }
}

async fn bytes_that_are_no_json(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let good = draft::deposit_mxn(100).to_string();
    let nested =
        |open: &str, close: &str, depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
    let in_member = |inner: String| good.replacen('{', &format!("{{\"x\":{inner},"), 1);
    let bodies: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("a space", b" ".to_vec()),
        ("half", good.as_bytes()[..good.len() / 2].to_vec()),
        ("twice", format!("{good}{good}").into_bytes()),
        ("trailing comma", good.replace('}', ",}").into_bytes()),
        ("single quotes", good.replace('"', "'").into_bytes()),
        ("an array", format!("[{good}]").into_bytes()),
        ("a string", b"\"text\"".to_vec()),
        ("a number", b"7".to_vec()),
        ("null", b"null".to_vec()),
        ("not UTF-8", [good.as_bytes(), b"\xff\xfe"].concat()),
        ("a raw control character", good.replace("Ana", "A\u{0}").into_bytes()),
        ("UTF-16", good.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("a lone surrogate", good.replace("Ana", "\\ud800").into_bytes()),
        ("deep arrays", nested("[", "]", 100_000).into_bytes()),
        ("deep objects", nested("{\"a\":", "}", 50_000).into_bytes()),
        ("deep within an ignored member", in_member(nested("[", "]", 100_000)).into_bytes()),
        ("10 MB", vec![b'['; 10_000_000]),
        ("a 10 MB string", format!("\"{}\"", "x".repeat(10_000_000)).into_bytes()),
        ("NaN", good.replace("100", "NaN").into_bytes()),
        ("a member twice", good.replacen('{', "{\"amount\":100,", 1).into_bytes()),
    ];
    let mut table = Table::new();
    for (name, body) in bodies {
        let answer = merchant.api.post_bytes("/api/v1/payments", body).await;
        table.note(name, is_clear_refusal(&answer));
    }
    table.finish();
    merchant.create(&draft::deposit_mxn(100)).await;
    gateway.assert_no_panic();
}

async fn text_that_databases_dislike(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let mut table = Table::new();
    // NUL is a control character, which no single-line text may have.
    for pointer in [
        "/merchant_reference",
        "/customer/name",
        "/customer/email",
        "/customer/phone",
        "/external_id",
        "/note",
    ] {
        let answer = merchant.api.create(&with(draft::deposit_mxn(100), pointer, json!("a\u{0}b"))).await;
        table.note(pointer, is_clear_refusal(&answer));
    }
    // The rest is odd but legal, and comes back as it was sent.
    let texts = [
        "'; DROP TABLE payments; --",
        "Robert\"); DELETE FROM payments;",
        "\u{202e}right to left",
        "zero\u{200b}width",
        "👩‍👩‍👧‍👦 family",
        "e\u{301} combining",
        "\u{fffd}\u{ffff}\u{10ffff}",
        "%s%n%x {0} ${jndi:ldap://x}",
        "<script>alert(1)</script>",
        "\\u0000",
    ];
    for text in texts {
        for pointer in ["/customer/name", "/note", "/external_id"] {
            let answer = merchant.api.create(&with(draft::deposit_mxn(100), pointer, json!(text))).await;
            table.accepted(format!("{pointer} {text:?}"), &answer);
            let id = answer.json()["transaction_id"].as_str().unwrap_or_default().to_owned();
            let record = merchant.api.payment(&id).await;
            assert_eq!(record.pointer(pointer), Some(&json!(text)));
        }
    }
    table.finish();
    gateway.assert_no_panic();
}

async fn paths_and_headers_with_odd_bytes(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let mut table = Table::new();
    let long = format!("/api/v1/payments/{}", "a".repeat(4_000));
    let paths = [
        "/api/v1/payments/%00",
        "/api/v1/payments/%FF%FE",
        "/api/v1/payments/'%20OR%201=1",
        "/api/v1/payments/..%2f..%2fetc%2fpasswd",
        "/api/v1/merchants/abc/balance",
        "/api/v1/merchants/99999999999999999999/balance",
        "/api/v1/merchants/-1/balance",
        "/api/v1/merchants/0/balance/all",
        &long,
    ];
    for path in paths {
        table.note(path, is_clear_refusal(&merchant.api.get(path).await));
    }
    let long = "k".repeat(5_000);
    for key in ["", " ", "qp_test_sk_", "qp_test_sk_x", "' OR 1=1 --", "ключ", &long] {
        let answer =
            gateway.anonymous().send(Method::GET, "/api/v1/balance", None, &[("X-API-Key", key)]).await;
        table.note(format!("key {key:?}"), is_clear_refusal(&answer));
        table.note(
            format!("key {key:?} is 401"),
            (answer.status == 401).then_some(()).ok_or(answer.to_string()),
        );
    }
    for header in ["Bearer", "Bearer ", "Bearer x.y.z", "Basic dXNlcjpwYXNz", "Bearer \u{ff}"] {
        let answer = gateway
            .anonymous()
            .send(Method::GET, "/api/v1/balance", None, &[("Authorization", header)])
            .await;
        table.note(format!("Authorization {header:?}"), is_clear_refusal(&answer));
    }
    table.finish();
    gateway.assert_no_panic();
}

/// Says more is to come than comes, and what a server makes of it.
async fn raw(gateway: &Gateway, request: &str) -> String {
    let address = gateway.anonymous().base_url().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(address).await.expect("the gateway listens");
    stream.write_all(request.as_bytes()).await.expect("the gateway reads");
    stream.shutdown().await.expect("the sending side closes");
    let mut answer = Vec::new();
    // A reset after the answer is as good as an orderly end.
    let _ = timeout(Duration::from_mins(1), stream.read_to_end(&mut answer)).await.expect("it ends");
    String::from_utf8_lossy(&answer).into_owned()
}

async fn bodies_that_never_end(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let key = merchant.issue(&json!({})).await["key"].as_str().expect("a key").to_owned();
    let head = format!(
        "POST /api/v1/payments HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n"
    );
    let requests = [
        (format!("{head}Content-Length: 100\r\n\r\n{{\"amount\":"), "400"),
        (format!("{head}Content-Length: -1\r\n\r\n"), "400"),
        (format!("{head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}"), "400"),
        (format!("{head}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{{}}"), "413"),
        (format!("{head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{{}}\r\n"), "400"),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), "400"),
        ("\0\0\0\0\r\n\r\n".to_owned(), "400"),
        (format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(200_000)), "431"),
    ];
    let mut table = Table::new();
    for (request, expected) in requests {
        let answer = raw(&gateway, &request).await;
        let status = answer.get(9..12).unwrap_or("none");
        let verdict = if status == expected {
            Ok(())
        } else {
            Err(format!("{status} instead of {expected}: {answer}"))
        };
        table.note(&request[..request.len().min(200)], verdict);
    }
    table.finish();
    merchant.create(&draft::deposit_mxn(100)).await;
    gateway.assert_no_panic();
}
