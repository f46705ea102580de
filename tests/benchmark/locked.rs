//! How long other merchants wait on PostgreSQL while somebody holds a lock on one merchant's balance, and
//! that merchant goes on calling.

use std::{
    process::{Child, Command, Stdio},
    sync::Arc,
};

use quipu_tests::{Database, Gateway, Setup, draft, eventually};

use crate::{
    Plan, address_of, caller_of,
    load::{self, Pressure, Request},
    report::Row,
    workload::next,
};

pub(crate) const USUAL: &str = "create withdrawal, other merchants";
pub(crate) const BESIDE: &str = "create withdrawal, other merchants, one is locked";

/// So many that each lane has some.
pub(crate) const OTHERS: usize = 16;
/// Calls of the locked merchant that wait at any time.
const WAITING: usize = 8;

/// Other merchants' withdrawals alone, and beside the locked merchant.
pub(crate) async fn rates(plan: Plan) -> Vec<Row> {
    let gateway = Setup::new(Database::Postgres).set("SIMULATOR__DELAY", "1h").start().await;
    let locked = gateway.merchant().await;
    locked.fund("ARS", 1_000_000_000).await;
    let mut requests = Vec::new();
    for _ in 0..OTHERS {
        let other = gateway.merchant().await;
        other.fund("ARS", 1_000_000_000).await;
        requests.push(caller_of(&other).await.create_withdrawal());
    }
    let requests: Arc<[Request]> = requests.into();
    let mut rows = vec![measured(USUAL, &gateway, &requests, plan)];
    let mut lock = hold_lock(&gateway, locked.id).await;
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..WAITING {
        let api = locked.api.clone();
        waiting.spawn(async move {
            loop {
                let answer = api.post("/api/v1/payments", &draft::withdrawal_ars(100)).await;
                assert!(answer.status == 503, "a locked merchant is answered {}", answer.status);
            }
        });
    }
    rows.push(measured(BESIDE, &gateway, &requests, plan));
    waiting.abort_all();
    while let Some(ended) = waiting.join_next().await {
        assert!(
            ended.is_err_and(|error| error.is_cancelled()),
            "a call of the locked merchant was refused with 503"
        );
    }
    lock.kill().expect("the lock's session ends");
    lock.wait().expect("the lock's session ends");
    rows
}

fn measured(operation: &'static str, gateway: &Gateway, requests: &Arc<[Request]>, plan: Plan) -> Row {
    let requests = Arc::clone(requests);
    let request: Request = Arc::new(move |buffer| {
        let which = usize::try_from(next()).unwrap_or_default() % requests.len();
        requests[which](buffer);
    });
    let pressure = Pressure { connections: OTHERS, time: plan.time };
    let outcome = load::press(address_of(gateway), pressure, request);
    let outcome = outcome.unwrap_or_else(|error| panic!("{operation}: {error}"));
    eprintln!("{operation}: {:.0}/s, p99 {} µs", outcome.per_second, outcome.latency.value_at_quantile(0.99));
    Row { operation, callers: OTHERS, per_second: outcome.per_second, latency: outcome.latency, cost: None }
}

/// A session that locks a merchant's balances and does nothing more.
async fn hold_lock(gateway: &Gateway, merchant: i64) -> Child {
    let lock = format!("SELECT 1 FROM balances WHERE merchant_id = {merchant} FOR UPDATE");
    let mut command = Command::new("psql");
    command.args(["--no-psqlrc", "--quiet", "--command", "BEGIN", "--command", &lock]);
    command.args(["--command", "SELECT pg_sleep(3600)", gateway.postgres_url().expect("PostgreSQL")]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("psql");
    let sleeping = "SELECT COUNT(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'";
    eventually("the lock is held", || async { (gateway.query_sql(sleeping) == ["1"]).then_some(()) }).await;
    child
}
