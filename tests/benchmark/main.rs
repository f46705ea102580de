//! Measures the release binary over HTTP on both databases, and what they can do without it. `make bench` runs it.
//!
//! `quipu-bench FILE` writes the report to FILE. `QUIPU_BENCH_SECONDS` (5) is the time for each measurement,
//! `QUIPU_BENCH_PAYMENTS` (1000000) the history of the merchant, `QUIPU_BENCH_PARTS` (all of [`PARTS`]) what
//! is measured, `QUIPU_BENCH_DATABASES` (`sqlite,postgres`) where. `QUIPU_BENCH_BESIDE` names another build's
//! binary, and then the same calls go to both in turns.

mod beside;
mod ceiling;
mod deliveries;
mod due;
mod fairness;
mod load;
mod locked;
mod overload;
mod pgbench;
mod process;
mod report;
mod support;
mod uploads;
mod viewers;
mod workload;
mod writing;

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use ceiling::Filler;
use load::{Pressure, Request};
use quipu_kernel::{Clock as _, Day, Environment, MerchantId, SystemClock, Tenant};
use quipu_store::{Store, StoreSettings};
use quipu_tests::{Database, Gateway, Merchant, Setup, draft};
use report::{Chapter, Row};
use serde_json::json;
use workload::Caller;

pub(crate) const WITHDRAW: &str = "create withdrawal";
pub(crate) const STORE_WITHDRAW: &str = "store: withdrawal";
pub(crate) const GET: &str = "get";
pub(crate) const MIDDLE_PAGE: &str = "list middle page";
pub(crate) const MONTH: &str = "list of a month";
pub(crate) const MONTH_BY_TYPE: &str = "list of a month by type";
pub(crate) const RARE_CURRENCY: &str = "list by a rare currency";
pub(crate) const OF_CUSTOMER: &str = "list of a customer by type and status";
pub(crate) const FIRST_PAGE: &str = "list first page";
pub(crate) const FIRST_PAGE_SMALL: &str = "list first page of a hundred";
/// A call without a caller, and one that does little but recognise its caller and count the call.
pub(crate) const HEALTH: &str = "health";
pub(crate) const ACCOUNT: &str = "read own merchant record";
/// All clients on one row, as with one merchant, and hardly ever on the same.
pub(crate) const PGBENCH_ONE: &str = "pgbench TPC-B, 1 branch";
pub(crate) const PGBENCH_MANY: &str = "pgbench TPC-B, 128 branches";

/// What is measured unless `QUIPU_BENCH_PARTS` names fewer.
const PARTS: &str = "core,due,overload,locked,webhooks,fairness,tickets,uploads,viewers";

/// Where it is measured unless `QUIPU_BENCH_DATABASES` names fewer.
const DATABASES: &str = "sqlite,postgres";

const LIST: &str = "/api/v1/payments";

const CALLERS: [usize; 3] = [1, 32, 128];

/// How much is measured.
#[derive(Clone, Copy)]
struct Plan {
    time: Duration,
    payments: usize,
}

#[tokio::main]
async fn main() {
    let file = std::env::args().nth(1).expect("usage: quipu-bench REPORT");
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let plan = Plan {
        time: Duration::from_secs(number("QUIPU_BENCH_SECONDS", 5)),
        payments: usize::try_from(number("QUIPU_BENCH_PAYMENTS", 1_000_000)).expect("a size"),
    };
    let parts = std::env::var("QUIPU_BENCH_PARTS").unwrap_or_else(|_| PARTS.to_owned());
    let is_wanted = |part: &str| parts.split(',').any(|wanted| wanted == part);
    let databases = std::env::var("QUIPU_BENCH_DATABASES").unwrap_or_else(|_| DATABASES.to_owned());
    let databases = databases.split(',').map(|name| match name {
        "sqlite" => Database::Sqlite,
        "postgres" => Database::Postgres,
        other => panic!("QUIPU_BENCH_DATABASES: {other}"),
    });
    let mut chapters = Vec::new();
    for database in databases {
        let mut chapter =
            if is_wanted("core") { measure(database, plan).await } else { Chapter::without_core(database) };
        if is_wanted("due") {
            chapter.rows.extend(due::rates(database, plan).await);
        }
        if is_wanted("overload") {
            chapter.rows.extend(overload::rates(database, plan).await);
        }
        if is_wanted("locked") && database == Database::Postgres {
            chapter.rows.extend(locked::rates(plan).await);
        }
        if is_wanted("webhooks") {
            let (rows, peak) = deliveries::rates(database, plan).await;
            chapter.rows.extend(rows);
            chapter.peak_delivering = peak;
        }
        if is_wanted("fairness") {
            let (rows, peak) = fairness::rates(database, plan).await;
            chapter.rows.extend(rows);
            chapter.peak_delivering = chapter.peak_delivering.max(peak);
        }
        if is_wanted("tickets") {
            chapter.rows.extend(support::rates(database, plan).await);
        }
        if is_wanted("uploads") {
            chapter.rows.extend(uploads::rates(database, plan).await);
        }
        if is_wanted("viewers") {
            let (rows, watching) = viewers::rates(database, plan).await;
            chapter.rows.extend(rows);
            chapter.watching = Some(watching);
        }
        if let Some(other) = std::env::var_os("QUIPU_BENCH_BESIDE") {
            chapter.beside = beside::ratios(database, other.as_ref(), plan).await;
        }
        chapters.push(chapter);
    }
    let page = report::page(&process::machine(), plan.payments, &chapters);
    println!("{page}");
    std::fs::write(&file, page).unwrap_or_else(|error| panic!("{file}: {error}"));
}

