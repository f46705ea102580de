//! Lists of payments: filters, exact totals, pages (docs/API.md, "Lists").

use quipu_tests::{
    Database, Gateway, Merchant, Setup,
    draft::{self, with},
    on_both_databases,
};
use serde_json::{Value, json};

on_both_databases!(
    pages_are_exact_and_newest_first,
    filters_narrow_the_list_and_its_total,
    dates_include_their_ends,
    a_list_shows_only_ones_own,
);

async fn list(merchant: &Merchant, query: &str) -> Value {
    merchant.api.get(&format!("/api/v1/payments{query}")).await.ok()
}

fn ids(list: &Value) -> Vec<String> {
    let payments = list["data"].as_array().expect("data is a list");
    payments.iter().map(|payment| payment["transaction_id"].as_str().expect("a string").to_owned()).collect()
}

async fn pages_are_exact_and_newest_first(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let empty = list(&merchant, "").await;
    assert_eq!(empty["data"], json!([]));
    assert_eq!((&empty["total"], &empty["pagination"]["total_pages"]), (&json!(0), &json!(0)));
    let mut created = Vec::new();
    for _ in 0..23 {
        created.push(merchant.create(&draft::steered(draft::deposit_mxn(100), "stay")).await);
    }
    // Those of one millisecond are in the order of the rest of their identifiers.
    created.sort_unstable();
    created.reverse();
    let first = list(&merchant, "").await;
    assert_eq!(first["success"], true);
    assert_eq!(first["total"], 23);
    assert_eq!(first["pagination"], json!({ "limit": 20, "offset": 0, "total_pages": 2 }));
    assert_eq!(ids(&first), created[..20]);
    let second = list(&merchant, "?offset=20").await;
    assert_eq!(second["pagination"], json!({ "limit": 20, "offset": 20, "total_pages": 2 }));
    assert_eq!(ids(&second), created[20..]);
    let all = list(&merchant, "?limit=100&unknown=ignored").await;
    assert_eq!(all["pagination"]["total_pages"], 1);
    assert_eq!(ids(&all), created);
    let beyond = list(&merchant, "?limit=7&offset=1000").await;
    assert_eq!((&beyond["data"], &beyond["total"]), (&json!([]), &json!(23)));
    assert_eq!(beyond["pagination"]["total_pages"], 4);
    // An entry of a list is the record that a get shows.
    assert_eq!(first["data"][0], merchant.api.payment(&created[0]).await);
}

async fn filters_narrow_the_list_and_its_total(database: Database) {
    let gateway = Setup::new(database).set("SIMULATOR__DELAY", "1h").start().await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 10_000).await;
    for _ in 0..3 {
        merchant.create(&draft::deposit_mxn(100)).await;
    }
    let aud = draft::deposit("AUD", "payid", 100);
    merchant.create(&aud).await;
    let bea = with(draft::deposit_mxn(100), "/customer", json!({ "email": "bea@example.com" }));
    let bea = merchant.api.create(&bea).await.ok()["customer_id"].as_i64().expect("a number");
    let mut withdrawals = Vec::new();
    for _ in 0..4 {
        withdrawals.push(merchant.create(&draft::withdrawal_ars(100)).await);
    }
    merchant.api.post_empty(&format!("/api/v1/payments/{}/cancel", withdrawals[0])).await.data();
    let refunded = format!("/operator/v1/payments/{}", merchant.create(&draft::deposit_mxn(100)).await);
    gateway.operator().post_empty(&format!("{refunded}/complete")).await.data();
    gateway.operator().post(&format!("{refunded}/refunds"), &json!({ "amount": 40 })).await.data();
    let reference = aud["merchant_reference"].as_str().expect("a string");
    let rows = [
        (String::new(), 10),
        ("?status=processing".to_owned(), 5),
        ("?status=pending".to_owned(), 3),
        ("?status=cancelled".to_owned(), 1),
        ("?status=partial_refund".to_owned(), 1),
        ("?status=refunded".to_owned(), 0),
        ("?type=deposit".to_owned(), 6),
        ("?type=withdrawal".to_owned(), 4),
        ("?type=deposit_pp".to_owned(), 0),
        ("?method=payid".to_owned(), 1),
        ("?currency=ARS".to_owned(), 4),
        ("?currency=MXN&type=deposit&status=processing".to_owned(), 4),
        ("?currency=MXN&type=withdrawal".to_owned(), 0),
        (format!("?merchant_reference={reference}"), 1),
        ("?merchant_reference=nobody".to_owned(), 0),
        (format!("?customer_id={bea}"), 1),
        ("?customer_id=999999".to_owned(), 0),
    ];
    for (query, total) in rows {
        let list = list(&merchant, &query).await;
        assert_eq!(list["total"], total, "{query}");
        assert_eq!(ids(&list).len(), total, "{query}");
    }
    let page = list(&merchant, "?status=pending&limit=2&offset=2").await;
    assert_eq!((ids(&page).len(), &page["total"]), (1, &json!(3)));
}

