//! `/metrics` for Prometheus, on an address of its own.

use std::{
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use async_trait::async_trait;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use quipu_commit::{Queue, QueueState, WorkQueue};
use quipu_delivery::metric_names as delivery;
use quipu_http::{Measured, metric_names as http};
use quipu_kernel::{Clock, StoreError, Timestamp, locked};
use quipu_payments::DueAction;
use quipu_rails::metric_names as rails;
use quipu_signing::SystemEntropy;
use quipu_store::{Store, metric_names as store};
use quipu_webhooks::DeliveryQueue;

use crate::{
    listening::listen,
    logging::{Logging, LostLines},
    stop_signal::StopSignal,
};

/// Upper bounds of latency buckets, in seconds.
const SECONDS: [f64; 12] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 15.0];
/// The same for what can be late by hours.
const DELAYS: [f64; 14] =
    [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1_800.0, 7_200.0];
/// Upper bounds of buckets of batches, in changes.
const BATCHES: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
/// How often samples are put into buckets.
const UPKEEP: Duration = Duration::from_secs(5);
/// How long the database may take to report the waiting work; a scrape must not wait for that much longer
/// than for the rest.
const GLANCE: Duration = Duration::from_secs(1);

/// The counters, with their descriptions.
const COUNTERS: [(&str, &str); 10] = [
    (delivery::ATTEMPTS, "Attempts to deliver an event, by whether it was delivered"),
    (http::REQUESTS, "Calls by method, route and class of status"),
    (http::RATE_LIMITED, "Calls refused because their rate was too high"),
    (http::CALLBACKS, "Callbacks that verified, by what became of them"),
    (PARKED, "Receipts that were parked for a person, whoever told of the money"),
    (store::COMMIT_TOO_LATE, "Changes dropped because their time was over before their turn came"),
    (store::COMMIT_UNANSWERED, "Commits whose answer was lost"),
    (SEALED_ROWS, "Entries and lines of the audit log that this node added to their chains"),
    (ALERTS, "Payments by redirectpay that stayed unresolved for too long"),
    (LOG_LINES_LOST, "Log lines left out because they could not be written, or not in time"),
];
/// The gauges, with their descriptions.
const GAUGES: [(&str, &str); 16] = [
    (WEBHOOKS_OWED, "Deliveries of events that are owed"),
    (WEBHOOKS_OLDEST, "Seconds that the longest due of them has waited"),
    (delivery::ATTEMPTS_UNDER_WAY, "Attempts to deliver an event that this process is making"),
    (delivery::DELIVERIES_IN_MEMORY, "Deliveries that wait in this process for a place"),
    (COMMIT_WAITING, "Changes that wait for the next transaction"),
    (DATABASE_ANSWERS, "Whether the database answered this scrape: 1 or 0"),
    (DATABASE_WRITES, "Whether a commit succeeded during this scrape: 1 or 0"),
    (
        CLOCK_AHEAD,
        "Seconds by which the clock of this node is ahead of the database's; less than 0 if it is behind",
    ),
    (store::COMMIT_ASIDES, "Merchants who wait for somebody's lock beside the others"),
    (WORK_WAITING, "Work of a queue whose time has come and that no worker has taken on"),
    (WORK_OLDEST, "Seconds that the longest waiting of this work has waited"),
    (PAYOUTS_WAITING, "Withdrawals whose time has come and that no worker has taken on"),
    (PAYOUTS_OLDEST, "Seconds that the longest waiting of these withdrawals has waited"),
    (
        rails::RAILS_LEFT_ALONE,
        "Rails of providers that do not answer, and that this process leaves alone for now",
    ),
    (http::LEDGER_BREACHES, "What the last verification of the ledger over the interface found broken"),
    (http::LEDGER_CHECKED, "When that verification was made, in Unix time; zero before the first"),
];
/// The histograms, with their descriptions.
const HISTOGRAMS: [(&str, &str); 6] = [
    (delivery::DELAY_SECONDS, "How long after its event the first attempt to deliver it began"),
    (delivery::ATTEMPT_SECONDS, "How long attempts to deliver an event took"),
    (http::REQUEST_SECONDS, "How long calls took"),
    (store::COMMIT_BATCH_CHANGES, "Changes in one transaction"),
    (store::COMMIT_SECONDS, "How long a transaction took"),
    (DUE_DELAY_SECONDS, "How late due payments were taken on, to ask about them or to let them expire"),
];
/// The number of alerts that were raised.
pub(crate) const ALERTS: &str = "quipu_redirectpay_alerts_total";
/// The number of receipts that were parked for a person.
pub(crate) const PARKED: &str = "quipu_receipts_parked_total";
/// The number of rows of the books that were sealed.
pub(crate) const SEALED_ROWS: &str = "quipu_sealed_rows_total";
/// How late due payments were taken on, those apart that are submitted.
pub(crate) const DUE_DELAY_SECONDS: &str = "quipu_due_delay_seconds";
const COMMIT_WAITING: &str = "quipu_commit_waiting";
const DATABASE_ANSWERS: &str = "quipu_database_answers";
const DATABASE_WRITES: &str = "quipu_database_writes";
const CLOCK_AHEAD: &str = "quipu_clock_ahead_seconds";
const LOG_LINES_LOST: &str = "quipu_log_lines_lost_total";
const WORK_WAITING: &str = "quipu_work_waiting";
const WORK_OLDEST: &str = "quipu_work_oldest_seconds";
const WEBHOOKS_OWED: &str = "quipu_webhooks_owed";
const WEBHOOKS_OLDEST: &str = "quipu_webhooks_oldest_seconds";
const PAYOUTS_WAITING: &str = "quipu_payouts_waiting";
const PAYOUTS_OLDEST: &str = "quipu_payouts_oldest_seconds";

