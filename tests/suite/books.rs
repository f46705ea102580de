//! `quipu check` against databases that somebody has tampered with: every kind of it is named.
//!
//! One gateway makes a little history and stops. Each case then has a copy of its database to itself.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use quipu_tests::{
    CommandOutput, Database, Gateway, Setup, TestDatabase, draft, eventually, on_both_databases,
};
use serde_json::{Value, json};

on_both_databases!(
    every_kind_of_tampering_is_named,
    nothing_replaces_an_entry_or_a_line,
    heads_that_were_written_down_tell_of_a_rewritten_history,
    every_check_of_a_server_sees_what_there_is_by_then,
);

/// What is done, and the invariant that names it. Tables that refuse changes are freed of their triggers before.
const TAMPERED: [(&str, &str); 90] = [
    ("UPDATE balances SET available = available + 1, adjustment = adjustment + 1", "balance_equals_entries"),
    ("UPDATE balances SET available = available + 1, deposit = deposit + 1", "totals_equal_payments"),
    ("UPDATE balances SET commission = commission + 1, adjustment = adjustment + 1", "totals_equal_payments"),
    ("UPDATE balances SET withdrawal = withdrawal + 1, adjustment = adjustment + 1", "totals_equal_payments"),
    ("UPDATE balances SET available = available - 1, frozen = frozen + 1 WHERE available > 0", "frozen_equals_open_withdrawals"),
    ("DELETE FROM balances WHERE currency = 'ARS'", "balance_equals_entries"),
    (
        "INSERT INTO balances SELECT merchant_id, 'live', currency, available, frozen, deposit, withdrawal, commission,
            adjustment FROM balances WHERE currency = 'ARS'",
        "balance_equals_entries",
    ),
    ("UPDATE entries SET amount = amount + 1 WHERE reason = 'deposit_completed' AND line = 1", "transaction_sums_to_zero"),
    ("UPDATE entries SET currency = 'UYU' WHERE reason = 'deposit_completed'", "balance_equals_entries"),
    ("UPDATE entries SET currency = 'UYU' WHERE reason = 'deposit_completed' AND line = 1", "transaction_sums_to_zero"),
    ("UPDATE entries SET environment = 'live' WHERE reason = 'deposit_completed'", "balance_equals_entries"),
    ("UPDATE entries SET reason = 'refund' WHERE reason = 'deposit_completed'", "entries_equal_payments"),
    ("UPDATE entries SET payment_id = NULL WHERE reason = 'refund'", "entries_equal_payments"),
    ("UPDATE entries SET payment_id = 'pay_0' WHERE reason = 'deposit_completed'", "entries_equal_payments"),
    ("UPDATE entries SET account = 'revenue' WHERE account = 'available' AND reason = 'deposit_completed'", "balance_equals_entries"),
    ("UPDATE entries SET amount = 2 * amount WHERE reason = 'withdrawal_created'", "balance_equals_entries"),
    ("DELETE FROM entries WHERE reason = 'deposit_completed'", "entries_equal_payments"),
    ("DELETE FROM entries WHERE reason = 'withdrawal_released' AND line = 1", "transaction_sums_to_zero"),
    (
        "INSERT INTO entries SELECT merchant_id, environment, 'twice' || transaction_id, line, currency, account, amount, reason,
            payment_id, created_at FROM entries WHERE reason = 'deposit_completed'",
        "entries_equal_payments",
    ),
    ("UPDATE payments SET status_version = status_version + 1", "status_versions_gapless"),
    ("UPDATE payments SET status = 'failed' WHERE status = 'cancelled'", "status_versions_gapless"),
    ("UPDATE payments SET status = 'completed' WHERE status = 'partial_refund'", "counters_equal_rows"),
    ("UPDATE payments SET amount = amount + 1 WHERE status = 'processing'", "events_equal_payments"),
    ("UPDATE payments SET amount = amount + 1 WHERE status = 'completed'", "totals_equal_payments"),
    ("UPDATE payments SET fee = fee + 1 WHERE status = 'completed'", "entries_equal_payments"),
    ("UPDATE payments SET received_amount = amount + 1 WHERE status = 'partial_refund'", "totals_equal_payments"),
    ("UPDATE payments SET refunded_amount = refunded_amount + 1 WHERE status = 'partial_refund'", "entries_equal_payments"),
    ("UPDATE payments SET currency = 'UYU' WHERE status = 'completed'", "entries_equal_payments"),
    ("UPDATE payments SET method = 'cash' WHERE status = 'completed'", "counters_equal_rows"),
    ("UPDATE payments SET type = 'deposit_pp' WHERE type = 'deposit'", "events_equal_payments"),
    ("UPDATE payments SET environment = 'live' WHERE status = 'cancelled'", "counters_equal_rows"),
    ("UPDATE payments SET holds_reference = NOT holds_reference WHERE status = 'processing'", "references_follow_status"),
    ("UPDATE payments SET holds_reference = NOT holds_reference WHERE status = 'cancelled'", "references_follow_status"),
    ("UPDATE payments SET late = NOT late WHERE status = 'completed'", "references_follow_status"),
    ("UPDATE payments SET revision = 0", "status_versions_gapless"),
    ("UPDATE payments SET customer_id = 7 WHERE status = 'completed'", "rows_belong_together"),
    ("DELETE FROM payments WHERE status = 'processing'", "counters_equal_rows"),
    ("UPDATE events SET status_version = 3 WHERE status = 'completed'", "status_versions_gapless"),
    ("UPDATE events SET status = 'failed' WHERE status = 'completed'", "status_versions_gapless"),
    ("UPDATE events SET previous_status = 'pending' WHERE status = 'cancelled' OR status = 'completed'", "status_versions_gapless"),
    ("DELETE FROM events WHERE status = 'cancelled'", "status_versions_gapless"),
    ("UPDATE events SET payload = replace(payload, '\"amount\":1000,', '\"amount\":1001,')", "events_equal_payments"),
    ("UPDATE events SET payload = replace(payload, '\"status\":\"cancelled\"', '\"status\":\"failed\"')", "events_equal_payments"),
    ("UPDATE events SET payload = substr(payload, 1, 100)", "events_equal_payments"),
    ("UPDATE events SET type = 'payment.failed' WHERE type = 'payment.cancelled'", "events_equal_payments"),
    ("DELETE FROM work WHERE queue = 'settlement'", "open_payments_are_due"),
    ("UPDATE work SET subject = (SELECT id FROM payments WHERE status = 'cancelled') WHERE queue = 'settlement' AND action = 'expire'", "open_payments_are_due"),
    ("DELETE FROM audit_log WHERE action = 'balance.adjust'", "adjustments_are_audited"),
    ("UPDATE audit_log SET after = replace(after, '100000', '1') WHERE action = 'balance.adjust'", "adjustments_are_audited"),
    ("DELETE FROM refunds", "entries_equal_payments"),
    ("UPDATE entries SET created_at = created_at + 1 WHERE reason = 'adjustment'", "entries_as_sealed"),
    ("DELETE FROM entries WHERE reason = 'refund'", "entries_as_sealed"),
    (
        "INSERT INTO entries SELECT merchant_id, environment, '0' || transaction_id, line, currency, account, 0, reason, payment_id,
            created_at FROM entries WHERE reason = 'refund'",
        "entries_as_sealed",
    ),
    ("UPDATE entries SET line = -line WHERE reason = 'adjustment'", "entries_as_sealed"),
    ("UPDATE entries SET transaction_id = '0' || transaction_id WHERE reason = 'refund'", "entries_as_sealed"),
    ("UPDATE audit_log SET actor_name = 'nobody' WHERE action = 'balance.adjust'", "audit_log_as_sealed"),
    ("DELETE FROM audit_log WHERE action = 'payment.complete'", "audit_log_as_sealed"),
    (
        "INSERT INTO audit_log SELECT '0' || id, at, actor_id, actor_name, 'merchant.read', merchant_id, subject, before, after
            FROM audit_log WHERE action = 'balance.adjust'",
        "audit_log_as_sealed",
    ),
    ("UPDATE audit_log SET at = at - 1000 WHERE action = 'payment.complete'", "audit_log_as_sealed"),
    ("UPDATE seals SET hash = replace(hash, 'a', 'b')", "entries_as_sealed"),
    ("DELETE FROM seals WHERE book = 'audit_log'", "audit_log_as_sealed"),
    ("UPDATE chains SET rows = rows - 1 WHERE rows > 1", "entries_as_sealed"),
    ("DELETE FROM seals; DELETE FROM chains", "entries_as_sealed"),
    ("DELETE FROM seals WHERE book = 'audit_log'; DELETE FROM chains WHERE book = 'audit_log'", "entries_as_sealed"),
    ("UPDATE counters SET count = 7 WHERE name = 'tickets'", "counters_equal_rows"),
    ("DELETE FROM counters WHERE name = 'deliveries'", "counters_equal_rows"),
    ("UPDATE events SET payload = replace(payload, '\"fee\":0', '\"fee\":1')", "events_equal_payments"),
    ("UPDATE events SET payload = replace(payload, '\"net_amount\":1000', '\"net_amount\":999')", "events_equal_payments"),
    ("UPDATE events SET payload = replace(payload, '\"refunded_amount\":300', '\"refunded_amount\":299')", "events_equal_payments"),
    ("UPDATE events SET payload = replace(payload, '\"bank_account\":\"', '\"bank_account\":\"9')", "events_equal_payments"),
    ("UPDATE events SET payload = replace(payload, '\"customer_name\":\"', '\"customer_name\":\"Not ')", "events_equal_payments"),
    ("UPDATE events SET payload = replace(payload, '\"customer_data\":{', '\"customer_data\":{\"note\":\"a note\",')", "events_equal_payments"),
    ("UPDATE events SET created_at = created_at + 5", "events_equal_payments"),
    ("DELETE FROM events WHERE type LIKE 'payout.%'", "events_equal_payments"),
    ("UPDATE payments SET document = replace(document, '\"bank_account\":\"', '\"bank_account\":\"9')", "events_equal_payments"),
    ("UPDATE payments SET merchant_reference = 'another' WHERE status = 'processing' AND type = 'deposit'", "events_equal_payments"),
    ("UPDATE payments SET document = '{}'", "payments_can_be_read"),
    ("UPDATE payments SET document = 'no JSON'", "payments_can_be_read"),
    ("UPDATE work SET due_at = 9000000000000000 WHERE queue = 'settlement'", "open_payments_are_due"),
    ("UPDATE work SET due_at = due_at + 10000000000 WHERE queue = 'settlement' AND action = 'expire'", "open_payments_are_due"),
    (
        "UPDATE payments SET rail = 'http:acme' WHERE type = 'withdrawal' AND status = 'pending';
        UPDATE work SET due_at = due_at + 7200000 WHERE queue = 'settlement' AND action = 'submit'",
        "open_payments_are_due",
    ),
    ("UPDATE deliveries SET due_at = due_at + 40000000000 WHERE status = 0", "deliveries_are_due"),
    ("UPDATE work SET action = 'nothing' WHERE queue = 'settlement'", "open_payments_are_due"),
    ("UPDATE work SET action = 'submit' WHERE queue = 'settlement'", "open_payments_are_due"),
    ("DELETE FROM webhook_endpoints", "rows_belong_together"),
    ("UPDATE deliveries SET endpoint_id = 'nobody'", "rows_belong_together"),
    ("DELETE FROM payment_pages", "rows_belong_together"),
    ("DROP TABLE seals", "schema_as_migrated"),
    (
        "INSERT INTO entries SELECT merchant_id, environment, 'zz', 1, currency, 'available', 100, 'withdrawal_completed', id,
            created_at FROM payments WHERE status = 'cancelled';
        INSERT INTO entries SELECT merchant_id, environment, 'zz', 2, currency, 'adjustments', -100, 'withdrawal_completed', id,
            created_at FROM payments WHERE status = 'cancelled';
        UPDATE balances SET available = available + 100, adjustment = adjustment + 100",
        "entries_equal_payments",
    ),
    (
        "INSERT INTO entries SELECT merchant_id, environment, 'zz', 2, currency, 'available', 100, 'refund', NULL, created_at
            FROM payments WHERE status = 'cancelled';
        INSERT INTO entries SELECT merchant_id, environment, 'zz', 3, currency, 'adjustments', -100, 'refund', NULL, created_at
            FROM payments WHERE status = 'cancelled';
        UPDATE balances SET available = available + 100, adjustment = adjustment + 100",
        "entries_equal_payments",
    ),
];

