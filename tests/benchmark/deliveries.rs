//! What webhooks cost and how fast they go out, to a receiver that answers at once.

use std::{
    collections::HashMap,
    net::Ipv4Addr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use quipu_tests::{Database, Gateway, Merchant, Setup, draft};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::{
    Plan, address_of, caller_of, creations, filler_of,
    load::{self, Pressure},
    process,
    report::Row,
};

pub(crate) const PLAIN: &str = "create deposit, no webhook";
pub(crate) const HEARD: &str = "create deposit, one webhook";
const BACKLOG: &str = "deliver what is left at the end";
/// Where deliveries kept up with creations there is no rate.
const NO_BACKLOG: &str = "deliver what is left at the end: nothing is left";
pub(crate) const DRAIN: &str = "deliver a backlog";
const ANSWER: &str = "create deposit, 20 payments a second";
const ARRIVAL: &str = "from sending a creation to arrival, 20 payments a second";

/// The log of an endpoint that has as many deliveries as the merchant has payments in the other measurements.
pub(crate) const LOG: &str = "webhook log: first page";
const LOG_FAILED: &str = "webhook log: failed only, of which there are none";
const LOG_DELIVERED: &str = "webhook log: delivered only";
const LOG_DEEP: &str = "webhook log: from 500,000 on";

/// How many payments the latency is measured with.
const TIMED: u32 = 400;

/// All rows of one database, and the most memory that any of the gateway's processes had, in mebibytes.
pub(crate) async fn rates(database: Database, plan: Plan) -> (Vec<Row>, f64) {
    let receiver = Ear::open();
    let mut gateway = Setup::new(database).set("SIMULATOR__DELAY", "1h").start().await;
    let (quiet, told) = (gateway.merchant().await, gateway.merchant().await);
    let endpoint = json!({ "url": format!("http://127.0.0.1:{}/", receiver.port) });
    told.fund("ARS", 1_000_000_000).await;
    let endpoint = told.api.post("/api/v1/webhooks", &endpoint).await.data();
    let (quiet, hearing) = (caller_of(&quiet).await, caller_of(&told).await);
    let mut rows = vec![creations(&gateway, &quiet, PLAIN, plan), creations(&gateway, &hearing, HEARD, plan)];
    let rest = receiver.catch_up(BACKLOG, total(&told).await).await;
    rows.push(if rest.per_second > 0.0 { rest } else { Row { operation: NO_BACKLOG, ..rest } });
    let (answered, arrived) = arrivals(ARRIVAL, &receiver, &told).await;
    rows.extend([answered, arrived]);
    let mut peak = peak_of(&gateway);
    rows.push(drain(&receiver, &mut gateway, &told, plan.payments / 10).await);
    peak = peak.max(peak_of(&gateway));
    let _all_of_them = drain(&receiver, &mut gateway, &told, plan.payments).await;
    let log = format!("/api/v1/webhooks/{}/events", endpoint["id"].as_str().expect("an id"));
    for (operation, filter) in [
        (LOG, ""),
        (LOG_FAILED, "?status=failed"),
        (LOG_DELIVERED, "?status=delivered"),
        (LOG_DEEP, "?offset=500000"),
    ] {
        let pressure = Pressure { connections: 1, time: plan.time };
        let outcome =
            load::press(address_of(&gateway), pressure, hearing.get_path(&format!("{log}{filter}")));
        let outcome = outcome.unwrap_or_else(|error| panic!("{operation}: {error}"));
        eprintln!("{operation}: {:.0}/s", outcome.per_second);
        let (per_second, latency) = (outcome.per_second, outcome.latency);
        rows.push(Row { operation, callers: 1, per_second, latency, cost: None });
    }
    (rows, peak.max(peak_of(&gateway)))
}

/// The most memory that the gateway's present process had, in mebibytes.
pub(crate) fn peak_of(gateway: &Gateway) -> f64 {
    process::memory_mebibytes(gateway.pid()).1
}

/// Every payment tells of its creation.
pub(crate) async fn total(merchant: &Merchant) -> u64 {
    merchant.api.get("/api/v1/payments?limit=1").await.ok()["total"].as_u64().expect("a total")
}

/// A backlog that was made while no gateway ran.
async fn drain(ear: &Ear, gateway: &mut Gateway, merchant: &Merchant, count: usize) -> Row {
    gateway.terminate().await;
    let mut filler = filler_of(gateway, merchant).await;
    filler.fill(count).await;
    drop(filler);
    gateway.restart().await;
    ear.catch_up(DRAIN, total(&merchant.moved_to(gateway)).await).await
}

/// From the sending of a creation until it is answered, and until its event arrives, at 20 payments a second. Both follow
/// the same commit.
pub(crate) async fn arrivals(operation: &'static str, ear: &Ear, merchant: &Merchant) -> (Row, Row) {
    ear.times.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let mut sent = HashMap::new();
    let mut answers = load::microseconds();
    let mut beat = tokio::time::interval(Duration::from_millis(50));
    for _ in 0..TIMED {
        beat.tick().await;
        let draft = draft::deposit_mxn(100);
        let at = Instant::now();
        sent.insert(draft["merchant_reference"].as_str().expect("a reference").to_owned(), at);
        merchant.create(&draft).await;
        record(&mut answers, at.elapsed());
    }
    let mut latency = load::microseconds();
    for (reference, at) in sent {
        record(&mut latency, ear.arrival_of(&reference).await - at);
    }
    eprintln!(
        "{operation}: p50 {} µs, p99 {} µs",
        latency.value_at_quantile(0.5),
        latency.value_at_quantile(0.99)
    );
    let row = |operation, latency| Row { operation, callers: 1, per_second: 20.0, latency, cost: None };
    (row(ANSWER, answers), row(operation, latency))
}

fn record(latency: &mut Histogram<u64>, took: Duration) {
    latency.saturating_record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1));
}

