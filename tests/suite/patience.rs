//! How long a connection may stay in each of its phases, with the limits that nobody has shortened.

use std::time::{Duration, Instant};

use quipu_tests::{Database, Gateway, draft, is_held};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::sleep,
};

use super::connections::address_of;

/// How long after the beginning of a connection that says this the gateway closes it. What comes before the
/// end is thrown away; one byte of `dribble` is sent every half second.
async fn ends(gateway: &Gateway, said: String, dribble: bool) -> Duration {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(address_of(gateway)).await.expect("a connection");
    stream.write_all(said.as_bytes()).await.expect("written");
    let (mut reads, mut writes) = stream.into_split();
    let dribbling = async {
        while dribble && writes.write_all(b" ").await.is_ok() {
            sleep(Duration::from_millis(500)).await;
        }
        std::future::pending::<()>().await;
    };
    let reading = async {
        let mut some = [0; 1024];
        while reads.read(&mut some).await.is_ok_and(|bytes| bytes > 0) {}
    };
    tokio::select! {
        () = reading => begun.elapsed(),
        () = dribbling => unreachable!("it never ends"),
    }
}

/// How long the system keeps the gateway's side of a connection whose client asks for much and reads nothing.
async fn keeps_unread(gateway: &Gateway) -> Duration {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(1).expect("a size");
    let mut stream = socket.connect(address_of(gateway)).await.expect("a connection");
    let begun = Instant::now();
    let request = "GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";
    stream.write_all(request.repeat(20).as_bytes()).await.expect("written");
    let own = stream.local_addr().expect("an address");
    while is_held(address_of(gateway), own) {
        sleep(Duration::from_millis(200)).await;
    }
    begun.elapsed()
}

/// What a stream that is read has sent after so long.
async fn streamed(gateway: &Gateway, long: Duration) -> String {
    let merchant = gateway.merchant().await;
    let mut hosted = draft::deposit_mxn(500);
    hosted["type"] = "deposit_pp".into();
    hosted["customer"]["email"] = "stay@simulator.test".into();
    let created = merchant.api.post("/api/v1/payments", &hosted).await.ok();
    let page = created["payment_page_url"].as_str().expect("a page");
    let path = page.trim_start_matches("http://").split_once('/').expect("a path").1;
    let mut stream = TcpStream::connect(address_of(gateway)).await.expect("a connection");
    let head = format!("GET /{path}/events HTTP/1.1\r\nHost: x\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("written");
    let mut sent = Vec::new();
    let reading = async { while stream.read_buf(&mut sent).await.expect("no reset") > 0 {} };
    let ended = tokio::time::timeout(long, reading).await;
    assert!(ended.is_err(), "it ended: {}", String::from_utf8_lossy(&sent));
    String::from_utf8(sent).expect("UTF-8")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it waits as long as a connection may be kept"]
async fn each_phase_of_a_connection_has_its_time_and_a_stream_that_is_read_goes_on() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let key = gateway.credential("/v1/api_key");
    let post = |key: &str| {
        format!(
            "POST /api/v1/payments HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n\
             Content-Length: 1000000\r\n\r\n"
        )
    };
    let healthy = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    let (idle, first, next, unauthorised, late, unread, events) = tokio::join!(
        ends(&gateway, healthy.to_owned(), false),
        ends(&gateway, "GET /healthz HTTP/1.1\r\nHost: ".to_owned(), false),
        ends(&gateway, format!("{healthy}GET /"), false),
        ends(&gateway, post("nonsense"), true),
        ends(&gateway, post(&key), true),
        keeps_unread(&gateway),
        streamed(&gateway, Duration::from_secs(50)),
    );
    for (what, took, at_least, at_most) in [
        ("an idle connection", idle, 70, 80),
        ("a first head", first, 8, 15),
        ("a later head", next, 13, 20),
        ("a body after 401", unauthorised, 0, 35),
        ("a body that is late", late, 28, 35),
        ("an answer that nobody reads", unread, 25, 35),
    ] {
        let bounds = Duration::from_secs(at_least)..=Duration::from_secs(at_most);
        assert!(bounds.contains(&took), "{what} ended after {took:?}");
    }
    assert!(events.contains("text/event-stream") && events.matches(":\n\n").count() >= 3, "{events}");
}