/// The same for what the two databases do each in its own words.
const TAMPERED_IN_SQLITE: [(&str, &str); 8] = [
    ("DELETE FROM merchants", "rows_belong_together"),
    ("UPDATE merchants SET id = id + 1", "rows_belong_together"),
    ("DROP TRIGGER entries_are_never_updated", "schema_as_migrated"),
    ("DROP TRIGGER audit_log_is_never_replaced", "schema_as_migrated"),
    ("CREATE TRIGGER mine AFTER INSERT ON payments BEGIN DELETE FROM events; END", "schema_as_migrated"),
    ("DROP INDEX payments_holding_reference", "schema_as_migrated"),
    ("ALTER TABLE refunds ADD COLUMN mine TEXT", "schema_as_migrated"),
    (
        "PRAGMA ignore_check_constraints = ON; UPDATE payments SET amount = 0 WHERE status = 'processing'",
        "file_integrity",
    ),
];
const TAMPERED_IN_POSTGRES: [(&str, &str); 13] = [
    ("UPDATE payment_classes SET class = replace(class, 'completed/', 'failed/')", "classes_equal_payments"),
    ("DELETE FROM payment_classes WHERE class LIKE 'cancelled/%'", "classes_equal_payments"),
    ("ALTER TABLE payments DISABLE TRIGGER payments_are_classed", "schema_as_migrated"),
    ("ALTER TABLE entries DISABLE TRIGGER entries_are_never_changed", "schema_as_migrated"),
    ("DROP TRIGGER audit_log_is_never_changed ON audit_log", "schema_as_migrated"),
    (
        "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
        "schema_as_migrated",
    ),
    ("DROP INDEX payments_holding_reference", "schema_as_migrated"),
    ("ALTER TABLE balances DROP CONSTRAINT balances_check", "schema_as_migrated"),
    (
        "CREATE TRIGGER mine AFTER INSERT ON payments FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()",
        "schema_as_migrated",
    ),
    (
        "DROP TRIGGER entries_are_never_changed ON entries; CREATE TRIGGER entries_are_never_changed
            BEFORE TRUNCATE ON entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()",
        "schema_as_migrated",
    ),
    (
        "CREATE OR REPLACE TRIGGER entries_are_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON entries
            FOR EACH STATEMENT WHEN (FALSE) EXECUTE FUNCTION refuse_change()",
        "schema_as_migrated",
    ),
    (
        "DROP INDEX payments_holding_reference; CREATE INDEX payments_holding_reference
            ON payments (merchant_id, environment, merchant_reference) WHERE holds_reference",
        "schema_as_migrated",
    ),
    (
        "ALTER TABLE balances DROP CONSTRAINT balances_check; ALTER TABLE balances ADD CONSTRAINT balances_check CHECK (TRUE)",
        "schema_as_migrated",
    ),
];

