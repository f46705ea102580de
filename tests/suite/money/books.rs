//! `quipu check` ties every entry to its payment.

use quipu_tests::{Database, Gateway, draft, on_both_databases};
use serde_json::Value;

on_both_databases!(an_entry_that_does_not_follow_from_its_payment_is_found);

async fn an_entry_that_does_not_follow_from_its_payment_is_found(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let id = merchant.create(&draft::deposit_mxn(100)).await;
        merchant.wait_for(&id, "completed").await;
        ids.push(id);
    }
    let [one, other] = [&ids[0], &ids[1]];
    let path = format!("/operator/v1/payments/{one}/refunds");
    gateway.operator().post(&path, &serde_json::json!({ "amount": 10 })).await.data();
    gateway.check();
    let unguarded: &[&str] = match database {
        Database::Sqlite => {
            &["DROP TRIGGER entries_are_never_updated", "DROP TRIGGER entries_are_never_deleted"]
        }
        Database::Postgres => &["ALTER TABLE entries DISABLE TRIGGER USER"],
    };
    let sql = |statement: &str| {
        gateway.execute_sql(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    };
    for statement in unguarded {
        sql(statement);
    }
    sql("CREATE TABLE saved_entries AS SELECT * FROM entries");
    sql("CREATE TABLE saved_refunds AS SELECT * FROM refunds");
    for (what, breach) in breaches(one, other) {
        sql(&breach);
        let report = gateway.run(&["check"]);
        assert_eq!(report.status, Some(1), "{what}: {}", report.stdout);
        let report: Value = serde_json::from_str(&report.stdout).expect("a report is JSON");
        let breaches = report["breaches"].as_array().expect("a list");
        let found = breaches.iter().any(|breach| breach["invariant"] == "entries_equal_payments");
        assert!(found, "{what}: {report}");
        sql("DELETE FROM entries");
        sql("INSERT INTO entries SELECT * FROM saved_entries");
        sql("DELETE FROM refunds");
        sql("INSERT INTO refunds SELECT * FROM saved_refunds");
        // What is left to find is that the books are not guarded.
        let report: Value = serde_json::from_str(&gateway.run(&["check"]).stdout).expect("a report is JSON");
        let mut breaches = report["breaches"].as_array().expect("a list").iter();
        assert!(breaches.all(|breach| breach["invariant"] == "schema_as_migrated"), "{what}: {report}");
    }
}

/// Statements that falsify the entries of the payment `one`, each with the fault that it makes.
fn breaches(one: &str, other: &str) -> Vec<(&'static str, String)> {
    let completed = "reason = 'deposit_completed'";
    vec![
        (
            "an entry moved to another payment",
            format!("UPDATE entries SET payment_id = '{other}' WHERE payment_id = '{one}' AND {completed}"),
        ),
        (
            "an entry of no payment",
            format!("UPDATE entries SET payment_id = NULL WHERE payment_id = '{one}' AND {completed}"),
        ),
        (
            "a changed amount with its counter-entry",
            format!("UPDATE entries SET amount = amount * 2 WHERE payment_id = '{one}' AND {completed}"),
        ),
        ("a missing transaction", format!("DELETE FROM entries WHERE payment_id = '{one}' AND {completed}")),
        (
            "a second completion",
            format!(
                "INSERT INTO entries SELECT merchant_id, environment, 'another', line, currency, account, amount, reason, payment_id, created_at FROM entries WHERE payment_id = '{one}' AND {completed}"
            ),
        ),
        ("a refund without its row", format!("DELETE FROM refunds WHERE payment_id = '{one}'")),
        (
            "a row without its refund",
            format!("DELETE FROM entries WHERE payment_id = '{one}' AND reason = 'refund'"),
        ),
    ]
}
