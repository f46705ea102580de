//! The field table of the create request, row by row.

use quipu_tests::{
    Table,
    draft::{self, with, without},
};
use serde_json::{Value, json};

use crate::shop::Shop;

fn deposit() -> Value {
    draft::deposit_mxn(1_000)
}

#[actix_web::test]
async fn every_required_member_must_be_there() {
    let shop = Shop::open().await;
    let mut table = Table::new();
    for field in ["amount", "currency", "method", "type", "merchant_reference", "customer"] {
        let pointer = format!("/{field}");
        let answer = shop.create(&without(deposit(), &pointer)).await;
        table.invalid(format!("{field} missing"), &answer, field);
        let answer = shop.create(&with(deposit(), &pointer, Value::Null)).await;
        table.invalid(format!("{field} null"), &answer, field);
    }
    table.finish();
}

/// (pointer, value, field named by the refusal)
async fn each_is_invalid(shop: &Shop, draft: fn() -> Value, rows: &[(&str, Value, &str)]) {
    let mut table = Table::new();
    for (pointer, value, field) in rows {
        let answer = shop.create(&with(draft(), pointer, value.clone())).await;
        table.invalid(format!("{pointer} = {value}"), &answer, field);
    }
    table.finish();
}

async fn each_is_accepted(shop: &Shop, draft: fn() -> Value, rows: &[(&str, Value)]) {
    let mut table = Table::new();
    for (pointer, value) in rows {
        let answer = shop.create(&with(draft(), pointer, value.clone())).await;
        table.accepted(format!("{pointer} = {value}"), &answer);
    }
    table.finish();
}

#[actix_web::test]
async fn every_member_has_a_type_and_bounds() {
    let shop = Shop::open().await;
    let mut rows = vec![
        ("/currency", json!(""), "currency"),
        ("/currency", json!("mxn"), "currency"),
        ("/currency", json!("PESO"), "currency"),
        ("/method", json!("paypal"), "method"),
        ("/method", json!("SPEI"), "method"),
        ("/type", json!("refund"), "type"),
        ("/type", json!("Deposit"), "type"),
        ("/merchant_reference", json!(""), "merchant_reference"),
        ("/merchant_reference", json!("x".repeat(256)), "merchant_reference"),
        ("/merchant_reference", json!("line\nfeed"), "merchant_reference"),
        ("/merchant_reference", json!("null\u{0}"), "merchant_reference"),
        ("/customer", json!({}), "customer"),
        ("/customer/name", json!("n".repeat(256)), "customer.name"),
        ("/customer/name", json!("Ana\u{7}"), "customer.name"),
        ("/customer/email", json!(format!("{}@example.com", "e".repeat(243))), "customer.email"),
        ("/customer/phone", json!("5".repeat(33)), "customer.phone"),
        ("/customer_id", json!(0), "customer_id"),
        ("/customer_id", json!(-1), "customer_id"),
        ("/customer_id", json!(1.5), "customer_id"),
        ("/customer_id", json!("1"), "customer_id"),
        ("/customer_id", json!(999_999_999), "customer_id"),
        ("/payout", json!({ "recipient_name": "Ana" }), "payout"),
        ("/payout", json!({}), "payout"),
        ("/traffic_type", json!("tertiary"), "traffic_type"),
        ("/description", json!("d".repeat(501)), "description"),
        ("/description", json!("bell\u{7}"), "description"),
        ("/note", json!("n".repeat(501)), "note"),
        ("/external_id", json!("e".repeat(256)), "external_id"),
        ("/return_urls", json!({ "success_url": "javascript:alert(1)" }), "return_urls.success_url"),
        ("/return_urls", json!({ "cancel_url": "nowhere" }), "return_urls.cancel_url"),
        ("/redirectpay", json!({ "payment_method": "AMEX" }), "redirectpay.payment_method"),
        ("/redirectpay", json!({ "payment_method": "VISA", "colour": "red" }), "redirectpay"),
    ];
    let texts = ["currency", "method", "type", "merchant_reference", "traffic_type", "description", "note"];
    let objects = ["customer", "payout", "redirectpay", "return_urls"];
    let pointers: Vec<_> = texts.iter().chain(&objects).map(|field| (format!("/{field}"), *field)).collect();
    for (pointer, field) in &pointers {
        rows.extend([json!(7), json!(true), json!(["x"])].map(|value| (pointer.as_str(), value, *field)));
    }
    rows.extend(
        texts[..4].iter().zip(&pointers).map(|(field, (pointer, _))| (pointer.as_str(), json!({}), *field)),
    );
    rows.extend(
        pointers[texts.len()..].iter().map(|(pointer, field)| (pointer.as_str(), json!("text"), *field)),
    );
    rows.extend(["name", "email", "phone"].map(|member| match member {
        "name" => ("/customer/name", json!(5), "customer.name"),
        "email" => ("/customer/email", json!(["a@example.com"]), "customer.email"),
        _ => ("/customer/phone", json!(5_512_345_678_i64), "customer.phone"),
    }));
    each_is_invalid(&shop, deposit, &rows).await;
}