async fn every_kind_of_tampering_is_named(database: Database) {
    let (mut gateway, own) = (
        history(database).await,
        match database {
            Database::Sqlite => &TAMPERED_IN_SQLITE[..],
            Database::Postgres => &TAMPERED_IN_POSTGRES[..],
        },
    );
    gateway.check();
    assert_eq!(gateway.terminate().await, Some(0));
    let original = Original::of(&gateway);
    let freed =
        TAMPERED.iter().map(|(what, invariant)| (format!("{}; {what}", unguarded(database)), invariant));
    let own = own.iter().map(|(what, invariant)| ((*what).to_owned(), invariant));
    for (what, invariant) in freed.chain(own) {
        let copy = original.copy().await;
        copy.execute(&what).ok();
        let checked = copy.check(&gateway);
        assert_eq!(checked.status, Some(1), "{what}: {}{}", checked.stdout, checked.stderr);
        let report: Value = serde_json::from_str(&checked.stdout).expect("a report is JSON");
        let mut breaches = report["breaches"].as_array().expect("a list").iter();
        assert!(breaches.any(|breach| breach["invariant"] == *invariant), "{what}: {report:#}");
    }
}

/// Payments in most of their states, with an adjustment, a refund, a ticket and a webhook, and the work and
/// events that follow from them.
async fn history(database: Database) -> Gateway {
    let gateway =
        Setup::new(database).set("SIMULATOR__DELAY", "1h").set("CHAIN__SEAL_AFTER", "1s").start().await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 100_000).await;
    let operator = gateway.operator();
    let decide = async |id: &str, verb: &str, body: Value| {
        operator.post(&format!("/operator/v1/payments/{id}/{verb}"), &body).await.ok();
    };
    let webhook = json!({ "url": "http://127.0.0.1:9/" });
    merchant.api.post("/api/v1/webhooks", &webhook).await.ok();
    assert_eq!(merchant.api.post("/api/v1/tickets", &json!({ "title": "Where is it?" })).await.status, 201);
    let hosted = draft::with(draft::deposit("ARS", "bank_transfer", 1_000), "/type", json!("deposit_pp"));
    merchant.create(&hosted).await;
    merchant.create(&draft::deposit("ARS", "bank_transfer", 1_000)).await;
    let refunded = merchant.create(&draft::deposit("ARS", "bank_transfer", 1_000)).await;
    decide(&refunded, "complete", json!({})).await;
    decide(&refunded, "refunds", json!({ "amount": 300, "reason": "half of it" })).await;
    let completed = merchant.create(&draft::deposit("ARS", "bank_transfer", 1_000)).await;
    decide(&completed, "complete", json!({})).await;
    merchant.create(&draft::withdrawal_ars(1_000)).await;
    let paid = merchant.create(&draft::withdrawal_ars(1_000)).await;
    decide(&paid, "complete", json!({})).await;
    let cancelled = merchant.create(&draft::withdrawal_ars(1_000)).await;
    merchant.api.post(&format!("/api/v1/payments/{cancelled}/cancel"), &json!({})).await.ok();
    all_sealed(&gateway).await;
    gateway
}

