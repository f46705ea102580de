//! What staff write is read by one rule, and refused in the same words, over HTTP and in the shell.

use quipu_tests::{Database, Gateway, draft};
use serde_json::{Value, json};

/// Refuses a body over HTTP and a command for the same reasons.
async fn refuse(gateway: &Gateway, method: &str, path: &str, body: &Value, command: &[&str]) {
    let operator = gateway.operator();
    let answer = match method {
        "GET" => operator.get(path).await,
        "PATCH" => operator.patch(path, body).await,
        "PUT" => operator.put(path, body).await,
        _ => operator.post(path, body).await,
    };
    let answer = answer.refused(400, "VALIDATION_FAILED");
    let output = gateway.run(command);
    assert_eq!(output.status, Some(2), "{command:?}: {}", output.stderr);
    for words in answer["message"].as_array().expect("a list").iter().filter_map(Value::as_str) {
        assert!(output.stderr.contains(words), "{command:?}: {words}: {}", output.stderr);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn onboarding_is_refused_in_the_same_words_over_http_and_in_the_shell() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let merchant = gateway.merchant().await;
    let (id, long) = (merchant.id.to_string(), "x".repeat(256));
    for name in ["", "a\nb", &long] {
        let command = ["merchant", "create", "--name", name];
        refuse(&gateway, "POST", "/operator/v1/merchants", &json!({ "name": name }), &command).await;
        let command = ["merchant", "rename", &id, "--name", name];
        refuse(&gateway, "PATCH", &merchant.operator_path(""), &json!({ "name": name }), &command).await;
        let body = json!({ "name": name, "role": "admin" });
        let command = ["operator", "create", "--role", "admin", "--name", name];
        refuse(&gateway, "POST", "/operator/v1/operators", &body, &command).await;
    }
    let body = json!({ "return_urls": { "success_url": "javascript:x" } });
    let command = ["merchant", "return-urls", &id, "--success-url", "javascript:x"];
    refuse(&gateway, "PATCH", &merchant.operator_path(""), &body, &command).await;
    let body = json!({ "name": " ", "accent": "red" });
    let command = ["page", "set", &id, "--name", " ", "--accent", "red"];
    refuse(&gateway, "PUT", &merchant.operator_path("/page"), &body, &command).await;
    for (member, value, options) in [
        ("name", json!(long), ["--name", &long]),
        ("scopes", json!(["payments.steal"]), ["--scopes", "payments.steal"]),
        ("expires_at", json!("soon"), ["--expires-at", "soon"]),
        ("rate_limits", json!({ "create_per_10s": 0 }), ["--create-per-10s", "0"]),
    ] {
        let body = json!({ "environment": "test", member: value });
        let command = [&["key", "create", &id, "--environment", "test"][..], &options].concat();
        refuse(&gateway, "POST", &merchant.operator_path("/api-keys"), &body, &command).await;
    }
    let body = json!({ "environment": "test", "rate_limits": { "create_per_10s": 0 } });
    let command = ["credential", "create", &id, "--environment", "test", "--create-per-10s", "0"];
    refuse(&gateway, "POST", &merchant.operator_path("/hmac-credentials"), &body, &command).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decisions_about_money_are_refused_in_the_same_words_over_http_and_in_the_shell() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let merchant = gateway.merchant().await;
    let payment = merchant.create(&draft::deposit_mxn(100)).await;
    let (id, long) = (merchant.id.to_string(), "x".repeat(501));
    for (amount, reason) in [("0", "a gift"), ("9007199254740992", "a gift"), ("7", ""), ("7", &long)] {
        let units: i64 = amount.parse().expect("a number");
        let body = json!({ "environment": "test", "currency": "MXN", "amount": units, "reason": reason });
        let command = ["merchant", "adjust", &id, "--environment", "test", "--currency", "MXN"];
        let command = [&command[..], &["--amount", amount, "--reason", reason]].concat();
        refuse(&gateway, "POST", &merchant.operator_path("/adjustments"), &body, &command).await;
    }
    let refunds = format!("/operator/v1/payments/{payment}/refunds");
    let refund = ["payment", "refund", &payment, "--amount", "0", "--reason", &long, "--ticket", &long];
    let body = json!({ "amount": 0, "reason": long, "ticket_id": long });
    refuse(&gateway, "POST", &refunds, &body, &refund).await;
    let failure = format!("/operator/v1/payments/{payment}/fail");
    let fail = ["payment", "fail", &payment, "--reason", &long, "--rail-reference", "a\nb"];
    let body = json!({ "reason": long, "rail_reference": "a\nb" });
    refuse(&gateway, "POST", &failure, &body, &fail).await;
    for (query, options) in
        [("limit=101", ["--limit", "101"]), ("offset=9007199254740992", ["--offset", "9007199254740992"])]
    {
        let path = format!("/operator/v1/audit-log?{query}");
        refuse(&gateway, "GET", &path, &Value::Null, &[&["audit"][..], &options].concat()).await;
    }
}
