//! Nothing of one merchant or environment is seen from another (docs/API.md, "Authentication").

use quipu_tests::{Client, Database, Gateway, Merchant, draft, on_both_databases};
use serde_json::{Value, json};

use super::{
    people::{SigningMerchant, key_with_id, text},
    routes::{self, Needs, Route},
};

const UNKNOWN: &str = "pay_1763683200000_aaaaaaaaaaaa";

on_both_databases!(
    another_merchants_ids_are_unknown_ids,
    the_other_environments_ids_are_unknown_ids,
    lists_and_balances_show_the_callers_own,
    customers_and_beneficiaries_belong_to_one_merchant,
    the_operators_paths_lead_to_one_merchant,
);

async fn another_merchants_ids_are_unknown_ids(database: Database) {
    let gateway = Gateway::start(database).await;
    let (owner, other) = (gateway.merchant().await, gateway.merchant().await);
    let token = text(&other.api.post("/api/v1/auth/token", &json!({})).await.ok(), "access_token");
    let bearer = gateway.anonymous().with_bearer(&token);
    let signing = SigningMerchant::onboard(&gateway).await;
    let id = pending_withdrawal(&owner).await;
    let webhook = owner.api.post("/api/v1/webhooks", &json!({ "url": "https://shop.example/hook" })).await;
    let ticket =
        owner.api.post("/api/v1/tickets", &json!({ "title": "Where is it?", "category": "other" })).await;
    let (webhook, ticket) = (text(&webhook.data(), "id"), text(&ticket.json()["data"], "ticket_id"));
    let mut walked = 0;
    for route in routes::all().iter().filter(|route| route.names_an_id()) {
        let named = match route.path {
            path if path.contains("/webhooks/") => &webhook,
            path if path.contains("/tickets/") => &ticket,
            _ => &id,
        };
        let (foreign, unknown) =
            (route.path_with(owner.id, named), route.path_with(9_007_199_254_740_991, UNKNOWN));
        match route.needs {
            Needs::Scope(_) => {
                for caller in [&other.api, &bearer] {
                    indistinguishable(route, caller, &foreign, &unknown).await;
                }
            }
            Needs::Signature(_) => {
                let caller = gateway.anonymous();
                let seen = signing.signer.get(&foreign).send(&caller).await.refused(404, "PAYMENT_NOT_FOUND");
                let none = signing.signer.get(&unknown).send(&caller).await.refused(404, "PAYMENT_NOT_FOUND");
                assert_eq!(without_time(seen), without_time(none), "{} {}", route.method, route.path);
            }
            Needs::Operator(_) | Needs::Provider | Needs::Key | Needs::Nobody | Needs::Url => continue,
        }
        walked += 1;
    }
    assert_eq!(walked, 22, "routes of merchants that name an id");
    assert_eq!(owner.api.payment(&id).await["status"], "pending");
}

async fn the_other_environments_ids_are_unknown_ids(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let (_, live) = key_with_id(&merchant, &json!({ "environment": "live" })).await;
    let live = gateway.anonymous().with_api_key(&live);
    let token = text(&live.post("/api/v1/auth/token", &json!({})).await.ok(), "access_token");
    let bearer = gateway.anonymous().with_bearer(&token);
    let id = pending_withdrawal(&merchant).await;
    for route in routes::all().iter().filter(|route| route.path.starts_with("/api/v1/payments/{id}")) {
        for caller in [&live, &bearer] {
            indistinguishable(route, caller, &route.path_with(0, &id), &route.path_with(0, UNKNOWN)).await;
        }
    }
    assert_eq!(live.get("/api/v1/payments").await.ok()["total"], 0);
    assert_eq!(live.get("/api/v1/balance?currency=ARS").await.ok()["balance_amount"], "0");
    assert_eq!(merchant.api.payment(&id).await["status"], "pending");
}

/// What belongs to somebody else answers exactly what nothing at all answers.
async fn indistinguishable(route: &Route, caller: &Client, foreign: &str, unknown: &str) {
    let ask = async |path: &str| {
        let body = route.body().map(|body| body.to_string().into_bytes());
        caller.send(route.method.clone(), path, body, &[]).await
    };
    let (foreign_answer, unknown_answer) = (ask(foreign).await, ask(unknown).await);
    let code = match route.path {
        path if path.contains("/merchants/") => "MERCHANT_NOT_FOUND",
        path if path.contains("/webhooks/") => "WEBHOOK_NOT_FOUND",
        path if path.contains("/tickets/") => "TICKET_NOT_FOUND",
        _ => "PAYMENT_NOT_FOUND",
    };
    let (seen, none) = (foreign_answer.refused(404, code), unknown_answer.refused(404, code));
    assert_eq!(without_time(seen), without_time(none), "{} {}", route.method, route.path);
}

