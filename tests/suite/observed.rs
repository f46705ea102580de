//! What a gateway measures of itself is documented, and dashboard and alerts ask for nothing else.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
};

use quipu_tests::{Database, ScratchFolder, Setup, draft, eventually};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::deploy::text;

/// The metrics that a text names.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let names = words.filter(|word| word.starts_with("quipu_"));
    let plain = |name: &str| {
        let stem = ["_bucket", "_sum", "_count"].iter().find_map(|ending| name.strip_suffix(ending));
        stem.unwrap_or(name).to_owned()
    };
    names.map(plain).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_metric_is_documented_and_there_is_every_documented_metric() {
    let setup = Setup::new(Database::Sqlite).set("LOG__FORMAT", "json");
    let gateway = setup.set("LIMITS__UNAUTHENTICATED_PER_MINUTE", "1").start().await;
    let merchant = gateway.merchant().await;
    merchant.api.post("/api/v1/webhooks", &json!({ "url": "http://127.0.0.1:9/" })).await.data();
    let payment = merchant.create(&draft::deposit_mxn(100)).await;
    merchant.wait_for(&payment, "completed").await;
    gateway.operator().get("/operator/v1/ledger/check").await.data();
    for _ in 0..2 {
        gateway.anonymous().get("/api/v1/payments").await;
    }
    let metrics = gateway.metrics().await;
    let documented = metrics_in(&text("docs/OPERATIONS.md"));
    let same = async || {
        let answer = metrics.send(Method::GET, "/metrics", None, &[]).await;
        let lines = answer.text.lines().filter(|line| !line.starts_with('#'));
        let names: Vec<_> = lines.map(|line| line.split(['{', ' ']).next().unwrap_or_default()).collect();
        let shown = metrics_in(&names.join(" "));
        // What happened once is measured soon after.
        documented.is_subset(&shown).then_some(shown)
    };
    let shown = eventually("every documented metric to be shown", same).await;
    assert_eq!(shown, documented, "what is shown is documented");
}

