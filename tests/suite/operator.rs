//! The operator's interface: onboarding, funding, history.

use quipu_tests::{Database, Gateway, Table, draft, on_both_databases};
use serde_json::json;

on_both_databases!(
    a_merchant_is_onboarded_step_by_step,
    adjustments_are_postings_like_any_other,
    a_new_merchant_can_do_everything_in_the_test_environment_and_nothing_live,
    a_merchant_may_begin_suspended,
    every_change_is_in_the_audit_log,
    what_changes_nothing_is_not_in_the_audit_log,
    lists_are_narrowed_by_the_common_parameters,
    wrong_requests_are_refused_in_shape,
);

async fn a_merchant_is_onboarded_step_by_step(database: Database) {
    let gateway = Gateway::start(database).await;
    let operator = gateway.operator();
    let body = json!({ "name": "Tienda", "return_urls": { "success_url": "https://tienda.example/ok" } });
    let created = operator.post("/operator/v1/merchants", &body).await.data();
    let id = created["merchant_id"].as_i64().expect("a number");
    assert_eq!((&created["name"], &created["api_version"]), (&json!("Tienda"), &json!("v1")));
    assert_eq!(created["status"], "active");
    for environment in ["test", "live"] {
        let secret = created["default_webhook_secrets"][environment].as_str().expect("a secret");
        assert!(secret.starts_with("whsec_"));
    }
    assert_eq!(created["default_webhook_secret"], created["default_webhook_secrets"]["test"]);
    let path = format!("/operator/v1/merchants/{id}");
    assert_eq!(operator.get(&path).await.data()["name"], "Tienda");
    assert_eq!(operator.patch(&path, &json!({ "name": "Tienda 2" })).await.data()["name"], "Tienda 2");
    let list = operator.get("/operator/v1/merchants?limit=100").await.ok();
    assert!(list["data"].as_array().expect("a list").iter().any(|merchant| merchant["merchant_id"] == id));
    let keys = format!("{path}/api-keys");
    let issued = operator.post(&keys, &json!({ "environment": "test", "name": "first" })).await.data();
    let api = gateway.anonymous().with_api_key(issued["key"].as_str().expect("a key"));
    let payment = api.create(&draft::deposit_mxn(100)).await.ok();
    let payment = api.payment(payment["transaction_id"].as_str().expect("a string")).await;
    assert_eq!(payment["return_urls"]["success_url"], "https://tienda.example/ok");
    let own = api.get(&format!("/api/v1/merchants/{id}")).await.data();
    assert_eq!((&own["merchant_id"], &own["environment"]), (&json!(id), &json!("test")));
    assert_eq!(own["default_webhook_secret"], created["default_webhook_secret"]);
    let issued = operator.post(&keys, &json!({ "environment": "live" })).await.data();
    let live = gateway.anonymous().with_api_key(issued["key"].as_str().expect("a key"));
    let own = live.get(&format!("/api/v1/merchants/{id}")).await.data();
    assert_eq!((&own["merchant_id"], &own["environment"]), (&json!(id), &json!("live")));
    assert_eq!(own["default_webhook_secret"], created["default_webhook_secrets"]["live"]);
    assert_ne!(own["default_webhook_secret"], created["default_webhook_secret"]);
}

async fn adjustments_are_postings_like_any_other(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("MXN", 1_000).await;
    merchant.fund("MXN", -400).await;
    assert_eq!(merchant.balance("MXN").await, (600, 0));
    let adjust = async |body| gateway.operator().post(&merchant.operator_path("/adjustments"), &body).await;
    let body = |amount: serde_json::Value| json!({ "environment": "test", "currency": "MXN", "amount": amount, "reason": "correction" });
    adjust(body(json!(-601))).await.refused(400, "INSUFFICIENT_BALANCE");
    for amount in [json!(0), json!(1.5), json!("5"), json!(null), json!(9_007_199_254_740_992_i64)] {
        adjust(body(amount)).await.invalid("amount");
    }
    adjust(body(json!(9_007_199_254_740_991_i64))).await.refused(400, "AMOUNT_OUT_OF_RANGE");
    assert_eq!(merchant.balance("MXN").await, (600, 0));
    gateway.check();
}