/// The measurements so far.
pub(crate) struct Collected {
    measured: PrometheusHandle,
    log_lines_lost: LostLines,
}

/// Begins to collect measurements. Must be called once, before anything is measured.
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
    begin_at_zero();
    Ok(Collected { measured, log_lines_lost: logging.lost() })
}

/// Sets counters to zero at the start, so that their first increase is visible as a change.
fn begin_at_zero() {
    for name in [store::COMMIT_TOO_LATE, store::COMMIT_UNANSWERED, ALERTS, PARKED, SEALED_ROWS] {
        metrics::counter!(name).absolute(0);
    }
    for result in ["delivered", "failed"] {
        metrics::counter!(delivery::ATTEMPTS, "result" => result).absolute(0);
    }
    for outcome in ["applied", "known", "parked"] {
        metrics::counter!(http::CALLBACKS, "outcome" => outcome).absolute(0);
    }
    for name in [
        CLOCK_AHEAD,
        store::COMMIT_ASIDES,
        http::LEDGER_BREACHES,
        http::LEDGER_CHECKED,
        rails::RAILS_LEFT_ALONE,
        delivery::ATTEMPTS_UNDER_WAY,
        delivery::DELIVERIES_IN_MEMORY,
    ] {
        metrics::gauge!(name).set(0.0);
    }
}

impl Collected {
    /// The measurements in the text format of Prometheus.
    fn render(&self) -> String {
        let lost = u64::try_from(self.log_lines_lost.count()).unwrap_or(u64::MAX);
        metrics::counter!(LOG_LINES_LOST).absolute(lost);
        self.measured.render()
    }
}

fn install() -> Result<PrometheusHandle> {
    let full = |name: &str| Matcher::Full(name.to_owned());
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
        .and_then(|builder| builder.set_buckets_for_metric(full(delivery::DELAY_SECONDS), &DELAYS))
        .and_then(|builder| builder.set_buckets_for_metric(full(DUE_DELAY_SECONDS), &DELAYS))
        .and_then(|builder| builder.set_buckets_for_metric(full(store::COMMIT_BATCH_CHANGES), &BATCHES))
        .and_then(PrometheusBuilder::install_recorder)
        .map_err(|error| anyhow!("metrics cannot be collected: {error}"))
}

/// The server of metrics, bound before any call is answered.
pub(crate) struct Metrics {
    listener: TcpListener,
    scraped: Arc<Scraped>,
}

/// What a scrape reads.
struct Scraped {
    collected: Collected,
    sources: Sources,
    seen: Mutex<Seen>,
}

/// Where the gauges that nothing else updates come from.
pub(crate) struct Sources {
    pub(crate) queue: Arc<dyn WorkQueue>,
    pub(crate) deliveries: Arc<dyn DeliveryQueue>,
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
}

/// What the database last said. What waits grows older while it says nothing.
#[derive(Default)]
struct Seen {
    work: Vec<QueueState>,
    owed: u64,
    oldest: Option<Timestamp>,
}

/// A listener for metrics.
pub(crate) fn listener(address: SocketAddr) -> Result<TcpListener> {
    listen(address).with_context(|| format!("metrics_listen: {address} cannot be listened on"))
}

impl Metrics {
    pub(crate) fn over(listener: TcpListener, collected: Collected, sources: Sources) -> Result<Self> {
        tracing::info!(listen = %listener.local_addr()?, "metrics are served");
        Ok(Self { listener, scraped: Arc::new(Scraped { collected, sources, seen: Mutex::default() }) })
    }

