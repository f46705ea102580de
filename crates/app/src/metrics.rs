//! `/metrics` for Prometheus, on an address of its own.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::{Context, Result, anyhow};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use quipu_commit::{Queue, QueueState, WorkQueue};
use quipu_kernel::{Clock, Timestamp};
use quipu_payments::DueAction;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tracing_appender::non_blocking::ErrorCounter;

use crate::{logging::Logging, workers::StopSignal};

/// Upper bounds of latency buckets, in seconds.
const SECONDS: [f64; 12] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 15.0];
/// Upper bounds of buckets of batches, in changes.
const BATCHES: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
/// A scraper sends a short request at once, and reads the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the database may take to tell what waits; a scrape must not wait for it much longer than for the rest.
const GLANCE: Duration = Duration::from_secs(1);
/// How long to leave the system alone that has no descriptor for another connection.
const RECOVERY: Duration = Duration::from_secs(1);
/// Longer requests are nobody's who only wants to read metrics.
const LONGEST_REQUEST: usize = 8 * 1024;

/// What counters count.
const COUNTERS: [(&str, &str); 3] = [
    ("quipu_requests_total", "Calls by method, route and class of status"),
    ("quipu_rate_limited_total", "Calls refused because their rate was too high"),
    (LOG_LINES_LOST, "Log lines left out because nobody read them in time"),
];
/// What gauges show.
const GAUGES: [(&str, &str); 6] = [
    ("quipu_commit_waiting", "Changes that wait for the next transaction"),
    (WORK_WAITING, "Work of a queue whose time has come and that no worker has taken on"),
    (WORK_OLDEST, "Seconds that the longest waiting of this work has waited"),
    (PAYOUTS_WAITING, "Withdrawals whose time has come and that no worker has taken on"),
    (PAYOUTS_OLDEST, "Seconds that the longest waiting of these withdrawals has waited"),
    ("quipu_ledger_breaches", "What the last verification of the ledger over the interface found broken"),
];
/// What histograms show.
const HISTOGRAMS: [(&str, &str); 4] = [
    ("quipu_request_seconds", "How long calls took"),
    ("quipu_commit_batch_changes", "Changes in one transaction"),
    ("quipu_commit_seconds", "How long a transaction took"),
    ("quipu_due_delay_seconds", "How late due payments were taken on"),
];
const LOG_LINES_LOST: &str = "quipu_log_lines_lost_total";
const WORK_WAITING: &str = "quipu_work_waiting";
const WORK_OLDEST: &str = "quipu_work_oldest_seconds";
const PAYOUTS_WAITING: &str = "quipu_payouts_waiting";
const PAYOUTS_OLDEST: &str = "quipu_payouts_oldest_seconds";

/// What was measured so far.
pub(crate) struct Collected {
    measured: PrometheusHandle,
    log_lines_lost: ErrorCounter,
}

/// Begins to collect. Must be called once, before anything is measured.
pub(crate) fn collect(logging: &Logging) -> Result<Collected> {
    let measured = install()?;
    for (name, help) in COUNTERS {
        metrics::describe_counter!(name, help);
    }
    for (name, help) in GAUGES {
        metrics::describe_gauge!(name, help);
    }
    for (name, help) in HISTOGRAMS {
        metrics::describe_histogram!(name, help);
    }
    Ok(Collected { measured, log_lines_lost: logging.lost() })
}

impl Collected {
    /// In the text form of Prometheus.
    fn render(&self) -> String {
        let lost = u64::try_from(self.log_lines_lost.dropped_lines()).unwrap_or(u64::MAX);
        metrics::counter!(LOG_LINES_LOST).absolute(lost);
        self.measured.render()
    }
}

fn install() -> Result<PrometheusHandle> {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
        .and_then(|builder| {
            let batches = Matcher::Full("quipu_commit_batch_changes".to_owned());
            builder.set_buckets_for_metric(batches, &BATCHES)
        })
        .and_then(PrometheusBuilder::install_recorder)
        .map_err(|error| anyhow!("metrics cannot be collected: {error}"))
}

