//! What those who watch a page hear.

use std::time::{Duration, Instant};

use quipu_tests::{Client, Database, Gateway, http_client, on_both_databases};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use super::{hosted, path_of, scheme::approve};

on_both_databases!(
    watchers_hear_of_every_change_and_the_stream_ends_with_the_payment,
    watchers_hear_of_what_is_decided_in_a_shell,
    the_stream_ends_when_the_process_stops,
);

/// The events of a stream as they come: each `id` with its data.
struct Stream {
    response: reqwest::Response,
    text: String,
}

impl Stream {
    async fn open(client: &Client, path: &str) -> Self {
        let http = http_client();
        let url = format!("{}{path}/events", client.base_url());
        let response = http.get(url).send().await.expect("an answer");
        assert_eq!(response.status(), 200);
        let kind = response.headers()["content-type"].to_str().expect("ASCII").to_owned();
        assert!(kind.starts_with("text/event-stream"), "{kind}");
        Self { response, text: String::new() }
    }

    /// The next event; `None` at the end of the stream.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                let field =
                    |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
                if let (Some(id), Some(data)) = (field("id:"), field("data:")) {
                    return Some((id.to_owned(), serde_json::from_str(data).expect("JSON")));
                }
                continue;
            }
            let piece = timeout(Duration::from_mins(1), self.response.chunk())
                .await
                .expect("it says something in time");
            let piece = piece.ok().flatten()?;
            self.text.push_str(std::str::from_utf8(&piece).expect("UTF-8"));
        }
    }
}

async fn watchers_hear_of_every_change_and_the_stream_ends_with_the_payment(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, visitor) = (gateway.merchant().await, gateway.anonymous());
    let created = merchant.api.create(&hosted("LKR", "redirectpay")).await.ok();
    let path = path_of(&created);
    let (mut one, mut other) = (Stream::open(&visitor, &path).await, Stream::open(&visitor, &path).await);
    for stream in [&mut one, &mut other] {
        let (id, snapshot) = stream.next().await.expect("how it stands");
        assert_eq!((id.as_str(), &snapshot["status"]), ("1", &json!("processing")));
        assert_eq!(snapshot["redirect_url"], created["redirect_url"]);
    }
    approve(&visitor, &created, "approve").await;
    for stream in [&mut one, &mut other] {
        let (id, snapshot) = stream.next().await.expect("the change");
        assert_eq!((id.as_str(), &snapshot["status"]), ("2", &json!("completed")));
        assert!(stream.next().await.is_none(), "nothing more will change");
    }
    let mut late = Stream::open(&visitor, &path).await;
    assert_eq!(late.next().await.expect("how it stands").1["status"], "completed");
    assert!(late.next().await.is_none());
    let of_old = through_http_1_0(&visitor, &format!("{path}/events")).await;
    assert!(!of_old.to_ascii_lowercase().contains("transfer-encoding"), "{of_old}");
    assert!(of_old.contains("\r\n\r\nretry: 2000\nid: 2\ndata: {"), "{of_old}");
}

/// The whole answer to a client of HTTP/1.0, which ends with its connection.
async fn through_http_1_0(client: &Client, path: &str) -> String {
    let address = client.base_url().trim_start_matches("http://");
    let mut socket = TcpStream::connect(address).await.expect("a connection");
    let request = format!("GET {path} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    socket.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.expect("UTF-8, to the end");
    answer
}

async fn watchers_hear_of_what_is_decided_in_a_shell(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let created = merchant.api.create(&hosted("MXN", "spei")).await.ok();
    let mut stream = Stream::open(&gateway.anonymous(), &path_of(&created)).await;
    assert_eq!(stream.next().await.expect("how it stands").1["status"], "processing");
    // Another process, and nothing of this one follows that could wake the stream.
    gateway.run(&["payment", "complete", created["transaction_id"].as_str().expect("an id")]).ok();
    assert_eq!(stream.next().await.expect("the change").1["status"], "completed");
}

async fn the_stream_ends_when_the_process_stops(database: Database) {
    let mut gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let path = path_of(&merchant.api.create(&hosted("MXN", "spei")).await.ok());
    let mut stream = Stream::open(&gateway.anonymous(), &path).await;
    stream.next().await.expect("how it stands");
    let asked = Instant::now();
    let ended = async {
        let end = stream.next().await;
        (end, asked.elapsed())
    };
    let (status, (end, after)) = tokio::join!(gateway.terminate(), ended);
    assert_eq!((status, end), (Some(0), None));
    // What is still under way 26 seconds after the signal is cut off; a stream is not waited for.
    assert!(after < Duration::from_secs(13), "{after:?}");
}
