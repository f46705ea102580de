//! What a gateway measures of itself is documented, and dashboard and alerts ask for nothing else.

use std::{collections::BTreeSet, fmt::Write as _, process::Command};

use quipu_tests::{Database, ScratchFolder, Setup, draft, eventually};
use reqwest::Method;
use serde_json::{Value, json};

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
    let judged = Command::new("promtool").args(["check", "rules"]).args([rules, asked]).output();
    let judged = judged.expect("promtool is there; tests/bed/suite.sh installs it");
    let said = [judged.stdout, judged.stderr].concat();
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&said));
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