/// The whole body but for the time of the answer.
fn without_time(mut body: Value) -> Value {
    body.as_object_mut().expect("an object").remove("timestamp");
    body
}

async fn lists_and_balances_show_the_callers_own(database: Database) {
    let gateway = Gateway::start(database).await;
    let (owner, other) = (gateway.merchant().await, gateway.merchant().await);
    let id = pending_withdrawal(&owner).await;
    let record = owner.api.payment(&id).await;
    for query in [
        String::new(),
        format!("?merchant_reference={}", text(&record, "merchant_reference")),
        format!("?customer_id={}", record["customer_id"]),
        "?status=pending".to_owned(),
    ] {
        let path = format!("/api/v1/payments{query}");
        assert_eq!(owner.api.get(&path).await.ok()["total"], 1, "{path}");
        let seen = other.api.get(&path).await.ok();
        assert_eq!((&seen["total"], &seen["data"]), (&json!(0), &json!([])), "{path}");
    }
    assert_eq!(other.balance("ARS").await, (0, 0));
    let all = other.api.get("/api/v1/balance/all").await.ok();
    assert_eq!(all["merchant_id"], other.id);
    let amounts = all["balances"].as_array().expect("balances").iter();
    assert!(amounts.clone().all(|balance| balance["balance_amount"] == "0"), "{all}");
    // The reference is taken for one merchant only.
    let same =
        draft::with(draft::deposit_mxn(5), "/merchant_reference", record["merchant_reference"].clone());
    owner.api.create(&same).await.refused(409, "DUPLICATE_MERCHANT_REFERENCE");
    other.api.create(&same).await.ok();
}

async fn customers_and_beneficiaries_belong_to_one_merchant(database: Database) {
    let gateway = Gateway::start(database).await;
    let (owner, other) = (gateway.merchant().await, gateway.merchant().await);
    let created = owner.api.create(&draft::deposit_mxn(5)).await.ok();
    let foreign = draft::with(draft::deposit_mxn(5), "/customer_id", created["customer_id"].clone());
    owner.api.create(&foreign).await.ok();
    let foreign = draft::with(foreign, "/merchant_reference", json!(draft::reference()));
    other.api.create(&foreign).await.invalid("customer_id");
    owner
        .add_routes([json!({ "environment": "live", "currency": "MXN", "method": "spei", "direction": "deposit",
            "partner": false, "enabled": true, "rail": "manual", "min_amount": 1,
            "instructions": { "bank_name": "Banco", "account_holder": "Quipu", "account_number": "032180000118359719" } })])
        .await;
    let live = owner.key(&json!({ "environment": "live" })).await;
    live.create(&foreign).await.invalid("customer_id");
    live.create(&draft::without(foreign, "/customer_id")).await.ok();

    let beneficiary = json!({
        "environment": "test", "kind": "bank", "iban": "GE29NB0000000101904917", "swift": "BAGAGE22",
        "beneficiaryName": "Nino", "beneficiaryBank": "Bank of Georgia", "address": "Tbilisi",
    });
    let path = owner.operator_path("/beneficiaries");
    let account = gateway.operator().post(&path, &beneficiary).await.data()["ibanAccountId"].clone();
    let own = gateway.operator().post(&other.operator_path("/beneficiaries"), &beneficiary).await.data();
    assert_ne!(own["ibanAccountId"], account);
    for merchant in [&owner, &other] {
        merchant.fund("GEL", 1_000).await;
    }
    let destination = json!({ "kind": "bank", "ibanAccountId": account });
    owner.api.create(&draft::partner_withdrawal("GEL", 5, destination.clone())).await.ok();
    let foreign = other.api.create(&draft::partner_withdrawal("GEL", 5, destination)).await;
    foreign.invalid("payout.partnerDestination.ibanAccountId");
}

async fn the_operators_paths_lead_to_one_merchant(database: Database) {
    let gateway = Gateway::start(database).await;
    let (owner, other) = (gateway.merchant().await, gateway.merchant().await);
    let operator = gateway.operator();
    let (key_id, _) = key_with_id(&owner, &json!({ "name": "the owner's" })).await;
    let keys = operator.get(&other.operator_path("/api-keys")).await;
    assert!(!keys.text.contains(&key_id), "{}", keys.text);
    let path = other.operator_path(&format!("/api-keys/{key_id}"));
    assert_eq!(operator.delete(&path).await.status, 404);
    for rest in ["", "/api-keys", "/routes", "/beneficiaries", "/webhooks"] {
        let unknown = operator.get(&format!("/operator/v1/merchants/9007199254740991{rest}")).await;
        unknown.refused(404, "MERCHANT_NOT_FOUND");
    }
}

/// A withdrawal that waits, so that a cancellation would show.
async fn pending_withdrawal(merchant: &Merchant) -> String {
    merchant.fund("ARS", 1_000).await;
    merchant.create(&draft::steered(draft::withdrawal_ars(400), "hold")).await
}