/// Waits until every entry and every line of the audit log is in its chain.
async fn all_sealed(gateway: &Gateway) {
    eventually("everything to be sealed", async || {
        let count = |table: &str| gateway.query_sql(&format!("SELECT COUNT(*) FROM {table}"));
        let sealed =
            |book: &str| gateway.query_sql(&format!("SELECT SUM(rows) FROM chains WHERE book = '{book}'"));
        ["entries", "audit_log"].iter().all(|book| count(book) == sealed(book)).then_some(())
    })
    .await;
}

/// A database that nobody uses, to be copied.
enum Original {
    File(PathBuf),
    Server(String),
}

/// A copy of it, which goes with the test.
enum Copied {
    File(PathBuf),
    Server(TestDatabase),
}

impl Original {
    fn of(gateway: &Gateway) -> Self {
        if let Some(url) = gateway.postgres_url() {
            return Self::Server(url.to_owned());
        }
        let file = gateway.data_folder().join("original.db");
        gateway.run(&["backup", file.to_str().expect("UTF-8")]).ok();
        Self::File(file)
    }

    async fn copy(&self) -> Copied {
        match self {
            Self::File(original) => {
                let file = original.with_file_name("copy.db");
                let _none = ["db-wal", "db-shm"].map(|end| std::fs::remove_file(file.with_extension(end)));
                std::fs::copy(original, &file).expect("copied");
                Copied::File(file)
            }
            Self::Server(url) => Copied::Server(TestDatabase::copy_of(url).await),
        }
    }
}

