//! `quipu check` against databases that somebody has tampered with: every kind of it is named.
//!
//! One gateway makes a little history and stops. Each case then has a copy of its database to itself.

mod tampering;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use quipu_tests::{
    CommandOutput, Database, Gateway, Setup, TestDatabase, draft, eventually, on_both_databases,
};
use serde_json::{Value, json};

use self::tampering::{TAMPERED, tampered_in, unguarded};

on_both_databases!(
    every_kind_of_tampering_is_named,
    nothing_replaces_an_entry_or_a_line,
    heads_that_were_written_down_tell_of_a_rewritten_history,
    every_check_of_a_server_sees_what_there_is_by_then,
);

async fn every_kind_of_tampering_is_named(database: Database) {
    let mut gateway = history(database).await;
    gateway.check();
    assert_eq!(gateway.terminate().await, Some(0));
    let original = Original::of(&gateway);
    let breaches = async |what: &str| {
        let copy = original.copy().await;
        copy.execute(what).ok();
        let mut checked = copy.check(&gateway);
        // A busy machine may take longer to connect than the command waits.
        for _ in 0..2 {
            if checked.stderr.contains("no connection") {
                checked = copy.check(&gateway);
            }
        }
        let report: Value = serde_json::from_str(&checked.stdout).unwrap_or_default();
        let found = report["breaches"].as_array().filter(|_| checked.status == Some(1)).cloned();
        found.ok_or_else(|| format!("{:?} {}{}", checked.status, checked.stdout, checked.stderr))
    };
    // What is named once the triggers are gone is no proof that anything else was noticed.
    let free = unguarded(database);
    let of_freeing = breaches(free).await.expect("the triggers are missed");
    let freed = TAMPERED.iter().map(|(what, invariant)| (format!("{free}; {what}"), invariant, &of_freeing));
    let none = Vec::new();
    let own = tampered_in(database).iter().map(|(what, invariant)| ((*what).to_owned(), invariant, &none));
    let mut missed = Vec::new();
    for (what, invariant, known) in freed.chain(own) {
        match breaches(&what).await {
            Ok(found) => {
                let mut new = found.iter().filter(|breach| !known.contains(breach));
                if !new.any(|breach| breach["invariant"] == *invariant) {
                    missed.push(format!("{what}: {found:#?}"));
                }
            }
            Err(said) => missed.push(format!("{what}: {said}")),
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
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
    decide(&refunded, "refunds", json!({ "amount": 300, "reason": "a part of it" })).await;
    decide(&refunded, "refunds", json!({ "amount": 200, "reason": "another part" })).await;
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
            "REPLACE INTO audit_log (rowid, id, at, actor_id, actor_name, action, subject, before, after)
                SELECT rowid, 'other' || id, at, actor_id, 'nobody', action, subject, before, after FROM audit_log",
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

/// SQLite's own check lists what it finds at some damage, and ends with an error at most.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_page_is_a_breach_of_the_file() {
    let mut gateway = history(Database::Sqlite).await;
    assert_eq!(gateway.terminate().await, Some(0));
    let original = Original::of(&gateway);
    for root in ["payments", "entries", "events_key", "payments_holding_reference", "work"] {
        let copy = original.copy().await;
        let Copied::File(file) = &copy else { unreachable!("it is a file") };
        let damaged = Command::new("python3").args(["-c", DAMAGE]).arg(file).arg(root).output();
        CommandOutput::from(damaged.expect("python3")).ok();
        let checked = copy.check(&gateway);
        assert_eq!(checked.status, Some(1), "{root}: {}", checked.stderr);
        let report: Value = serde_json::from_str(&checked.stdout).expect("JSON");
        assert_eq!(report["breaches"][0]["invariant"], "file_integrity", "{root}: {report}");
    }
}

/// Fills the first page of a table or an index with zeros.
const DAMAGE: &str = "import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
size = database.execute('PRAGMA page_size').fetchone()[0]
page = database.execute('SELECT rootpage FROM sqlite_master WHERE name = ?', (sys.argv[2],)).fetchone()[0]
database.close()
with open(sys.argv[1], 'r+b') as file:
    file.seek((page - 1) * size)
    file.write(bytes(size))";