    /// Serves until told to stop.
    pub(crate) async fn run(self, mut stop: StopSignal) {
        let Self { listener, scraped } = self;
        let source: Arc<dyn Measured> = Arc::clone(&scraped) as _;
        let (clock, entropy) = (Arc::clone(&scraped.sources.clock), Arc::new(SystemEntropy));
        let mut serving = match quipu_http::serve_measured(listener, source, clock, entropy) {
            Ok(serving) => serving,
            Err(error) => {
                tracing::error!(%error, "metrics cannot be served");
                return;
            }
        };
        let handle = serving.handle();
        loop {
            // Samples are put into buckets here, also while nobody scrapes.
            scraped.collected.measured.run_upkeep();
            tokio::select! {
                () = stop.given() => {
                    tokio::join!(async { serving.await.ok() }, handle.stop(true));
                    return;
                }
                ended = &mut serving => {
                    tracing::error!(error = ended.err().map(tracing::field::display), "the server of metrics has ended");
                    return;
                }
                () = tokio::time::sleep(UPKEEP) => {}
            }
        }
    }
}

impl Scraped {
    /// Updates the gauges that nothing else updates.
    async fn look_at_work(&self) {
        let Sources { queue, deliveries, store, clock } = &self.sources;
        let now = clock.now();
        let (found, backlog, ahead, written) = tokio::join!(
            within(GLANCE, queue.queues(now)),
            within(GLANCE, deliveries.backlog()),
            within(GLANCE, store.clock_ahead(clock)),
            tokio::time::timeout(GLANCE, store.probe()),
        );
        let writes = written.is_ok_and(|written| written.is_ok());
        metrics::gauge!(DATABASE_WRITES).set(f64::from(u8::from(writes)));
        if let Some(Some(ahead)) = ahead {
            metrics::gauge!(CLOCK_AHEAD).set(seconds(ahead));
        }
        // One answer is enough: a long backlog takes its time to be counted.
        let answers = if found.is_some() || backlog.is_some() { 1.0 } else { 0.0 };
        metrics::gauge!(DATABASE_ANSWERS).set(answers);
        metrics::gauge!(COMMIT_WAITING).set(count(store.waiting_changes() as u64));
        let mut seen = locked(&self.seen);
        if let Some(work) = found {
            seen.work = work;
        }
        if let Some(backlog) = backlog {
            (seen.owed, seen.oldest) = backlog;
        }
        show(&seen.work, now);
        metrics::gauge!(WEBHOOKS_OWED).set(count(seen.owed));
        metrics::gauge!(WEBHOOKS_OLDEST).set(age(seen.oldest, now));
    }
}

/// What the database answers in time.
async fn within<T>(time: Duration, asked: impl Future<Output = Result<T, StoreError>>) -> Option<T> {
    match tokio::time::timeout(time, asked).await {
        Ok(Ok(found)) => return Some(found),
        Ok(Err(error)) => tracing::debug!(%error, "waiting work could not be counted"),
        Err(_) => tracing::debug!("waiting work could not be counted in time"),
    }
    None
}

#[expect(clippy::cast_precision_loss, reason = "there is far less work than 2^52")]
const fn count(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "clocks differ by less than 2^52 ms")]
const fn seconds(millis: i64) -> f64 {
    millis as f64 / 1_000.0
}

/// How long something has waited, in seconds.
fn age(since: Option<Timestamp>, now: Timestamp) -> f64 {
    since.map_or(Duration::ZERO, |since| now.since(since)).as_secs_f64()
}

#[async_trait]
impl Measured for Scraped {
    async fn render(&self) -> String {
        self.look_at_work().await;
        self.collected.render()
    }
}

/// Sets the gauges of overdue work for each kind, including queues without any.
fn show(waiting: &[QueueState], now: Timestamp) {
    let of = |wanted: &dyn Fn(&QueueState) -> bool| {
        let found = waiting.iter().filter(|state| wanted(state));
        let (waiting, oldest) =
            found.fold((0, None), |(waiting, oldest): (u64, Option<Timestamp>), state| {
                (waiting + state.overdue, oldest.into_iter().chain(state.oldest).min())
            });
        (count(waiting), age(oldest, now))
    };
    for queue in Queue::ALL {
        let (waiting, oldest) = of(&|state| state.queue == *queue);
        metrics::gauge!(WORK_WAITING, "queue" => queue.0).set(waiting);
        metrics::gauge!(WORK_OLDEST, "queue" => queue.0).set(oldest);
    }
    let submit = DueAction::Submit.as_str();
    let (waiting, oldest) = of(&|state| state.queue == Queue::SETTLEMENT && state.action == submit);
    metrics::gauge!(PAYOUTS_WAITING).set(waiting);
    metrics::gauge!(PAYOUTS_OLDEST).set(oldest);
}
