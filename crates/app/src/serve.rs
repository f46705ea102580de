//! `quipu serve`: starts the parts of the process, and drains them at the end.

use std::{
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result, bail};
use quipu_configuration::{LogFormat, Settings};
use quipu_http::{HttpSettings, KeyUses, Services, Stop, ViewerLimits, Viewers, Webhooks};
use quipu_merchants::RateLimiter;
use quipu_signing::Keyring;
use quipu_tickets::TicketOffice;

use crate::{
    data_folder::{DataFolder, ServingLock},
    database_file,
    descriptors::Descriptors,
    dev,
    listening::{listen, reachable},
    logging,
    master_key::{self, Start},
    metrics::{self, Collected, Metrics, Sources},
    mode::Mode,
    readiness::Parts,
    runtimes::{self, Runtimes, cores},
    sealed_keys,
    signals::Signals,
    standard_error, standard_output,
    stopping::serve_until,
    traces::{self, Traces},
    wire::{self, Delivering, Foundation, UseCases},
    workers::{PATIENCE, Workers, start_heart, start_workers},
};

/// How long a process that was told to end takes at most.
const END: Duration = Duration::from_secs(30);
/// How long its parts may take to finish: calls and workers, which end at the same time, and then the rest.
const DRAIN: Duration = Duration::from_secs(26);
const _: () = assert!(
    DRAIN.as_millis()
        + runtimes::END.as_millis()
        + traces::END.as_millis()
        + logging::END.as_millis()
        + standard_error::END.as_millis()
        <= END.as_millis(),
    "what ends after the parts must end in time too"
);
/// The time that a call begun in time may take beyond `deadlines.call`, with a reserve.
const LATEST_COMMIT: Duration = Duration::from_secs(5);
const _: () = assert!(PATIENCE.as_secs() < DRAIN.as_secs(), "a worker must have time to finish");

/// Serves until a signal, and answers the exit status.
pub(crate) fn run(settings: &Settings, mode: Mode) -> Result<ExitCode> {
    let traces = settings.otlp_url.as_deref().map(Traces::to).transpose()?;
    let usual = if mode == Mode::Demo { LogFormat::Text } else { LogFormat::Json };
    let logging = logging::start(settings, usual, traces.as_ref())?;
    // Dropped after everything but the log: what happens while the process drains is sent too, and the log says
    // if it could not be sent.
    let _traces = traces;
    let shares = Descriptors::of_process(cores(), settings.providers.len());
    let connections = connections(settings, &shares);
    if let Some(needed) = shares.needed_for(connections) {
        tracing::warn!(
            limit = shares.limit,
            needed,
            "this process may open fewer files than {connections} connections and everything else may need: raise the limit \
             (`ulimit -n`, `LimitNOFILE` of a service, `--ulimit nofile` of a container)"
        );
    }
    let collected = metrics::collect(&logging)?;
    let embedded = settings.embedded_database();
    let runtimes = Runtimes::start()?;
    // Listened for before anything is waited for: in a container the first process is not ended by a signal that it
    // does not listen for.
    let mut signals = runtimes.make(Signals::listen)?;
    let store = runtimes.of_store();
    // Kept until the runtimes have ended, and with them all that uses the database.
    let mut lock = None;
    let ended = runtimes.run(async {
        let prepared = async {
            let of_process = settings.clone();
            let prepare = move || match mode {
                Mode::Production => prepare_production(&of_process),
                Mode::Demo => prepare_demo(&of_process),
            };
            let Prepared { keyring, folder, lock: taken } = tokio::task::spawn_blocking(prepare).await??;
            lock = taken;
            let foundation = Foundation::open(settings, keyring, store).await?;
            lock.as_ref().map(ServingLock::tell_files).transpose()?;
            prepare_database(&foundation, embedded.is_some() || mode == Mode::Demo).await?;
            Ok::<_, anyhow::Error>((foundation, folder))
        };
        let (foundation, folder) = tokio::select! {
            biased;
            () = signals.first() => {
                tracing::info!("told to stop before it began to serve");
                return Ok(ExitCode::SUCCESS);
            }
            prepared = prepared => prepared?,
        };
        for warning in warnings(settings) {
            tracing::warn!("{warning}");
        }
        foundation.store.warn_of_language().await?;
        if embedded.is_some() {
            // Nobody else serves this database, so what was claimed was claimed by a process that is no more.
            foundation.queue().release_all().await.context("claimed work cannot be given back")?;
        }
        let metrics = bind_metrics(settings, &foundation, collected, mode)?;
        serve(Serving { settings, mode, shares: &shares, folder, foundation, metrics, signals }).await
    });
    drop(lock);
    ended
}

