//! What a newcomer does first: paste the lines that `quipu serve --dev` prints.

use std::{os::unix::fs::PermissionsExt, process::Command};

use quipu_tests::{Database, Gateway, blocks_of, document, on_both_databases};
use serde_json::{Value, json};

on_both_databases!(
    the_credentials_are_kept_in_one_file_and_printed_again,
    a_demo_whose_routes_were_changed_starts_without_its_page,
    the_printed_lines_work_as_they_stand,
    the_readme_lines_work_with_ones_own_key
);

/// Shell commands among printed lines: every line that begins with curl.
fn curl_commands(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| line.starts_with("curl ")).collect()
}

#[track_caller]
fn succeeds(command: &mut Command, what: &str) -> Value {
    let output = command.output().unwrap_or_else(|error| panic!("{error}: {what}"));
    let body = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{what}\n{body}\n{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {what}\n{body}"));
    assert_eq!(answer["success"], true, "{what}\n{body}");
    answer
}

async fn the_credentials_are_kept_in_one_file_and_printed_again(database: Database) {
    let mut gateway = Gateway::start(database).await;
    let path = gateway.data_folder().join("dev-credentials.json");
    let read = || -> Value { serde_json::from_slice(&std::fs::read(&path).expect("a file")).expect("JSON") };
    let first = read();
    let members = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(members(&first), ["base_url", "operator_token", "v1", "v2"]);
    assert_eq!(members(&first["v1"]), ["api_key", "merchant_id"]);
    assert_eq!(members(&first["v2"]), ["hmac_secret", "merchant_id"]);
    assert!(first["v1"]["merchant_id"].is_i64() && first["v2"]["merchant_id"].is_i64(), "{first}");
    assert_eq!(std::fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
    for (client, path) in [(gateway.v1(), "/api/v1/balance"), (gateway.v2(), "/api/v2/balance")] {
        let record = client.get(path).await.ok();
        assert!(record["new_balance"].as_i64() > Some(0), "pre-funded: {record}");
    }
    assert_eq!(gateway.terminate().await, Some(0));
    gateway.restart().await;
    let mut again = read();
    again["base_url"] = first["base_url"].clone();
    assert_eq!(again, first);
    let merchants = gateway.operator().get("/operator/v1/merchants").await.ok();
    assert_eq!(merchants["total"], 2, "the demo is made once");
    let printed = quipu_tests::eventually("the lines to be printed", async || {
        Some(gateway.stdout()).filter(|printed| !curl_commands(printed).is_empty())
    })
    .await;
    for pointer in ["/v1/api_key", "/v2/hmac_secret", "/operator_token"] {
        assert!(
            printed.contains(first.pointer(pointer).and_then(Value::as_str).expect("a text")),
            "{pointer}"
        );
    }
}

async fn a_demo_whose_routes_were_changed_starts_without_its_page(database: Database) {
    let mut gateway = Gateway::start(database).await;
    let of_page = format!("/operator/v1/merchants/{}/routes", gateway.credential("/v2/merchant_id"));
    gateway.operator().put(&of_page, &json!({ "routes": [] })).await.data();
    assert_eq!(gateway.terminate().await, Some(0));
    gateway.restart().await;
    let printed = quipu_tests::eventually("the lines to be printed", async || {
        Some(gateway.stdout()).filter(|printed| printed.ends_with("docs/OPERATIONS.md.\n"))
    })
    .await;
    assert!(printed.contains("Reference") && !printed.contains("Hosted page"), "{printed}");
    assert!(gateway.log().contains("the demo's page cannot be made"), "{}", gateway.log());
    let front = gateway.anonymous().get("/").await;
    assert!(front.status == 200 && !front.text.contains("/payment-pages/"), "{front}");
}

async fn the_printed_lines_work_as_they_stand(database: Database) {
    let gateway = Gateway::start(database).await;
    let printed = quipu_tests::eventually("the lines to be printed", async || {
        let printed = gateway.stdout();
        (curl_commands(&printed).len() >= 3).then_some(printed)
    })
    .await;
    let mut kinds = Vec::new();
    for command in curl_commands(&printed) {
        let answer = succeeds(Command::new("sh").arg("-c").arg(command), command);
        kinds.push(answer["type"].as_str().unwrap_or("other").to_owned());
    }
    for kind in ["deposit", "withdrawal", "other"] {
        assert!(kinds.iter().any(|found| found == kind), "no {kind} among {kinds:?}\n{printed}");
    }
    for shown in [
        gateway.credential("/v1/api_key"),
        gateway.credential("/v2/hmac_secret"),
        gateway.credential("/operator_token"),
    ] {
        assert!(printed.contains(&shown), "a credential is not printed");
    }
}

async fn the_readme_lines_work_with_ones_own_key(database: Database) {
    let gateway = Gateway::start(database).await;
    let readme = document("README.md");
    let commands: Vec<_> =
        blocks_of(&readme, "sh").into_iter().filter(|block| block.starts_with("curl ")).collect();
    assert!(commands.len() >= 3, "create a deposit, create a withdrawal, read the balance");
    for command in commands {
        let command = command
            .replace("http://127.0.0.1:8080", gateway.anonymous().base_url())
            .replace("qp_test_sk_…", &gateway.credential("/v1/api_key"));
        succeeds(Command::new("sh").arg("-c").arg(&command), &command);
    }
}
