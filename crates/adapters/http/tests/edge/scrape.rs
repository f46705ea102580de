//! The metrics on a real socket: nobody keeps another scrape waiting.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use quipu_http::{Measured, serve_measured};
use socket2::SockRef;
use tokio::sync::Semaphore;

use crate::{
    running::{Running, read_answer},
    world::World,
};

const SCRAPE: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
/// How soon a scrape is served while others hold connections.
const SOON: Duration = Duration::from_secs(20);

/// Metrics whose first renderings wait until they are let go.
struct Metrics {
    text: String,
    asked: AtomicUsize,
    held_up: usize,
    let_go: Semaphore,
}

impl Metrics {
    fn new(bytes: usize, held_up: usize) -> Arc<Self> {
        let (asked, let_go) = (AtomicUsize::new(0), Semaphore::new(0));
        Arc::new(Self { text: "x".repeat(bytes), asked, held_up, let_go })
    }
}

#[async_trait]
impl Measured for Metrics {
    async fn render(&self) -> String {
        if self.asked.fetch_add(1, Ordering::Relaxed) < self.held_up {
            let _permit = self.let_go.acquire().await.expect("nobody closes it");
        }
        self.text.clone()
    }
}

fn serve(metrics: &Arc<Metrics>) -> Running {
    let (metrics, services) = (Arc::clone(metrics), World::new().services);
    Running::of(move |listener| serve_measured(listener, metrics, services.clock, services.entropy))
}

fn scrape(stream: &mut TcpStream) -> usize {
    stream.write_all(SCRAPE).expect("written");
    let (status, text) = read_answer(stream);
    assert_eq!(status, 200, "{text}");
    text.len()
}

/// Whether a new connection from the address 127.0.0.`last` is served.
fn is_served(server: &Running, last: u8) -> bool {
    let (mut stream, mut answer) = (server.connect_from(last), Vec::new());
    let asked = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    asked.and_then(|()| stream.read_to_end(&mut answer)).is_ok() && answer.starts_with(b"HTTP/1.1 200")
}

#[actix_web::test]
async fn who_begins_another_scrape_and_stops_is_not_waited_for() {
    let server = serve(&Metrics::new(10, 0));
    let mut stream = server.connect();
    assert_eq!(scrape(&mut stream), 10);
    stream.write_all(b"G").expect("written");
    let (status, text) = read_answer(&mut stream);
    assert_eq!((status, text.contains("REQUEST_TIMEOUT")), (408, true), "{text}");
    assert_eq!(stream.read(&mut [0]).expect("the end"), 0);
    server.stop().await;
}

#[actix_web::test]
async fn more_clients_than_places_that_begin_a_scrape_and_stop_lock_nobody_out() {
    let server = serve(&Metrics::new(10, 0));
    let held: Vec<_> = (0..60)
        .map(|number| {
            let mut stream = server.connect_from(10 + number);
            // Beyond some number a client may get no place at first, or lose it to the next one.
            let _ = stream.write_all(SCRAPE).and_then(|()| stream.read(&mut [0; 1024]));
            let _ = stream.write_all(b"G");
            stream
        })
        .collect();
    let deadline = Instant::now() + SOON;
    while !is_served(&server, 9) {
        assert!(Instant::now() < deadline, "nobody makes room");
    }
    drop(held);
    server.stop().await;
}

#[actix_web::test]
async fn scrapes_that_take_long_or_are_not_read_keep_no_other_waiting() {
    let metrics = Metrics::new(8 * 1024 * 1024, 3);
    let server = serve(&metrics);
    let ask = |bytes: &[u8]| {
        let mut stream = server.connect();
        stream.write_all(bytes).expect("written");
        stream
    };
    let mut slow: Vec<_> = (0..3).map(|_| ask(SCRAPE)).collect();
    let deadline = Instant::now() + SOON;
    while metrics.asked.load(Ordering::Relaxed) < 3 {
        assert!(Instant::now() < deadline, "they are not asked at once");
        thread::yield_now();
    }
    let deaf: Vec<_> = (0..3).map(|_| ask(SCRAPE)).collect();
    for stream in &deaf {
        // Its answer has begun, and most of it finds no room.
        SockRef::from(stream).peek(&mut [std::mem::MaybeUninit::uninit()]).expect("an answer");
    }
    let halting: Vec<_> = (0..3).map(|_| ask(&SCRAPE[..20])).collect();
    assert!(is_served(&server, 1));
    assert!(is_served(&server, 2));
    metrics.let_go.add_permits(1);
    for stream in &mut slow {
        assert_eq!(read_answer(stream).1.len(), 8 * 1024 * 1024);
    }
    drop((slow, deaf, halting));
    server.stop().await;
}

#[actix_web::test]
async fn other_paths_are_told_where_the_metrics_are_and_a_body_is_not_waited_for() {
    let server = serve(&Metrics::new(10, 0));
    let mut stream = server.connect();
    stream.write_all(b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n").expect("written");
    assert!(crate::running::read_head(&mut stream).contains("content-length: 10\r\n"));
    stream.write_all(b"OPTIONS /metrics HTTP/1.1\r\nHost: x\r\n\r\n").expect("written");
    let allowed = crate::running::read_head(&mut stream);
    assert!(
        allowed.starts_with("http/1.1 204") && allowed.contains("allow: get, head, options\r\n"),
        "{allowed}"
    );
    // It has no body, and is not taken for a refusal by the web server.
    stream.write_all(b"HEAD /nope HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\n\r\n").expect("written");
    let nothing = crate::running::read_head(&mut stream);
    assert!(nothing.starts_with("http/1.1 404") && nothing.contains("x-request-id: mine\r\n"), "{nothing}");
    stream.write_all(b"GET /metric HTTP/1.1\r\nHost: x\r\n\r\n").expect("written");
    assert_eq!(read_answer(&mut stream), (404, "metrics are at /metrics\n".to_owned()));
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}").expect("written");
    assert_eq!(read_answer(&mut stream).0, 200);
    assert_eq!(scrape(&mut stream), 10);
    stream.write_all(b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n").expect("written");
    assert_eq!(read_answer(&mut stream).0, 405);
    assert_eq!(stream.read(&mut [0]).expect("the end"), 0);
    server.stop().await;
}