/// What a server needs before it opens its database.
struct Prepared {
    keyring: Keyring,
    folder: DataFolder,
    /// The lock of an embedded database.
    lock: Option<ServingLock>,
}

/// Prepares a server in production. Without a key nothing is made.
fn prepare_production(settings: &Settings) -> Result<Prepared> {
    let keyring = master_key::keyring(settings, &DataFolder::at(&settings.data_dir), Start::Production)?;
    let folder = DataFolder::open(&settings.data_dir)?;
    let lock = settings.embedded_database().map(ServingLock::of_database).transpose()?;
    // Looked at under the lock: the database of a running server may look empty under another name.
    database_file::require(settings)?;
    database_file::number_run(settings);
    Ok(Prepared { keyring, folder, lock })
}

/// Prepares a demo; it makes what is missing.
fn prepare_demo(settings: &Settings) -> Result<Prepared> {
    let folder = DataFolder::open(&settings.data_dir)?;
    database_file::make_private(settings)?;
    // Taken before a master key is made, so that two demos that start at once do not both make one.
    let lock = settings.embedded_database().map(ServingLock::of_database).transpose()?;
    let keyring = master_key::keyring(settings, &folder, Start::Demo)?;
    database_file::number_run(settings);
    Ok(Prepared { keyring, folder, lock })
}

/// Warnings about settings that work but are probably a mistake. They are not refused, because each key may be
/// set without the other.
fn warnings(settings: &Settings) -> impl Iterator<Item = &'static str> {
    let warnings = [
        (
            settings.seal_after < settings.call_deadline + LATEST_COMMIT,
            "chain.seal_after is shorter than a call may take: make it longer, or `quipu check` reports late rows as inserted",
        ),
        (
            settings.redirectpay_alert_after >= settings.redirectpay_cancel_after,
            "redirectpay.alert_after is not shorter than redirectpay.cancel_after: no deposit raises an alert",
        ),
        (
            settings.webhooks.keep_for <= settings.webhooks.policy.longest(),
            "webhooks.keep_for is not longer than twice all gaps of webhooks.retry_schedule: a delivery that fails for good is deleted at once, and can be neither seen nor tried again",
        ),
    ];
    warnings.into_iter().filter_map(|(applies, warning)| applies.then_some(warning))
}

/// Waits until the database has its schema, and looks whether it belongs to this master key. An embedded database, which
/// belongs to this process, is migrated. A shared one is migrated by a command, so that a person decides when; nodes of the
/// old version may still be running on it.
async fn prepare_database(foundation: &Foundation, migrate: bool) -> Result<()> {
    if migrate {
        for migration in foundation.store.migrate().await.context("the database cannot be migrated")? {
            tracing::info!(migration, "migration applied");
        }
    } else if foundation.store.pending_migrations().await.context("the schema cannot be read")? {
        bail!(wire::MIGRATE_FIRST);
    }
    sealed_keys::verify_all(foundation).await
}