/// A receiver on a thread of its own that counts, and keeps when each reference came.
pub(crate) struct Ear {
    pub(crate) port: u16,
    heard: Arc<AtomicU64>,
    times: Arc<Mutex<HashMap<String, Instant>>>,
}

impl Ear {
    pub(crate) fn open() -> Self {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let port = listener.local_addr().expect("bound").port();
        let ear = Self { port, heard: Arc::default(), times: Arc::default() };
        let (heard, times) = (Arc::clone(&ear.heard), Arc::clone(&ear.times));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async move {
                let listener = TcpListener::from_std(listener).expect("a listener");
                while let Ok((connection, _)) = listener.accept().await {
                    // A sender that closes its connection has nothing more to say.
                    tokio::spawn(hear(connection, Arc::clone(&heard), Arc::clone(&times)));
                }
            });
        });
        ear
    }

    /// Waits until so many have come, and tells how fast the rest of them came.
    pub(crate) async fn catch_up(&self, operation: &'static str, total: u64) -> Row {
        let (begun, before) = (Instant::now(), self.heard.load(Ordering::Relaxed));
        let end = begun + Duration::from_mins(10);
        while self.heard.load(Ordering::Relaxed) < total {
            assert!(
                Instant::now() < end,
                "{operation}: only {} of {total}",
                self.heard.load(Ordering::Relaxed)
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let left = u32::try_from(total.saturating_sub(before)).expect("a few million at most");
        let per_second = f64::from(left) / begun.elapsed().as_secs_f64();
        eprintln!("{operation}: {left} in {:.1?}, {per_second:.0}/s", begun.elapsed());
        let mut latency = load::microseconds();
        if left > 0 {
            record(&mut latency, begun.elapsed());
        }
        Row { operation, callers: 0, per_second, latency, cost: None }
    }

    async fn arrival_of(&self, reference: &str) -> Instant {
        let end = Instant::now() + Duration::from_mins(1);
        loop {
            if let Some(at) = self.times.lock().unwrap_or_else(PoisonError::into_inner).get(reference) {
                return *at;
            }
            assert!(Instant::now() < end, "{reference} never came");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

async fn hear(mut connection: TcpStream, heard: Arc<AtomicU64>, times: Arc<Mutex<HashMap<String, Instant>>>) {
    let mut buffer = Vec::with_capacity(16_384);
    loop {
        match connection.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        while let Some(whole) = load::whole_message(&buffer) {
            let message: Vec<u8> = buffer.drain(..whole).collect();
            let at = Instant::now();
            heard.fetch_add(1, Ordering::Relaxed);
            if let Some(reference) = reference_in(&message) {
                times.lock().unwrap_or_else(PoisonError::into_inner).insert(reference, at);
            }
            if connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.is_err() {
                return;
            }
        }
    }
}

/// The merchant's reference in a delivery, read without its other members.
fn reference_in(message: &[u8]) -> Option<String> {
    const MEMBER: &str = "\"merchant_reference\":\"";
    let text = std::str::from_utf8(message).ok()?;
    let from = text.find(MEMBER)? + MEMBER.len();
    text[from..].split('"').next().map(str::to_owned)
}
