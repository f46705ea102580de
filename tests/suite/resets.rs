//! Clients that reset their connection in mid-request harm nobody.

use quipu_tests::{Database, Gateway, draft, on_both_databases};
use serde_json::json;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpSocket, TcpStream},
    task::JoinSet,
};

on_both_databases!(a_thousand_resets_in_mid_request);

async fn a_thousand_resets_in_mid_request(database: Database) {
    const RESETS: usize = 1_000;
    const AT_ONCE: usize = 25;
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000_000).await;
    let key = merchant.issue(&json!({})).await["key"].as_str().expect("a key").to_owned();
    let address = gateway.anonymous().base_url().trim_start_matches("http://").to_owned();
    for round in 0..RESETS / AT_ONCE {
        let mut resets = JoinSet::new();
        for one in 0..AT_ONCE {
            let request = request(&key, &address, round + one);
            let address = address.clone();
            resets.spawn(async move {
                let stream = connect(&address).await;
                send_and_reset(stream, &request, round * AT_ONCE + one).await;
            });
        }
        resets.join_all().await;
        // Whoever comes next is served.
        merchant.create(&draft::withdrawal_ars(1)).await;
    }
    gateway.assert_no_panic();
    let id = merchant.create(&draft::withdrawal_ars(1)).await;
    merchant.wait_for(&id, "completed").await;
    gateway.check();
}

async fn connect(address: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    // Closing throws away what is unsent and answers with a reset instead of an orderly end.
    socket.set_zero_linger().expect("linger can be set");
    socket.connect(address.parse().expect("an address")).await.expect("the gateway listens")
}

fn request(key: &str, host: &str, which: usize) -> String {
    let (method, path, body) = match which % 4 {
        0 | 1 => ("POST", "/api/v1/payments", draft::withdrawal_ars(1).to_string()),
        2 => ("GET", "/api/v1/payments?limit=100", String::new()),
        _ => ("POST", "/api/v1/payments", draft::deposit_mxn(1).to_string()),
    };
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

/// Sends a part of the request, or all of it, and is gone before the answer.
async fn send_and_reset(mut stream: TcpStream, request: &str, which: usize) {
    let bytes = request.as_bytes();
    let part = if which.is_multiple_of(3) { bytes.len() } else { bytes.len() * (which % 97) / 97 };
    // The peer may have given up first; that is its right.
    let _ = stream.write_all(&bytes[..part]).await;
    for _ in 0..which % 5 {
        tokio::task::yield_now().await;
    }
    drop(stream);
}