async fn a_new_merchant_can_do_everything_in_the_test_environment_and_nothing_live(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let mut found = Vec::new();
    for route in merchant.routes().await {
        let plain = json!({
            "environment": "test", "enabled": true, "rail": "simulator", "min_amount": 1, "max_amount": null,
            "fee_bps": 0, "fee_fixed": 0, "expires_in": null, "required_payout_fields": [], "account_check": "format",
        });
        for (member, value) in plain.as_object().expect("an object") {
            assert_eq!(&route[member], value, "{member} of {route}");
        }
        let text = |member: &str| route[member].as_str().expect("a text").to_owned();
        let partner = if route["partner"] == true { " to a partner" } else { "" };
        found.push(format!("{} {} {}{partner}", text("currency"), text("method"), text("direction")));
    }
    found.sort_unstable();
    let expected = [
        "ARS bank_transfer deposit",
        "ARS bank_transfer withdrawal",
        "AUD bank_transfer deposit",
        "AUD bank_transfer withdrawal",
        "AUD payid deposit",
        "AUD payid withdrawal",
        "GEL bank_transfer withdrawal to a partner",
        "LKR redirectpay deposit",
        "MXN spei deposit",
        "MXN spei withdrawal",
        "UYU bank_transfer deposit",
        "UYU bank_transfer withdrawal",
    ];
    assert_eq!(found, expected);
    let live = merchant.key(&json!({ "environment": "live" })).await;
    live.create(&draft::deposit_mxn(100)).await.refused(400, "CURRENCY_NOT_ENABLED");
    // What the operator changes counts for the next creation.
    merchant.create(&draft::deposit_mxn(100)).await;
    merchant.edit_routes(|route| route["enabled"] = json!(route["currency"] != "MXN")).await;
    merchant.api.create(&draft::deposit_mxn(100)).await.refused(400, "METHOD_NOT_AVAILABLE");
    merchant.edit_routes(|route| (route["enabled"], route["fee_fixed"]) = (json!(true), json!(7))).await;
    assert_eq!(merchant.api.create(&draft::deposit_mxn(100)).await.ok()["fee"], 7);
    let routes = merchant.operator_path("/routes");
    gateway.operator().put(&routes, &json!({ "routes": [] })).await.data();
    merchant.api.create(&draft::deposit_mxn(100)).await.refused(400, "CURRENCY_NOT_ENABLED");
}

async fn a_merchant_may_begin_suspended(database: Database) {
    let gateway = Gateway::start(database).await;
    let operator = gateway.operator();
    let merchants = "/operator/v1/merchants";
    let body = json!({ "name": "Not yet", "status": "suspended" });
    let id = operator.post(merchants, &body).await.data()["merchant_id"].as_i64().expect("a number");
    let keys = format!("{merchants}/{id}/api-keys");
    let key = operator.post(&keys, &json!({ "environment": "test" })).await.data();
    let api = gateway.anonymous().with_api_key(key["key"].as_str().expect("a key"));
    let refused = api.get("/api/v1/balance").await.refused(403, "MERCHANT_SUSPENDED");
    assert_eq!(refused["error"], "Forbidden");
    operator.patch(&format!("{merchants}/{id}"), &json!({ "status": "active" })).await.data();
    api.get("/api/v1/balance").await.ok();
    operator.post(merchants, &json!({ "name": "x", "status": "gone" })).await.invalid("status");
}

async fn what_changes_nothing_is_not_in_the_audit_log(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let operator = gateway.operator();
    let key = merchant.issue(&json!({})).await;
    let key = merchant.operator_path(&format!("/api-keys/{}", key["key_id"].as_str().expect("a text")));
    let log = format!("/operator/v1/audit-log?merchant_id={}&limit=1", merchant.id);
    operator.delete(&key).await.data();
    operator.patch(&merchant.operator_path(""), &json!({ "status": "suspended" })).await.data();
    let before = operator.get(&log).await.ok();
    let line = &before["data"][0];
    assert_eq!(
        (&line["action"], &line["actor"]["name"]),
        (&json!("merchant.update"), &json!("Demo operator"))
    );
    assert_eq!(
        (&line["before"]["status"], &line["after"]["status"]),
        (&json!("active"), &json!("suspended"))
    );
    operator.delete(&key).await.data();
    operator.patch(&merchant.operator_path(""), &json!({ "status": "suspended" })).await.data();
    operator.patch(&merchant.operator_path(""), &json!({})).await.data();
    assert_eq!(operator.get(&log).await.ok(), before);
}