/// Binds the address of metrics. If its port is taken, a process in production does not start; a demo takes another.
fn bind_metrics(
    settings: &Settings,
    foundation: &Foundation,
    collected: Collected,
    mode: Mode,
) -> Result<Metrics> {
    let address = settings.metrics_listen;
    let listener = match metrics::listener(address) {
        Err(error) if mode == Mode::Demo => {
            tracing::warn!("{error:#}; metrics are served on another port");
            metrics::listener((address.ip(), 0).into())?
        }
        bound => bound?,
    };
    let sources = Sources {
        queue: foundation.queue(),
        deliveries: foundation.deliveries(),
        store: foundation.store.clone(),
        clock: Arc::clone(&foundation.clock),
    };
    Metrics::over(listener, collected, sources)
}

/// The most connections of the interface.
fn connections(settings: &Settings, shares: &Descriptors) -> usize {
    settings.connections.unwrap_or(shares.connections)
}

/// The settings of the HTTP server; the front page has a link to the demo's page, if there is one.
fn http_settings(
    settings: &Settings,
    shares: &Descriptors,
    public_url: &str,
    demo_page: Option<&str>,
) -> HttpSettings {
    HttpSettings {
        workers: shares.workers,
        limits: settings.limits,
        trusted_proxies: settings.trusted_proxies.clone(),
        max_connections: connections(settings, shares),
        front_links: demo_page.into_iter().map(dev::front_link).collect(),
        upload_url: settings.upload_url.clone().unwrap_or_else(|| public_url.to_owned()),
        ..HttpSettings::new(public_url.to_owned())
    }
}

/// What a process serves with, once its database is ready.
struct Serving<'a> {
    settings: &'a Settings,
    mode: Mode,
    shares: &'a Descriptors,
    folder: DataFolder,
    foundation: Foundation,
    metrics: Metrics,
    signals: Signals,
}

