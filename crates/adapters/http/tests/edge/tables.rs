//! What parameters and bodies of calls other than creations have to look like, table by table (docs/API.md). Two or three rows of
//! each table go through a process and a database, too (tests/suite).

use quipu_tests::Table;
use serde_json::{Value, json};

use crate::shop::Shop;

/// Every query must be refused for this parameter.
async fn each_is_refused(list: &str, rows: &[(&str, &str)]) {
    let (shop, mut table) = (Shop::open().await, Table::new());
    for (query, field) in rows {
        let answer = shop.get(&format!("{list}?{query}")).await;
        if list.ends_with("/tickets") {
            table.note(query, names_of_ticket(&answer.json(), field));
        } else {
            table.invalid(query, &answer, field);
        }
    }
    table.finish();
}

/// A refusal in the shape of ticket endpoints that names this field.
fn names_of_ticket(body: &Value, field: &str) -> Result<(), String> {
    let told = body["error"].as_str().unwrap_or_default();
    let named = told.split("; ").any(|problem| problem.starts_with(&format!("{field} ")));
    let refused = body["error_code"] == "VALIDATION_FAILED" && body["success"] == false;
    if named && refused { Ok(()) } else { Err(format!("{field} is not named: {body}")) }
}

#[actix_web::test]
async fn the_parameters_of_lists_of_payments() {
    let rows = [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=-1", "limit"),
        ("limit=ten", "limit"),
        ("limit=1.5", "limit"),
        ("limit=", "limit"),
        ("limit=99999999999999999999", "limit"),
        ("offset=-1", "offset"),
        ("offset=x", "offset"),
        ("status=done", "status"),
        ("status=", "status"),
        ("type=refund", "type"),
        ("method=paypal", "method"),
        ("currency=pesos", "currency"),
        ("customer_id=x", "customer_id"),
        ("created_at_from=yesterday", "created_at_from"),
        ("created_at_to=2026-13-01", "created_at_to"),
        ("limit=1&limit=2", "limit"),
        ("status=pending&status=failed", "status"),
        ("currency=MXN&currency=MXN", "currency"),
        ("offset=%00", "offset"),
        ("status=%FF", "status"),
        ("status=pending'--", "status"),
    ];
    each_is_refused("/api/v1/payments", &rows).await;
}

#[actix_web::test]
async fn the_parameters_of_lists_of_tickets() {
    let long = format!("search={}", "x".repeat(101));
    let rows = [
        ("status=gone", "status"),
        ("status=open&status=gone", "status"),
        ("category=gossip", "category"),
        (long.as_str(), "search"),
        ("search=a&search=b", "search"),
        ("search=%00", "search"),
        ("payment_id=x", "payment_id"),
        ("created_after=soon", "created_after"),
        ("created_before=later", "created_before"),
        ("sort_by=title", "sort_by"),
        ("sort_order=up", "sort_order"),
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("offset=-1", "offset"),
    ];
    each_is_refused("/api/v1/tickets", &rows).await;
}

#[actix_web::test]
async fn the_parameters_of_balances() {
    let rows = [
        ("currency=GEL", "currency"),
        ("currency=USD", "currency"),
        ("currency=mxn", "currency"),
        ("currency=", "currency"),
        ("balance_type=all", "balance_type"),
        ("balance_type=main&balance_type=main", "balance_type"),
    ];
    each_is_refused("/api/v1/balance", &rows).await;
    let shop = Shop::open().await;
    for currency in ["ARS", "AUD", "LKR", "MXN", "TRY", "UYU"] {
        for balance_type in ["main", "deposit", "withdrawal", "commission", "frozen"] {
            let query = format!("currency={currency}&balance_type={balance_type}");
            let read = shop.get(&format!("/api/v1/balance?{query}")).await.ok();
            let echoed = (&read["currency"], &read["balance_type"]);
            assert_eq!(echoed, (&json!(currency), &json!(balance_type)), "{query}");
        }
    }
}

#[actix_web::test]
async fn the_members_and_parameters_of_endpoints() {
    let (shop, mut table) = (Shop::open().await, Table::new());
    for (member, wrong) in [
        ("url", json!(null)),
        ("url", json!("ftp://a.example")),
        ("url", json!(format!("https://a.example/{}", "x".repeat(2048)))),
        ("events", json!(["payment.paid"])),
        ("events", json!([])),
        ("events", json!("payment.created")),
        ("description", json!(7)),
        ("secret", json!("whsec_short")),
    ] {
        let mut body = json!({ "url": "https://a.example" });
        body[member] = wrong;
        table.invalid(&body, &shop.post("/api/v1/webhooks", &body).await, member);
    }
    let made = shop.post("/api/v1/webhooks", &json!({ "url": "https://a.example" })).await.data();
    let path = format!("/api/v1/webhooks/{}", made["id"].as_str().expect("an id"));
    for (rest, body, field) in [
        ("/test", json!({}), "event_type"),
        ("/test", json!({ "event_type": "payment.paid" }), "event_type"),
        ("/retry", json!({ "since": "yesterday" }), "since"),
    ] {
        table.invalid(rest, &shop.post(&format!("{path}{rest}"), &body).await, field);
    }
    let log = format!("{path}/events?status=lost");
    table.invalid("events", &shop.get(&log).await, "status");
    table.invalid("source", &shop.get("/api/v1/webhooks?source=elsewhere").await, "source");
    for id in ["x", "00000000-0000-7000-8000-000000000000"] {
        let answer = shop.get(&format!("/api/v1/webhooks/{id}")).await;
        table.refused(id, &answer, 404, "WEBHOOK_NOT_FOUND");
    }
    table.finish();
}

#[actix_web::test]
async fn what_a_question_about_a_method_is_answered() {
    let (shop, mut table) = (Shop::open().await, Table::new());
    let ask = async |body: &Value| shop.post("/api/v1/payments/methods/validate", body).await;
    let deposit =
        |method: &str, currency: &str| json!({ "method": method, "currency": currency, "type": "deposit" });
    let amount =
        |amount: Value| json!({ "method": "spei", "currency": "MXN", "type": "deposit", "amount": amount });
    let payout = json!({
        "method": "bank_transfer", "currency": "ARS", "type": "withdrawal", "payout": { "bank_account": "1" }
    });
    let judged = [
        (deposit("card", "MXN"), "METHOD_NOT_AVAILABLE"),
        (deposit("cash", "EUR"), "CURRENCY_NOT_ENABLED"),
        (payout, "VALIDATION_FAILED"),
        (amount(json!(0)), "VALIDATION_FAILED"),
        (amount(json!(i64::MAX)), "VALIDATION_FAILED"),
        (amount(json!(u64::MAX)), "VALIDATION_FAILED"),
        (amount(json!(1e20)), "VALIDATION_FAILED"),
    ];
    for (body, code) in judged {
        let told = ask(&body).await.data();
        let named = told["errors"][0]["code"] == code && told["errors"][0]["message"].is_string();
        let right = told["valid"] == false && named;
        table.note(body, if right { Ok(()) } else { Err(format!("{told} instead of {code}")) });
    }
    for body in [deposit("paypal", "MXN"), deposit("spei", "pesos")] {
        assert_eq!(ask(&body).await.data()["valid"], false, "{body}");
    }
    for body in [
        amount(json!(1e5)),
        amount(json!("1")),
        json!({}),
        json!({ "method": 5, "currency": "MXN", "type": "deposit" }),
        json!([]),
    ] {
        table.refused(&body, &ask(&body).await, 400, "VALIDATION_FAILED");
    }
    table.finish();
}