async fn lists_are_narrowed_by_the_common_parameters(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let operator = gateway.operator();
    let beneficiary = json!({ "environment": "test", "kind": "sepa", "iban": "DE89370400440532013000",
        "beneficiaryName": "Ana" });
    operator.post(&merchant.operator_path("/beneficiaries"), &beneficiary).await.data();
    operator.patch(&merchant.operator_path(""), &json!({ "status": "suspended" })).await.data();
    let total = async |path: &str| operator.get(path).await.ok()["total"].as_u64().expect("a total");
    let merchants = "/operator/v1/merchants";
    // The two of the demo are active.
    assert_eq!(total(merchants).await, 3);
    assert_eq!(total(&format!("{merchants}?status=suspended")).await, 1);
    assert_eq!(total(&format!("{merchants}?merchant_id={}", merchant.id)).await, 1);
    assert_eq!(total(&format!("{merchants}?merchant_id={}&status=active", merchant.id)).await, 0);
    let of_merchant = format!("/operator/v1/audit-log?merchant_id={}", merchant.id);
    assert_eq!(total(&of_merchant).await, 4, "merchant, key, beneficiary, suspension");
    let other = lists_of_another(&gateway).await;
    let mut table = Table::new();
    for list in [
        merchants,
        &of_merchant,
        &merchant.operator_path("/api-keys"),
        &merchant.operator_path("/beneficiaries"),
        "/operator/v1/operators",
        &other.webhooks,
        &other.refunds,
        &other.comments,
    ] {
        let with = |query: &str| format!("{list}{}{query}", if list.contains('?') { '&' } else { '?' });
        let all = total(list).await;
        assert_ne!(all, 0, "{list}");
        let now = quipu_tests::instant_in(std::time::Duration::from_hours(1));
        for (bound, found) in [
            (format!("created_at_from=2020-01-01&created_at_to={now}"), all),
            (format!("created_at_from={now}"), 0),
            ("created_at_to=2020-01-01".to_owned(), 0),
        ] {
            assert_eq!(total(&with(&bound)).await, found, "{list} {bound}");
        }
        for (query, field) in
            [("limit=0", "limit"), ("offset=x", "offset"), ("created_at_from=soon", "created_at_from")]
        {
            table.invalid(with(query), &operator.get(&with(query)).await, field);
        }
    }
    let wrong = format!("{merchants}?status=gone");
    table.invalid(&wrong, &operator.get(&wrong).await, "status");
    table.finish();
}

/// The paths of lists that are not empty.
struct Lists {
    webhooks: String,
    refunds: String,
    comments: String,
}

/// Another merchant with a webhook, a refund, and a ticket with a comment and a note.
async fn lists_of_another(gateway: &Gateway) -> Lists {
    let (merchant, operator) = (gateway.merchant().await, gateway.operator());
    merchant.api.post("/api/v1/webhooks", &json!({ "url": "http://127.0.0.1:9/" })).await.ok();
    let payment = merchant.create(&draft::deposit_mxn(100)).await;
    merchant.wait_for(&payment, "completed").await;
    let refunds = format!("/operator/v1/payments/{payment}/refunds");
    operator.post(&refunds, &json!({ "amount": 40 })).await.ok();
    let ticket = merchant.api.post("/api/v1/tickets", &json!({ "title": "Where is it?" })).await.json();
    let ticket = ticket["data"]["ticket_id"].as_str().expect("a text").to_owned();
    let comments = format!("/operator/v1/tickets/{ticket}/comments");
    for internal in [false, true] {
        operator.post(&comments, &json!({ "body": "We look.", "internal": internal })).await.data();
    }
    let webhooks = format!("{}?environment=test", merchant.operator_path("/webhooks"));
    Lists { webhooks, refunds, comments }
}

async fn every_change_is_in_the_audit_log(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("MXN", 1_000).await;
    gateway.operator().patch(&merchant.operator_path(""), &json!({ "name": "Renamed" })).await.data();
    merchant.edit_routes(|route| route["min_amount"] = json!(5)).await;
    let answer = gateway
        .operator()
        .get(&format!("/operator/v1/audit-log?merchant_id={}&limit=100", merchant.id))
        .await;
    let list = answer.ok();
    let entries = list["data"].as_array().expect("a list");
    assert_eq!(list["total"], entries.len());
    assert!(entries.len() >= 5, "merchant, key, adjustment, name, routes: {answer}");
    for said in ["Renamed", "1000", "pre-funding"] {
        assert!(answer.text.contains(said), "{said}: {answer}");
    }
    assert!(!answer.text.contains("qp_test_sk_") && !answer.text.contains("whsec_"), "no secret in the log");
}

async fn wrong_requests_are_refused_in_shape(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let operator = gateway.operator();
    operator.post("/operator/v1/merchants", &json!({})).await.invalid("name");
    operator
        .post("/operator/v1/merchants", &json!({ "name": "x", "api_version": "v3" }))
        .await
        .invalid("api_version");
    operator.get("/operator/v1/merchants/999999").await.refused(404, "MERCHANT_NOT_FOUND");
    operator.get("/operator/v1/merchants?limit=101").await.invalid("limit");
    operator.patch(&merchant.operator_path(""), &json!({ "status": "gone" })).await.invalid("status");
    let keys = merchant.operator_path("/api-keys");
    operator.post(&keys, &json!({ "environment": "moon" })).await.invalid("environment");
    let key = json!({ "environment": "test", "scopes": ["payments.steal"] });
    operator.post(&keys, &key).await.invalid("scopes");
    let beneficiary = json!({ "environment": "test", "kind": "bank", "iban": "x" });
    operator.post(&merchant.operator_path("/beneficiaries"), &beneficiary).await.invalid("iban");
    let route =
        json!({ "environment": "test", "currency": "MXN", "method": "spei", "direction": "sideways" });
    let answer = operator.put(&merchant.operator_path("/routes"), &json!({ "routes": [route] })).await;
    answer.refused(400, "VALIDATION_FAILED");
}
