//! What becomes of creations when three times as many are asked for as can be had. The gateway and its database have one core,
//! and who asks has the others: on shared cores the asking would take the time that the answers need. The report says how
//! many times as many were asked for.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use quipu_tests::{Database, Setup};
use tokio::{io::AsyncWriteExt as _, net::TcpStream, task::JoinSet, time::sleep_until};

use crate::{
    Plan, caller_of,
    load::{self, Pressure, Request, microseconds, read_message},
    process,
    report::Row,
};

pub(crate) const CAPACITY: &str = "create deposit, capacity";
pub(crate) const ASKED: &str = "create deposit, overload: asked";
pub(crate) const ACCEPTED: &str = "create deposit, overload: accepted";

const TIMES: f64 = 3.0;
/// Enough to ask for clearly more than can be had. Over 1,500 each call waits so long for its answer that
/// hardly more are asked for than can be had, and over 8,000 no more are asked for than over these.
pub(crate) const CONNECTIONS: usize = 4_000;

/// What is had at 128 connections, and beyond.
pub(crate) async fn rates(database: Database, plan: Plan) -> Vec<Row> {
    let apart = Apart::begin(database);
    let gateway = Setup::new(database).set("SIMULATOR__DELAY", "1h").start().await;
    apart.leave_the_first_core();
    let caller = caller_of(&gateway.merchant().await).await;
    let address = crate::address_of(&gateway);
    let pressure = Pressure { connections: 128, time: plan.time };
    let capacity = load::press(address, pressure, caller.create_deposit()).expect("created");
    let asked = capacity.per_second * TIMES;
    let flood = Flood { per_second: asked, time: plan.time };
    let outcome = flood.let_loose(address, caller.create_deposit()).expect("answered");
    eprintln!(
        "capacity {:.0}/s, asked {:.0}/s, accepted {:.0}/s, p99 {} ms",
        capacity.per_second,
        outcome.asked,
        outcome.accepted,
        outcome.latency.value_at_quantile(0.99) / 1_000
    );
    gateway.check();
    let row = |operation, per_second, latency| Row {
        operation,
        callers: CONNECTIONS,
        per_second,
        latency,
        cost: None,
    };
    vec![
        Row { callers: 128, ..row(CAPACITY, capacity.per_second, capacity.latency) },
        row(ASKED, outcome.asked, microseconds()),
        row(ACCEPTED, outcome.accepted, outcome.latency),
    ]
}

/// Keeps the load generator and what it loads on different cores, and ends that when it is dropped. With one core
/// all share it.
struct Apart {
    cores: Vec<u32>,
    databases: Vec<u32>,
}

impl Apart {
    /// Until the load generator leaves it, what it starts runs on the first core too.
    fn begin(database: Database) -> Self {
        let databases = match database {
            Database::Postgres => process::of_database_server(),
            Database::Sqlite => Vec::new(),
        };
        let cores = process::cores();
        for &pid in databases.iter().chain([&std::process::id()]) {
            process::confine(pid, &cores[..1]);
        }
        Self { cores, databases }
    }

    fn leave_the_first_core(&self) {
        process::confine(std::process::id(), &self.cores[self.cores.len().min(2) - 1..]);
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        for &pid in self.databases.iter().chain([&std::process::id()]) {
            process::confine(pid, &self.cores);
        }
    }
}

/// So many calls a second, whatever becomes of them.
#[derive(Clone, Copy)]
struct Flood {
    per_second: f64,
    time: Duration,
}

/// What came of a flood: how many were asked for and accepted a second, and how long those took that were accepted.
struct Outcome {
    asked: f64,
    accepted: f64,
    latency: Histogram<u64>,
}

/// What one connection saw.
struct Seen {
    asked: u32,
    latency: Histogram<u64>,
}

impl Flood {
    fn let_loose(self, address: SocketAddr, request: Request) -> io::Result<Outcome> {
        let flooding = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(self.on_this_thread(address, request))
        });
        flooding.join().expect("the load generator does not panic")
    }

    async fn on_this_thread(self, address: SocketAddr, request: Request) -> io::Result<Outcome> {
        let (begin, turns) = (Instant::now(), Arc::new(AtomicU32::new(0)));
        let mut callers = JoinSet::new();
        for _ in 0..CONNECTIONS {
            callers.spawn(self.call(address, begin, Arc::clone(&turns), Arc::clone(&request)));
        }
        let mut outcome = Outcome { asked: 0.0, accepted: 0.0, latency: microseconds() };
        while let Some(seen) = callers.join_next().await {
            let seen = seen.map_err(io::Error::other)??;
            outcome.asked += f64::from(seen.asked) / self.time.as_secs_f64();
            outcome.latency.add(seen.latency).map_err(io::Error::other)?;
        }
        let accepted = u32::try_from(outcome.latency.len()).map_err(io::Error::other)?;
        outcome.accepted = f64::from(accepted) / self.time.as_secs_f64();
        Ok(outcome)
    }

    /// Takes turn after turn, each of which has its time. The first fifth of the time warms up and is not counted.
    async fn call(
        self,
        address: SocketAddr,
        begin: Instant,
        turns: Arc<AtomicU32>,
        request: Request,
    ) -> io::Result<Seen> {
        let counted_from = begin + self.time / 5;
        let end = counted_from + self.time;
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut seen = Seen { asked: 0, latency: microseconds() };
        let (mut outgoing, mut incoming) = (Vec::with_capacity(2_048), Vec::with_capacity(4_096));
        loop {
            let turn = turns.fetch_add(1, Ordering::Relaxed);
            let due = begin + Duration::from_secs_f64(f64::from(turn) / self.per_second);
            if due > Instant::now() {
                sleep_until(due.into()).await;
            }
            let sent = Instant::now();
            if sent >= end {
                return Ok(seen);
            }
            outgoing.clear();
            request(&mut outgoing);
            stream.write_all(&outgoing).await?;
            read_message(&mut stream, &mut incoming).await?;
            if sent < counted_from {
                continue;
            }
            seen.asked += 1;
            match incoming.get(9..12) {
                Some(b"200") => {
                    let elapsed = u64::try_from(sent.elapsed().as_micros()).unwrap_or(u64::MAX);
                    seen.latency.saturating_record(elapsed.max(1));
                }
                Some(b"503") => {}
                _ => return Err(io::Error::other(format!("{}", String::from_utf8_lossy(&incoming)))),
            }
        }
    }
}
