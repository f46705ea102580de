//! What a merchant reads while it creates: each creation changes its first page and the count on it, so that no answer is
//! good for long.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use quipu_tests::Gateway;
use tokio::{task::JoinSet, time::sleep_until};

use crate::{
    CALLERS, LIST, Plan, address_of,
    load::{self, Connection, Pressure, Request},
    process,
    report::Row,
    workload::Caller,
};

pub(crate) const GET: &str = "get, while it creates";
pub(crate) const FIRST_PAGE: &str = "list first page, while it creates";

/// Creations a second beside what is measured.
pub(crate) const A_SECOND: u32 = 500;
/// Over so many connections they keep their pace where one takes up to thirty milliseconds.
const CONNECTIONS: usize = 16;

/// A get and a first page beside the creations of the same merchant.
pub(crate) fn rates(gateway: &Gateway, caller: &Caller, plan: Plan) -> Vec<Row> {
    let address = address_of(gateway);
    let mut rows = Vec::new();
    for (operation, request) in [(GET, caller.get()), (FIRST_PAGE, caller.get_path(LIST))] {
        for callers in CALLERS {
            let creations = Creations::begin(address, caller.create_deposit());
            let pressure = Pressure { connections: callers, time: plan.time };
            let outcome = load::press(address, pressure, Arc::clone(&request))
                .unwrap_or_else(|error| panic!("{operation} x{callers}: {error}"));
            let created = creations.end().unwrap_or_else(|error| panic!("{operation} x{callers}: {error}"));
            eprintln!("{operation} x{callers}: {:.0}/s beside {created:.0} creations/s", outcome.per_second);
            rows.push(Row {
                operation,
                callers,
                per_second: outcome.per_second,
                latency: outcome.latency,
                // The processor's time is that of the creations too.
                cost: Some((f64::NAN, process::memory_mebibytes(gateway.pid()).0)),
            });
        }
    }
    rows
}

/// Creations at a steady pace, on a thread of their own, until they are ended.
struct Creations {
    begun: Instant,
    turns: Arc<AtomicU32>,
    ended: Arc<AtomicBool>,
    sending: JoinHandle<io::Result<()>>,
}

impl Creations {
    fn begin(address: SocketAddr, request: Request) -> Self {
        let (begun, turns, ended) =
            (Instant::now(), Arc::<AtomicU32>::default(), Arc::<AtomicBool>::default());
        let (taken, stopped) = (Arc::clone(&turns), Arc::clone(&ended));
        let sending = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let mut sending = JoinSet::new();
                for _ in 0..CONNECTIONS {
                    let connection = Connection::open(address, Arc::clone(&request)).await?;
                    sending.spawn(create(connection, begun, Arc::clone(&taken), Arc::clone(&stopped)));
                }
                while let Some(sent) = sending.join_next().await {
                    sent.map_err(io::Error::other)??;
                }
                Ok(())
            })
        });
        Self { begun, turns, ended, sending }
    }

    /// Stops, and says how many were created a second.
    fn end(self) -> io::Result<f64> {
        self.ended.store(true, Ordering::Relaxed);
        self.sending.join().expect("the load generator does not panic")?;
        Ok(f64::from(self.turns.load(Ordering::Relaxed)) / self.begun.elapsed().as_secs_f64())
    }
}

/// Takes turn after turn, each of which has its time.
async fn create(
    mut connection: Connection,
    begun: Instant,
    turns: Arc<AtomicU32>,
    ended: Arc<AtomicBool>,
) -> io::Result<()> {
    while !ended.load(Ordering::Relaxed) {
        let turn = turns.fetch_add(1, Ordering::Relaxed);
        sleep_until((begun + Duration::from_secs(1) * turn / A_SECOND).into()).await;
        connection.call().await?;
    }
    Ok(())
}