async fn measure(database: Database, plan: Plan) -> Chapter {
    let name = report::name_of(database);
    let mut gateway = Setup::new(database).set("SIMULATOR__DELAY", "1h").start().await;
    let (large, small) = (gateway.merchant().await, gateway.merchant().await);
    large.fund("ARS", 1_000_000_000_000).await;
    for _ in 0..100 {
        small.create(&draft::deposit_mxn(100)).await;
    }
    let (mut caller, small) = (caller_of(&large).await, caller_of(&small).await);

    gateway.terminate().await;
    let mut rows = without_http(&gateway, &large, plan, &mut caller).await;
    let begun = Instant::now();
    gateway.restart().await;
    let ready_milliseconds = begun.elapsed().as_secs_f64() * 1_000.0;
    eprintln!("{name}: {} payments, ready in {ready_milliseconds:.0} ms", plan.payments);

    let filtered = filtered_pages(plan, alike(&gateway, &caller).await);
    check_filters(&gateway, plan, &caller, &filtered).await;
    let pages = whole_pages(plan).into_iter().chain(filtered).collect();
    over_http(&gateway, plan, (&caller, &small), pages, &mut rows);
    rows.extend(writing::rates(&gateway, &caller, plan));
    let peak_mebibytes = process::memory_mebibytes(gateway.pid()).1;
    gateway.check();
    if database == Database::Postgres {
        drop(gateway);
        for (operation, branches) in [(PGBENCH_ONE, 1), (PGBENCH_MANY, 128)] {
            let rates = pgbench::tpc_b(branches, &CALLERS, plan.time).await;
            rows.extend(CALLERS.into_iter().zip(rates).map(|(callers, per_second)| Row {
                operation,
                callers,
                per_second,
                latency: load::microseconds(),
                cost: None,
            }));
        }
    }
    Chapter { rows, ready_milliseconds, peak_mebibytes, ..Chapter::without_core(database) }
}

/// A caller with a key of its own, who knows of no payments yet.
async fn caller_of(merchant: &Merchant) -> Caller {
    let key = merchant.issue(&json!({ "name": "bench" })).await["key"].as_str().expect("a key").to_owned();
    Caller { merchant_id: merchant.id, key, payments: Vec::new() }
}

/// The store's own ceiling, while no gateway runs; afterwards the merchant has its history.
async fn without_http(gateway: &Gateway, merchant: &Merchant, plan: Plan, caller: &mut Caller) -> Vec<Row> {
    let mut filler = filler_of(gateway, merchant).await.over_a_year(plan.payments);
    // Measured on a history of a fair length, not on empty tables.
    filler.fill(plan.payments / 2).await;
    let mut rows = Vec::new();
    for (operation, draft) in
        [(STORE_WITHDRAW, ceiling::withdrawal as fn(u64) -> _), ("store: deposit", ceiling::deposit)]
    {
        for callers in CALLERS {
            let rate = filler.measure(draft, callers, plan.time).await;
            eprintln!("{operation} x{callers}: {:.0}/s", rate.per_second);
            rows.push(Row {
                operation,
                callers,
                per_second: rate.per_second,
                latency: rate.latency,
                cost: None,
            });
        }
    }
    filler.fill(plan.payments).await;
    caller.payments = filler.sample;
    rows
}

/// Commits to a merchant through the store, while no gateway runs.
async fn filler_of(gateway: &Gateway, merchant: &Merchant) -> Filler {
    let embedded = || format!("sqlite://{}", gateway.data_folder().join("quipu.db").display());
    let url = gateway.postgres_url().map_or_else(embedded, str::to_owned);
    let runtime = tokio::runtime::Handle::current();
    let store = Store::open(StoreSettings::new(url), runtime).await.expect("the store opens");
    Filler::new(store, Tenant::new(MerchantId(merchant.id), Environment::Test))
}