impl Copied {
    fn url(&self) -> String {
        match self {
            Self::File(file) => format!("sqlite://{}", file.display()),
            Self::Server(database) => database.url().expect("a server").to_owned(),
        }
    }

    fn check(&self, gateway: &Gateway) -> CommandOutput {
        gateway.run_under(&[("QUIPU__DATABASE_URL", &self.url())], &["check"])
    }

    fn execute(&self, statements: &str) -> CommandOutput {
        let mut command;
        match self {
            Self::File(file) => {
                command = Command::new("python3");
                command.args(["-c", THROUGH_PYTHON]).arg(file as &Path).arg(statements);
            }
            Self::Server(database) => {
                command = Command::new("psql");
                command.args(["--no-psqlrc", "--set=ON_ERROR_STOP=1", "--command", statements]);
                command.arg(database.url().expect("a server"));
            }
        }
        command.output().expect("a client of the database").into()
    }
}

/// What keeps the books append-only, out of the way.
fn unguarded(database: Database) -> &'static str {
    match database {
        Database::Sqlite => {
            "DROP TRIGGER entries_are_never_updated; DROP TRIGGER entries_are_never_deleted;
             DROP TRIGGER audit_log_is_never_updated; DROP TRIGGER audit_log_is_never_deleted;
             DROP TRIGGER seals_are_never_updated; DROP TRIGGER seals_are_never_deleted"
        }
        Database::Postgres => {
            "ALTER TABLE entries DISABLE TRIGGER USER; ALTER TABLE audit_log DISABLE TRIGGER USER;
             ALTER TABLE seals DISABLE TRIGGER USER"
        }
    }
}