/// 254 characters, each part of it as long as it may be.
fn longest_address() -> String {
    let label = "d".repeat(63);
    format!("{}@{label}.{label}.{}.com", "e".repeat(64), "d".repeat(57))
}

#[actix_web::test]
async fn members_at_their_bounds_are_accepted() {
    let shop = Shop::open().await;
    let rows = [
        ("/merchant_reference", json!("r".repeat(255))),
        ("/merchant_reference", json!("é".repeat(255))),
        ("/merchant_reference", json!("注文 №1 🧵")),
        ("/customer/name", json!("n".repeat(255))),
        ("/customer/email", json!(longest_address())),
        ("/customer/phone", json!("5".repeat(32))),
        ("/customer_id", Value::Null),
        ("/traffic_type", json!("primary")),
        ("/traffic_type", json!("secondary")),
        ("/traffic_type", json!("vip")),
        ("/traffic_type", Value::Null),
        ("/payout", Value::Null),
        ("/description", json!("tab\tand\nline feed")),
        ("/description", json!("d".repeat(500))),
        ("/note", json!("n".repeat(500))),
        ("/external_id", json!("e".repeat(255))),
        ("/return_urls", json!({ "success_url": "https://example.com/ok", "colour": "ignored" })),
        ("/unknown_member", json!({ "is": ["ignored"] })),
        ("/customer/unknown_member", json!("ignored")),
    ];
    each_is_accepted(&shop, deposit, &rows).await;
    let redirectpay = || draft::deposit("LKR", "redirectpay", 1_000);
    let schemes = ["VISA", "MC", "REDIRECTPAY", "LQR"]
        .map(|scheme| ("/redirectpay", json!({ "payment_method": scheme })));
    each_is_accepted(&shop, redirectpay, &schemes).await;
}

#[actix_web::test]
async fn a_customer_needs_an_address() {
    let shop = Shop::open().await;
    let rows = [
        ("/customer", json!({ "name": "Ana Pérez" }), "customer"),
        ("/customer", json!({ "email": "" }), "customer"),
        ("/customer", json!({ "name": "", "email": "", "phone": "" }), "customer"),
    ];
    each_is_invalid(&shop, deposit, &rows).await;
}

#[actix_web::test]
async fn all_problems_are_told_at_once() {
    let shop = Shop::open().await;
    let body = json!({ "amount": -1, "currency": 5, "method": "paypal", "type": "deposit", "customer": {} });
    let answer = shop.create(&body).await;
    for field in ["amount", "currency", "method", "merchant_reference", "customer"] {
        answer.invalid(field);
    }
    // Each member of the field table with a value of no type that any of them has, and below.
    let mut body = json!({ "return_urls": { "success_url": 1.5, "cancel_url": 1.5 } });
    let top = [
        "amount",
        "currency",
        "method",
        "type",
        "merchant_reference",
        "customer_id",
        "customer",
        "payout",
        "webhook_url",
        "webhook_events",
        "traffic_type",
        "redirectpay",
        "description",
        "note",
        "external_id",
    ];
    for field in top {
        body[field] = json!(1.5);
    }
    let answer = shop.create(&body).await;
    for field in top.into_iter().chain(["return_urls.success_url", "return_urls.cancel_url"]) {
        answer.invalid(field);
    }
    // What only the merchant's data shows is told together, too.
    let nobody = json!({ "kind": "bank", "ibanAccountId": "7" });
    let body = with(draft::partner_withdrawal("GEL", 100, nobody), "/customer_id", json!(7));
    let answer = shop.create(&body).await;
    answer.invalid("customer_id");
    answer.invalid("payout.partnerDestination.ibanAccountId");
}

#[actix_web::test]
async fn webhook_targets_are_checked() {
    let shop = Shop::open().await;
    let long = |characters: usize| format!("https://example.com/{}", "p".repeat(characters - 20));
    let rows = [
        ("/webhook_url", json!(long(2_049)), "webhook_url"),
        ("/webhook_url", json!("not a url"), "webhook_url"),
        ("/webhook_url", json!("ftp://example.com/hook"), "webhook_url"),
        ("/webhook_url", json!(5), "webhook_url"),
        ("/webhook_events", json!("payment.created"), "webhook_events"),
        ("/webhook_events", json!([1]), "webhook_events"),
        ("/webhook_events", json!(["payment.exploded"]), "webhook_events"),
    ];
    each_is_invalid(&shop, deposit, &rows).await;
    let good = [
        ("/webhook_url", json!(long(2_048))),
        ("/webhook_url", json!("http://example.com/hook")),
        ("/webhook_url", Value::Null),
        ("/webhook_events", json!(["payment.processing", "payout.failed"])),
    ];
    each_is_accepted(&shop, deposit, &good).await;
}