#[test]
fn dashboard_and_alerts_ask_only_for_metrics_that_there_are() {
    let known = metrics_in(&text("docs/OPERATIONS.md"));
    let (dashboard, rules) = (text("deploy/grafana-dashboard.json"), text("deploy/prometheus-rules.yml"));
    for (file, asked) in [("dashboard", metrics_in(&dashboard)), ("rules", metrics_in(&rules))] {
        assert!(asked.len() > 5, "the {file} shows little: {asked:?}");
        let unknown: Vec<_> = asked.difference(&known).collect();
        assert!(unknown.is_empty(), "the {file} asks for {unknown:?}");
    }
    let alerts = rules.matches("- alert: ").count();
    assert_eq!(rules.matches("summary: ").count(), alerts, "each alert says what it means");
    assert_eq!(rules.matches("runbook: ").count(), alerts, "each alert says what to do");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_away_is_shown_and_what_waits_in_it_grows_older() {
    let setup = Setup::new(Database::Sqlite).set("LOG__FORMAT", "json");
    let gateway = setup.set("WEBHOOKS__RETRY_SCHEDULE", "1s").start().await;
    let merchant = gateway.merchant().await;
    merchant.api.post("/api/v1/webhooks", &json!({ "url": "http://127.0.0.1:9/" })).await.data();
    merchant.create(&draft::deposit_mxn(100)).await;
    let shown = async |name: &str| gateway.measured(name).await;
    assert!(shown("quipu_database_answers").await > 0.5 && shown("quipu_database_writes").await > 0.5);
    let (file, aside) = (gateway.data_folder().join("quipu.db"), gateway.data_folder().join("aside"));
    std::fs::rename(&file, &aside).expect("moved away");
    eventually("the database to be missed", async || {
        (shown("quipu_database_answers").await < 0.5).then_some(())
    })
    .await;
    assert!(shown("quipu_database_writes").await < 0.5);
    let before = shown("quipu_webhooks_oldest_seconds").await;
    eventually("what is owed to grow older", async || {
        (shown("quipu_webhooks_oldest_seconds").await > before + 1.0).then_some(())
    })
    .await;
    std::fs::rename(&aside, &file).expect("moved back");
    eventually("the database to be back", async || {
        (shown("quipu_database_answers").await > 0.5).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_that_wait_while_a_transaction_is_held_up_are_shown() {
    let gateway = Setup::new(Database::Sqlite).set("LOG__FORMAT", "json").start().await;
    let merchant = gateway.merchant().await;
    let hold = "import sqlite3, sys, time
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute('BEGIN IMMEDIATE')
print('held', flush=True)
time.sleep(60)";
    let mut holder = Command::new("python3");
    holder.args(["-c", hold]).arg(gateway.data_folder().join("quipu.db")).stdout(Stdio::piped());
    let mut holder = holder.spawn().expect("python3");
    let mut said = [0; 5];
    holder.stdout.take().expect("a pipe").read_exact(&mut said).expect("it holds the file");
    let creations: JoinSet<_> = (0..30)
        .map(|_| {
            let api = merchant.api.clone();
            async move { api.post("/api/v1/payments", &draft::deposit_mxn(100)).await }
        })
        .collect();
    eventually("changes to wait", async || {
        (gateway.measured("quipu_commit_waiting").await > 0.5).then_some(())
    })
    .await;
    holder.kill().expect("let go");
    holder.wait().expect("ended");
    creations.join_all().await;
    // The payments settle meanwhile, and what settles them may wait for a moment too.
    eventually("nothing to wait any more", async || {
        (gateway.measured("quipu_commit_waiting").await < 0.5).then_some(())
    })
    .await;
}

/// What is to be seen of some minutes of measurements.
#[test]
fn alerts_fire_for_their_causes_and_not_otherwise() {
    let folder = ScratchFolder::new();
    let (rules, tests) = (folder.path().join("rules.yml"), folder.path().join("tests.yml"));
    std::fs::write(&rules, text("deploy/prometheus-rules.yml")).expect("written");
    let series = |name: &str, values: &str| format!("      - {{ series: '{name}', values: '{values}' }}\n");
    let of = |instance: &str, metric: &str| format!("{metric}{{job=\"quipu\",instance=\"{instance}\"}}");
    // The second node has no database from the fifth minute on, and cannot be written for a while
    // after it is back; the first found a breach, and a later check of the other none. Half an
    // hour later the clock of the second is set back.
    let measured = [
        series(&of("a", "quipu_database_answers"), "1x60"),
        series(&of("b", "quipu_database_answers"), "1x4 0x20 1x40"),
        series(&of("a", "quipu_database_writes"), "1x60"),
        series(&of("b", "quipu_database_writes"), "1x4 0x35 1x20"),
        series(&of("a", "quipu_ledger_breaches"), "2x60"),
        series(&of("a", "quipu_ledger_checked_timestamp_seconds"), "60x60"),
        series(&of("b", "quipu_ledger_breaches"), "0x60"),
        series(&of("b", "quipu_ledger_checked_timestamp_seconds"), "0x29 1800x30"),
        series(&of("a", "quipu_clock_ahead_seconds"), "-9x60"),
        series(&of("b", "quipu_clock_ahead_seconds"), "0x29 -11x30"),
    ]
    .concat();
    let fires = |at: &str, alert: &str, count: u32| {
        let asked = format!("count(ALERTS{{alertname=\"{alert}\",alertstate=\"firing\"}}) or vector(0)");
        let expected = format!("{{ labels: '{{}}', value: {count} }}");
        format!("      - {{ expr: '{asked}', eval_time: {at}, exp_samples: [{expected}] }}\n")
    };
    let expected = [
        fires("4m", "QuipuDatabaseAway", 0),
        fires("10m", "QuipuDatabaseAway", 1),
        fires("40m", "QuipuDatabaseAway", 0),
        fires("10m", "QuipuDatabaseUnwritable", 0),
        fires("30m", "QuipuDatabaseUnwritable", 1),
        fires("50m", "QuipuDatabaseUnwritable", 0),
        fires("10m", "QuipuLedgerBreach", 1),
        fires("40m", "QuipuLedgerBreach", 0),
        fires("20m", "QuipuClockOff", 0),
        fires("40m", "QuipuClockOff", 1),
    ]
    .concat();
    let file = format!(
        "rule_files: [rules.yml]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n{measured}    \
         promql_expr_test:\n{expected}"
    );
    std::fs::write(&tests, file).expect("written");
    judged_by_promtool(&["test", "rules"], &[&tests]);
}

fn judged_by_promtool(what: &[&str], files: &[&Path]) {
    let judged = Command::new("promtool").args(what).args(files).output();
    let judged = judged.expect("promtool is there; tests/bed/suite.sh installs it");
    let said = [judged.stdout, judged.stderr].concat();
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&said));
}

/// Prometheus' own program reads the rules, and the dashboard's questions as rules of their own.
#[test]
fn prometheus_understands_the_alerts_and_the_dashboard() {
    let folder = ScratchFolder::new();
    let (rules, asked) = (folder.path().join("rules.yml"), folder.path().join("dashboard.yml"));
    std::fs::write(&rules, text("deploy/prometheus-rules.yml")).expect("written");
    let dashboard: Value = serde_json::from_str(&text("deploy/grafana-dashboard.json")).expect("JSON");
    let mut questions = Vec::new();
    gather(&dashboard, &mut questions);
    assert!(questions.len() > 20, "the dashboard asks little: {questions:?}");
    let mut file = String::from("groups:\n  - name: dashboard\n    rules:\n");
    for (number, question) in questions.iter().enumerate() {
        // JSON's texts are YAML's.
        let _ = writeln!(file, "      - record: question:{number}\n        expr: {}", json!(question));
    }
    std::fs::write(&asked, file).expect("written");
    judged_by_promtool(&["check", "rules"], &[&rules, &asked]);
}

/// Every `expr` below a value.
fn gather<'a>(value: &'a Value, questions: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            questions.extend(members.get("expr").and_then(Value::as_str));
            members.values().for_each(|member| gather(member, questions));
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, questions)),
        _ => {}
    }
}