/// Where metrics are served, bound before anything is answered.
pub(crate) struct Metrics {
    listener: TcpListener,
    collected: Collected,
    queue: Arc<dyn WorkQueue>,
    clock: Arc<dyn Clock>,
}

impl Metrics {
    pub(crate) async fn bind(
        address: SocketAddr,
        collected: Collected,
        queue: Arc<dyn WorkQueue>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let listener = TcpListener::bind(address).await;
        let listener =
            listener.with_context(|| format!("metrics_listen: {address} cannot be listened on"))?;
        tracing::info!(listen = %listener.local_addr()?, "metrics are served");
        Ok(Self { listener, collected, queue, clock })
    }

    /// Serves until told to stop. One connection is answered after the other: there is one scraper.
    pub(crate) async fn run(self, mut stop: StopSignal) {
        loop {
            // Samples are put into buckets here, also while nobody scrapes.
            self.collected.measured.run_upkeep();
            tokio::select! {
                () = stop.given() => return,
                () = tokio::time::sleep(PATIENCE) => {}
                accepted = self.listener.accept() => match accepted {
                    Ok((connection, _)) => self.answer_in_time(connection).await,
                    Err(error) => {
                        tracing::warn!(%error, "a scrape could not be accepted");
                        tokio::time::sleep(RECOVERY).await;
                    }
                },
            }
        }
    }

    /// Gauges that nobody else keeps. If the database does not answer they stay as they were.
    async fn look_at_work(&self) {
        let now = self.clock.now();
        match tokio::time::timeout(GLANCE, self.queue.queues(now)).await {
            Ok(Ok(waiting)) => show(&waiting, now),
            Ok(Err(error)) => tracing::debug!(%error, "waiting work could not be counted"),
            Err(_) => tracing::debug!("waiting work could not be counted in time"),
        }
    }

    async fn answer_in_time(&self, connection: TcpStream) {
        if let Ok(Err(error)) = tokio::time::timeout(PATIENCE, self.answer(connection)).await {
            tracing::debug!(%error, "a scrape was cut off");
        }
    }

    async fn answer(&self, mut connection: TcpStream) -> std::io::Result<()> {
        let request = read_head(&mut connection).await?;
        let (status, body) = if request.starts_with(b"GET /metrics ") || request.starts_with(b"GET /metrics?")
        {
            self.look_at_work().await;
            ("200 OK", self.collected.render())
        } else {
            ("404 Not Found", "metrics are at /metrics\n".to_owned())
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            body.len()
        );
        connection.write_all(head.as_bytes()).await?;
        connection.write_all(body.as_bytes()).await?;
        connection.shutdown().await
    }
}

/// Shows how much of each kind of work is overdue, a queue without any as well.
fn show(waiting: &[QueueState], now: Timestamp) {
    let of = |wanted: &dyn Fn(&QueueState) -> bool| {
        let found = waiting.iter().filter(|state| wanted(state));
        let (count, oldest) = found.fold((0, None), |(count, oldest): (u64, Option<Timestamp>), state| {
            (count + state.overdue, oldest.into_iter().chain(state.oldest).min())
        });
        #[expect(clippy::cast_precision_loss, reason = "there is far less work than 2^52")]
        let count = count as f64;
        (count, oldest.map_or(Duration::ZERO, |oldest| now.since(oldest)).as_secs_f64())
    };
    for queue in Queue::ALL {
        let (count, oldest) = of(&|state| state.queue == *queue);
        metrics::gauge!(WORK_WAITING, "queue" => queue.0).set(count);
        metrics::gauge!(WORK_OLDEST, "queue" => queue.0).set(oldest);
    }
    let submit = DueAction::Submit.as_str();
    let (count, oldest) = of(&|state| state.queue == Queue::SETTLEMENT && state.action == submit);
    metrics::gauge!(PAYOUTS_WAITING).set(count);
    metrics::gauge!(PAYOUTS_OLDEST).set(oldest);
}

/// Reads up to the empty line that ends a request's head.
async fn read_head(connection: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(1024);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < LONGEST_REQUEST {
        if connection.read_buf(&mut head).await? == 0 {
            break;
        }
    }
    Ok(head)
}
