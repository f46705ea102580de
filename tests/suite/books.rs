//! `quipu check` and `GET /ledger/check` against books that somebody has tampered with.

use quipu_tests::{Database, Gateway, draft, on_both_databases};
use serde_json::Value;

on_both_databases!(every_kind_of_breach_is_named);

/// What is done to the rows of one merchant, how it is undone, and the invariant that it breaks.
const PLANTED: [(&str, &str, &str); 10] = [
    (
        "balances SET available = available + 1, adjustment = adjustment + 1",
        "balances SET available = available - 1, adjustment = adjustment - 1",
        "balance_equals_entries",
    ),
    (
        "balances SET commission = commission + 1, adjustment = adjustment + 1",
        "balances SET commission = commission - 1, adjustment = adjustment - 1",
        "totals_equal_payments",
    ),
    (
        "balances SET available = available - 1, frozen = frozen + 1",
        "balances SET available = available + 1, frozen = frozen - 1",
        "frozen_equals_open_withdrawals",
    ),
    (
        "entries SET amount = amount + 1 WHERE reason = 'deposit_completed' AND line = 1",
        "entries SET amount = amount - 1 WHERE reason = 'deposit_completed' AND line = 1",
        "transaction_sums_to_zero",
    ),
    (
        "entries SET currency = 'UYU' WHERE reason = 'deposit_completed'",
        "entries SET currency = 'MXN' WHERE reason = 'deposit_completed'",
        "balance_equals_entries",
    ),
    (
        "events SET status_version = 3 WHERE status = 'completed'",
        "events SET status_version = 2 WHERE status = 'completed'",
        "status_versions_gapless",
    ),
    (
        "events SET status = 'failed' WHERE status = 'completed'",
        "events SET status = 'completed' WHERE status = 'failed'",
        "status_versions_gapless",
    ),
    (
        "payments SET status_version = status_version + 1",
        "payments SET status_version = status_version - 1",
        "status_versions_gapless",
    ),
    (
        "payments SET amount = amount + 1 WHERE status = 'completed'",
        "payments SET amount = amount - 1 WHERE status = 'completed'",
        "totals_equal_payments",
    ),
    ("counters SET count = count + 1", "counters SET count = count - 1", "counters_equal_rows"),
];

async fn every_kind_of_breach_is_named(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = merchant.create(&draft::deposit_mxn(100)).await;
    merchant.wait_for(&id, "completed").await;
    gateway.check();
    // Else the database would refuse to touch the entries.
    let unguarded = match database {
        Database::Sqlite => "DROP TRIGGER entries_are_never_updated",
        Database::Postgres => "ALTER TABLE entries DISABLE TRIGGER USER",
    };
    gateway.execute_sql(unguarded).expect("the owner of a database may do this");
    let change = |what: &str| {
        let joined = if what.contains(" WHERE ") { "AND" } else { "WHERE" };
        let statement = format!("UPDATE {what} {joined} merchant_id = {}", merchant.id);
        gateway.execute_sql(&statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    };
    for (breach, repair, invariant) in PLANTED {
        change(breach);
        let report = gateway.run(&["check"]);
        assert_eq!(report.status, Some(1), "{breach}: {}", report.stdout);
        names(&serde_json::from_str(&report.stdout).expect("a report is JSON"), invariant, merchant.id);
        names(&gateway.operator().get("/operator/v1/ledger/check").await.data(), invariant, merchant.id);
        change(repair);
        gateway.check();
    }
}

#[track_caller]
fn names(report: &Value, invariant: &str, merchant: i64) {
    assert_eq!(report["clean"], false, "{report}");
    let breaches = report["breaches"].as_array().expect("a list");
    let named = breaches.iter().any(|breach| {
        breach["invariant"] == invariant
            && breach["subject"].as_str().is_some_and(|subject| subject.contains(&merchant.to_string()))
    });
    assert!(named, "{invariant} is not named: {report}");
}