async fn dates_include_their_ends(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let mut instants = Vec::new();
    for _ in 0..3 {
        let answer = merchant.api.create(&draft::deposit_mxn(100)).await.ok();
        instants.push(answer["created_at"].as_str().expect("an instant").to_owned());
    }
    let (first, last) = (&instants[0], &instants[2]);
    for (query, total) in [
        (format!("?created_at_from={first}&created_at_to={last}"), 3),
        (format!("?created_at_from={first}"), 3),
        (format!("?created_at_to={last}"), 3),
        ("?created_at_from=2999-01-01T00:00:00Z".to_owned(), 0),
        ("?created_at_from=2500-01-01T00:00:00Z".to_owned(), 0),
        ("?created_at_to=2500-01-01T00:00:00Z".to_owned(), 3),
        ("?created_at_to=2001-01-01T00:00:00Z".to_owned(), 0),
        ("?created_at_from=2001-01-01".to_owned(), 3),
        // As far as years of four digits go, and in every form of ISO 8601.
        ("?created_at_from=0000-01-01&created_at_to=9999-12-31".to_owned(), 3),
        ("?created_at_from=1969-12-31&created_at_to=2290-01-01".to_owned(), 3),
        ("?created_at_from=2290-01-01".to_owned(), 0),
        ("?created_at_to=1969-12-31T23:59:59Z".to_owned(), 0),
        ("?created_at_from=20010101T0000Z".to_owned(), 3),
        (format!("?created_at_from={first}&created_at_to={}", last.trim_end_matches('Z')), 3),
        (format!("?created_at_from={}&created_at_to={}", &first[..10], &last[..10]), 3),
        (format!("?created_at_from={last}&created_at_to={first}&limit=1"), if first == last { 3 } else { 0 }),
    ] {
        assert_eq!(list(&merchant, &query).await["total"], total, "{query}");
    }
    let exact = list(&merchant, &format!("?created_at_from={last}&created_at_to={last}")).await;
    assert!(exact["total"].as_u64() >= Some(1), "{exact}");
}

/// Every wrong value has its row in `crates/adapters/http/tests/edge/tables.rs`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_or_repeated_parameters_are_refused() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let merchant = gateway.merchant().await;
    for (query, field) in [("limit=101", "limit"), ("status=%FF", "status"), ("limit=1&limit=2", "limit")] {
        merchant.api.get(&format!("/api/v1/payments?{query}")).await.invalid(field);
    }
    let answer = merchant.api.get("/api/v1/payments?limit=0&offset=-1&status=done").await;
    for field in ["limit", "offset", "status"] {
        answer.invalid(field);
    }
}

async fn a_list_shows_only_ones_own(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, stranger) = (gateway.merchant().await, gateway.merchant().await);
    let id = merchant.create(&draft::deposit_mxn(100)).await;
    assert_eq!(list(&stranger, "").await["total"], 0);
    let path = format!("/api/v1/payments/{id}");
    stranger.api.get(&path).await.refused(404, "PAYMENT_NOT_FOUND");
    stranger.api.post_empty(&format!("{path}/cancel")).await.refused(404, "PAYMENT_NOT_FOUND");
    // The same merchant in the other environment is as foreign as another merchant.
    let live = merchant.key(&json!({ "environment": "live" })).await;
    live.get(&path).await.refused(404, "PAYMENT_NOT_FOUND");
    assert_eq!(live.get("/api/v1/payments").await.ok()["total"], 0);
}