async fn serve(process: Serving<'_>) -> Result<ExitCode> {
    let Serving { settings, mode, shares, folder, foundation, metrics, mut signals } = process;
    let listener = listen(settings.listen)
        .with_context(|| format!("listen: {} cannot be listened on", settings.listen))?;
    let base_url = format!("http://{}", reachable(listener.local_addr()?));
    let public_url = settings.public_url.clone().unwrap_or_else(|| base_url.clone());
    let links = sealed_keys::page_links(&foundation, &public_url).await?;
    let viewers = Viewers::new(ViewerLimits::among(connections(settings, shares)));
    let use_cases = UseCases::over(&foundation, settings, &public_url, links, Arc::new(viewers))?;
    // A node must be known to live before it has deliveries in hand, and for as long as it has any work. The others may
    // beat while it waits for Redis.
    let mut heart = start_heart(&foundation).await?;
    let limiter = wire::limiter(settings, Arc::clone(&foundation.clock)).await?;
    let tickets = wire::ticket_office(&foundation, settings)?;
    let demo = match mode {
        Mode::Production => None,
        Mode::Demo => Some(dev::credentials(&foundation, &folder, &base_url).await?),
    };
    let demo_page = match &demo {
        Some(demo) => dev::page(&use_cases, demo, &public_url).await,
        None => None,
    };
    let Delivering { webhooks, dispatcher } =
        foundation.webhooks(&settings.webhooks, mode, shares.deliveries)?;
    let mut workers = start_workers(&foundation, &use_cases, &tickets, settings);
    workers.start(|mut stop| async move { dispatcher.run(async move { stop.given().await }).await });
    workers.start(|stop| metrics.run(stop));
    let key_uses = Arc::new(KeyUses::new(foundation.caller_book()));
    let shared_limiter = settings.redis_url.is_some().then(|| Arc::clone(&limiter));
    let readiness = Parts::new(foundation.store.clone(), Arc::clone(&tickets), shared_limiter);
    let parts = CallParts { webhooks, tickets, limiter, readiness, key_uses: Arc::clone(&key_uses) };
    let services = services(&foundation, use_cases, parts, Stop::on(workers.told_to_stop()));
    let http = http_settings(settings, shares, &public_url, demo_page.as_deref());
    let patience = http.shutdown_timeout;
    let kept = listener.try_clone().context("the listener cannot be kept for the end")?;
    let serving = quipu_http::serve(listener, services, http)?;
    tracing::info!(listen = base_url, public_url, "serving");
    if let Some(demo) = demo {
        print_message(&dev::message(&demo, demo_page.as_deref()));
    }
    let cut_off = Arc::new(AtomicBool::new(false));
    let is_cut_off = Arc::clone(&cut_off);
    workers.start(|stop| async move {
        is_cut_off.store(serve_until(stop, serving, kept, patience).await, Ordering::Relaxed);
    });

    let told_to_end = tokio::select! {
        () = signals.first() => true,
        () = workers.one_ended() => false,
        () = heart.one_ended() => false,
    };
    drain(foundation, workers, heart, &key_uses).await?;
    if cut_off.load(Ordering::Relaxed) {
        bail!("calls that were not over {} s after the stop were cut off", patience.as_secs());
    }
    if !told_to_end {
        bail!("a part of the process ended by itself (the log says which)");
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the message of a demo. It is no failure if nobody reads it: the file says the same.
fn print_message(message: &str) {
    if let Err(error) = standard_output::write(message) {
        tracing::warn!("{error:#}");
    }
}

/// Finishes the running work, within a limit of time.
async fn drain(foundation: Foundation, workers: Workers, heart: Workers, key_uses: &KeyUses) -> Result<()> {
    tracing::info!("draining");
    let drained = async {
        workers.stop().await;
        // Until here other nodes had to know that this one lives, and leave its work to it.
        heart.stop().await;
        key_uses.flush().await;
        foundation.store.close().await;
    };
    if tokio::time::timeout(DRAIN, drained).await.is_err() {
        bail!("not everything could be finished within {} s", DRAIN.as_secs());
    }
    tracing::info!("drained");
    Ok(())
}

/// The parts that calls need beside the use cases that move payments.
struct CallParts {
    webhooks: Webhooks,
    tickets: Arc<TicketOffice>,
    limiter: Arc<dyn RateLimiter>,
    readiness: Parts,
    key_uses: Arc<KeyUses>,
}

fn services(foundation: &Foundation, use_cases: UseCases, parts: CallParts, stop: Stop) -> Services {
    let CallParts { webhooks, tickets, limiter, readiness, key_uses } = parts;
    Services {
        create: use_cases.create,
        cancel: use_cases.cancel,
        adjust: use_cases.adjust,
        decide: use_cases.decide,
        refund: use_cases.refund,
        resolve: use_cases.resolve,
        rail_events: use_cases.rail_events,
        all_payments: foundation.all_payments(),
        pages: use_cases.pages,
        webhooks,
        rails: use_cases.rails,
        payments: foundation.payments(),
        tickets,
        ticket_reads: Arc::new(foundation.store.clone()),
        support_reads: Arc::new(foundation.store.clone()),
        ledger: Arc::new(foundation.store.clone()),
        chains: foundation.chains(),
        caller_book: foundation.caller_book(),
        routes: foundation.routes(),
        directory: foundation.directory(),
        onboarding: Arc::new(foundation.onboarding()),
        commit: foundation.commit(),
        limiter,
        keyring: Arc::clone(&foundation.keyring),
        entropy: Arc::clone(&foundation.entropy),
        clock: Arc::clone(&foundation.clock),
        readiness: Arc::new(readiness),
        key_uses,
        stop,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_that_do_not_go_together_are_told() {
        let mut settings = Settings::of_file(b"", None).expect("defaults are valid");
        assert_eq!(warnings(&settings).count(), 0);
        settings.redirectpay_cancel_after = settings.redirectpay_alert_after;
        assert!(warnings(&settings).eq([
            "redirectpay.alert_after is not shorter than redirectpay.cancel_after: no deposit raises an alert"
        ]));
        settings.seal_after = settings.call_deadline;
        assert_eq!(warnings(&settings).count(), 2);
        settings.webhooks.keep_for = settings.webhooks.policy.gaps.iter().sum();
        assert_eq!(warnings(&settings).count(), 3, "gaps may be longer");
    }
}