const THROUGH_PYTHON: &str = "import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.executescript(sys.argv[2])
database.commit()";

async fn nothing_replaces_an_entry_or_a_line(database: Database) {
    let gateway = Gateway::start(database).await;
    gateway.merchant().await.fund("MXN", 1_000).await;
    let replaces: &[&str] = match database {
        Database::Sqlite => &[
            "INSERT OR REPLACE INTO entries SELECT * FROM entries",
            "REPLACE INTO audit_log SELECT * FROM audit_log",
            "INSERT INTO entries SELECT * FROM entries WHERE true ON CONFLICT DO UPDATE SET amount = 1",
            "UPDATE OR REPLACE entries SET line = 1",
        ],
        Database::Postgres => &[
            "INSERT INTO entries SELECT * FROM entries ON CONFLICT (merchant_id, environment, transaction_id, line)
                DO UPDATE SET amount = 1",
            "INSERT INTO audit_log SELECT * FROM audit_log ON CONFLICT (id) DO UPDATE SET actor_name = 'nobody'",
            "TRUNCATE entries",
        ],
    };
    for statement in replaces {
        let refused = gateway.execute_sql(statement).expect_err(statement);
        assert!(refused.contains("never changed"), "{statement}: {refused}");
    }
    gateway.check();
}

async fn heads_that_were_written_down_tell_of_a_rewritten_history(database: Database) {
    let gateway = history(database).await;
    let heads = gateway.operator().get("/operator/v1/ledger/chains").await.ok();
    assert_eq!(heads["total"], heads["data"].as_array().expect("a list").len());
    let of_entries = &heads["data"][0];
    assert_eq!((&of_entries["book"], &of_entries["environment"]), (&json!("entries"), &json!("test")));
    let path = format!("/operator/v1/ledger/chains?merchant_id={}", of_entries["merchant_id"]);
    let of_one = gateway.operator().get(&path).await.ok();
    assert_eq!((&of_one["data"][0], &of_one["total"]), (of_entries, &json!(2)));
    let file = gateway.data_folder().join("heads.json");
    let printed = gateway.run(&["chain", "heads"]);
    std::fs::write(&file, printed.ok()).expect("written down");
    let compare = ["chain", "compare", file.to_str().expect("UTF-8")];
    let same: Value = serde_json::from_str(gateway.run(&compare).ok()).expect("JSON");
    assert_eq!((&same["compared"], &same["missed"]), (&heads["total"], &json!([])));
    // The history is cut short or rewritten so well that nothing contradicts it but what was written down.
    let mut published: Value = serde_json::from_str(printed.ok()).expect("JSON");
    published["heads"][0]["hash"] = json!("0".repeat(64));
    published["heads"][1]["rows"] = json!(1_000_000);
    std::fs::write(&file, published.to_string()).expect("written down");
    let other = gateway.run(&compare);
    assert_eq!(other.status, Some(1));
    let other: Value = serde_json::from_str(&other.stdout).expect("JSON");
    assert_eq!(other["missed"].as_array().map(Vec::len), Some(2), "{other}");
}

async fn every_check_of_a_server_sees_what_there_is_by_then(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, operator) = (gateway.merchant().await, gateway.operator());
    let breaches = async || operator.get("/operator/v1/ledger/check").await.data()["breaches"].clone();
    // Enough for the index of their search to be put in order several times.
    for number in 0..40 {
        let ticket = json!({ "title": format!("No. {number}"), "description": draft::reference() });
        assert_eq!(merchant.api.post("/api/v1/tickets", &ticket).await.status, 201);
        if number % 5 == 0 {
            assert_eq!(breaches().await, json!([]), "after {number}");
        }
    }
    if database == Database::Sqlite {
        gateway.execute_sql("DELETE FROM ticket_search_data WHERE id > 10").expect("deleted");
        assert_eq!(breaches().await[0]["invariant"], "file_integrity");
    }
}