/// How fast deposits are created at 128 connections, and the memory that the gateway has then.
fn creations(gateway: &Gateway, caller: &Caller, operation: &'static str, plan: Plan) -> Row {
    let pressure = Pressure { connections: 128, time: plan.time };
    let outcome = load::press(address_of(gateway), pressure, caller.create_deposit());
    let outcome = outcome.unwrap_or_else(|error| panic!("{operation}: {error}"));
    eprintln!("{operation} x128: {:.0}/s", outcome.per_second);
    let (memory, _) = process::memory_mebibytes(gateway.pid());
    Row {
        operation,
        callers: 128,
        per_second: outcome.per_second,
        latency: outcome.latency,
        cost: Some((f64::NAN, memory)),
    }
}

/// Where a gateway listens.
fn address_of(gateway: &Gateway) -> SocketAddr {
    let client = gateway.anonymous();
    client.base_url().trim_start_matches("http://").parse().expect("the gateway listens on an address")
}

/// A date.
fn days_ago(days: u64) -> String {
    let at = SystemClock.now().minus(Duration::from_hours(24 * days));
    Day::of(at).to_string()
}

/// The pages of a whole list that are asked for, by name.
fn whole_pages(plan: Plan) -> [(&'static str, String); 3] {
    [
        (FIRST_PAGE, String::new()),
        (MIDDLE_PAGE, format!("offset={}", plan.payments / 2)),
        ("list deep page", format!("offset={}", plan.payments - plan.payments / 10)),
    ]
}

/// The pages of filtered lists that are asked for, by name.
fn filtered_pages(plan: Plan, alike: String) -> [(&'static str, String); 6] {
    let month = format!("created_at_from={}&created_at_to={}", days_ago(200), days_ago(170));
    [
        ("list by type", "type=withdrawal".to_owned()),
        ("list by type, middle page", format!("type=withdrawal&offset={}", plan.payments / 4)),
        (MONTH, month.clone()),
        (MONTH_BY_TYPE, format!("{month}&type=deposit")),
        (RARE_CURRENCY, "currency=UYU".to_owned()),
        (OF_CUSTOMER, alike),
    ]
}

/// What selects the payments of one customer that have the type and the status of the customer's first one.
async fn alike(gateway: &Gateway, caller: &Caller) -> String {
    let client = gateway.anonymous().with_api_key(&caller.key);
    let payment = client.get(&format!("{LIST}/{}", caller.payments[0])).await.ok();
    let text = |name: &str| payment["data"][name].as_str().expect("a text").to_owned();
    format!("customer_id={}&type={}&status={}", payment["data"]["customer_id"], text("type"), text("status"))
}

/// A parameter that the gateway does not know is no filter, and what was measured then would be something else.
async fn check_filters(gateway: &Gateway, plan: Plan, caller: &Caller, filtered: &[(&str, String)]) {
    let client = gateway.anonymous().with_api_key(&caller.key);
    for (name, query) in filtered {
        let page = client.get(&format!("{LIST}?{query}")).await.ok();
        let (found, total) = (page["data"].as_array().map_or(0, Vec::len), page["total"].as_u64());
        let total = usize::try_from(total.expect("a total")).expect("a number of payments");
        assert!(found > 0 && total < plan.payments * 9 / 10, "{name}: {total} payments match");
        eprintln!("{name}: {total} payments match");
    }
}

fn over_http(
    gateway: &Gateway,
    plan: Plan,
    (caller, small): (&Caller, &Caller),
    pages: Vec<(&'static str, String)>,
    rows: &mut Vec<Row>,
) {
    let address = address_of(gateway);
    let account = format!("/api/v1/merchants/{}", caller.merchant_id);
    let mut operations: Vec<(&'static str, Request)> = vec![
        (HEALTH, caller.get_path("/healthz")),
        (ACCOUNT, caller.get_path(&account)),
        (GET, caller.get()),
        (FIRST_PAGE_SMALL, small.get_path(LIST)),
    ];
    let pages = pages.into_iter();
    operations.extend(pages.map(|(name, query)| (name, caller.get_path(&format!("{LIST}?{query}")))));
    operations.extend([
        ("balance", caller.get_path("/api/v1/balance?currency=ARS")),
        ("create deposit", caller.create_deposit()),
        (WITHDRAW, caller.create_withdrawal()),
    ]);
    for (operation, request) in operations {
        for callers in CALLERS {
            let pressure = Pressure { connections: callers, time: plan.time };
            let (cpu, begun) = (process::cpu_seconds(gateway.pid()), Instant::now());
            let outcome = load::press(address, pressure, Arc::clone(&request))
                .unwrap_or_else(|error| panic!("{operation} x{callers}: {error}"));
            // Warming up costs as much a request as the rest, so the whole time is counted.
            let requests = outcome.per_second * begun.elapsed().as_secs_f64();
            let cpu = (process::cpu_seconds(gateway.pid()) - cpu) / requests * 1_000.0;
            let (memory, _) = process::memory_mebibytes(gateway.pid());
            eprintln!("{operation} x{callers}: {:.0}/s", outcome.per_second);
            rows.push(Row {
                operation,
                callers,
                per_second: outcome.per_second,
                latency: outcome.latency,
                cost: Some((cpu, memory)),
            });
        }
    }
}
