//! The record of a payment: which members it has by its type, and where they come from (docs/API.md, "Read").

use std::collections::BTreeSet;

use quipu_tests::{
    Database, Gateway, Merchant,
    draft::{self, partner_withdrawal, steered, with, without},
    on_both_databases,
};
use serde_json::{Value, json};

on_both_databases!(
    create_get_and_list_show_the_same_members,
    a_payout_is_shown_as_it_was_sent,
    instructions_have_exactly_their_members,
    the_manual_rail_shows_what_its_route_says,
    return_urls_default_to_the_merchants,
    live_webhooks_are_https,
);

/// The members that every payment has.
const MEMBERS: [&str; 27] = [
    "transaction_id",
    "status",
    "amount",
    "currency",
    "method",
    "type",
    "merchant_reference",
    "created_at",
    "customer_id",
    "customer",
    "environment",
    "fee",
    "net_amount",
    "refunded_amount",
    "received_amount",
    "late",
    "description",
    "note",
    "external_id",
    "status_version",
    "failure",
    "traffic_type",
    "webhook_url",
    "expires_at",
    "completed_at",
    "updated_at",
    "return_urls",
];

fn members(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

/// Creates a payment that stays as it is, and checks that get and list show what the creation answered.
async fn shown(merchant: &Merchant, draft: &Value) -> Value {
    let mut answer = merchant.api.create(draft).await.ok();
    let id = answer["transaction_id"].as_str().expect("a string").to_owned();
    answer.as_object_mut().expect("an object").remove("success");
    assert_eq!(merchant.api.payment(&id).await, answer);
    let list = merchant.api.get("/api/v1/payments?limit=1").await.ok();
    assert_eq!(list["data"][0], answer);
    answer
}

async fn create_get_and_list_show_the_same_members(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let deposit = steered(draft::deposit_mxn(100), "stay");
    let withdrawal = steered(draft::withdrawal_ars(100), "hold");
    let (hosted_in, hosted_out) = (json!("deposit_pp"), json!("withdrawal_pp"));
    let drafts = [
        (deposit.clone(), "bank_details"),
        (with(deposit, "/type", hosted_in), "bank_details"),
        (withdrawal.clone(), "payout"),
        (with(withdrawal.clone(), "/type", hosted_out.clone()), "payout"),
        (with(without(withdrawal, "/payout"), "/type", hosted_out), "payout"),
    ];
    for (draft, own) in drafts {
        let draft = with(draft, "/merchant_reference", json!(draft::reference()));
        let record = shown(&merchant, &draft).await;
        let mut expected: BTreeSet<_> = MEMBERS.into();
        expected.insert(own);
        // Its page's address belongs to hosted payments alone.
        let found: BTreeSet<_> =
            members(&record).into_iter().filter(|it| *it != "payment_page_url").collect();
        assert_eq!(found, expected, "{}", draft["type"]);
        assert_eq!(members(&record["customer"]), BTreeSet::from(["email", "id", "name", "phone"]));
        assert_eq!(members(&record["return_urls"]), BTreeSet::from(["cancel_url", "success_url"]));
    }
}

async fn a_payout_is_shown_as_it_was_sent(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    for currency in ["ARS", "AUD", "GEL"] {
        merchant.fund(currency, 1_000).await;
    }
    let saved = json!({ "environment": "test", "kind": "sepa", "iban": "DE89370400440532013000",
        "beneficiaryName": "Nino Beridze" });
    let saved = gateway.operator().post(&merchant.operator_path("/beneficiaries"), &saved).await.data();
    let bank = json!({ "iban": "GE29NB0000000101904917", "swift": "TBCBGE22", "beneficiaryName": "Nino Beridze",
        "beneficiaryBank": "TBC Bank", "address": "Tbilisi", "reference": "invoice 7" });
    let mut to_wallet = partner_withdrawal(
        "GEL",
        10,
        json!({ "kind": "wallet", "scheme": "reference_id", "value": "a_1-B" }),
    );
    to_wallet["payout"]["recipient_name"] = json!("Nino");
    let full = json!({ "recipient_name": "Ana", "bank_account": "0000003100010000000001", "bank_code": "017",
        "account_type": "savings", "beneficiary_tax_id": "20-1" });
    for draft in [
        draft::withdrawal("ARS", "bank_transfer", 10, full),
        draft::withdrawal("AUD", "payid", 10, json!({ "payid": "ana@example.com", "payid_type": "email" })),
        draft::withdrawal("AUD", "bank_transfer", 10, json!({ "bsb": "062000", "bank_account": "12345678" })),
        to_wallet,
        partner_withdrawal("GEL", 10, json!({ "kind": "bank", "bank": bank })),
        partner_withdrawal("GEL", 10, json!({ "kind": "sepa", "ibanAccountId": saved["ibanAccountId"] })),
    ] {
        let draft = steered(draft, "hold");
        assert_eq!(shown(&merchant, &draft).await["payout"], draft["payout"]);
    }
    let open = with(without(draft::withdrawal_ars(10), "/payout"), "/type", json!("withdrawal_pp"));
    assert_eq!(shown(&merchant, &open).await["payout"], Value::Null);
}

/// The instructions' members by method; `card` and `redirectpay` have a link instead.
fn instructions(method: &str) -> (&'static str, &'static [&'static str]) {
    const ACCOUNT: &[&str] =
        &["account_holder", "account_number", "amount", "bank_name", "currency", "purpose", "swift_code"];
    match method {
        "payid" => ("payid_details", &["payid", "payid_name", "payid_type", "reference"]),
        "cash" | "cashstore" => ("voucher_details", &["barcode", "expires_at", "reference"]),
        "crypto" => ("crypto_details", &["address", "asset", "network", "uri"]),
        _ => ("bank_details", ACCOUNT),
    }
}

async fn instructions_have_exactly_their_members(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let others = ["cash", "cashstore", "crypto"].map(|method| {
        json!({ "environment": "test", "currency": "TRY", "method": method, "direction": "deposit",
                "rail": "simulator" })
    });
    merchant.add_routes(others).await;
    for (currency, method) in [
        ("ARS", "bank_transfer"),
        ("AUD", "bank_transfer"),
        ("MXN", "spei"),
        ("AUD", "payid"),
        ("TRY", "cash"),
        ("TRY", "cashstore"),
        ("TRY", "crypto"),
    ] {
        let record = shown(&merchant, &steered(draft::deposit(currency, method, 100), "stay")).await;
        let (member, expected) = instructions(method);
        let mut expected: BTreeSet<_> = expected.iter().copied().collect();
        if (currency, method) == ("AUD", "bank_transfer") {
            expected.insert("bsb");
        }
        assert_eq!(members(&record[member]), expected, "{method} in {currency}");
    }
}

async fn the_manual_rail_shows_what_its_route_says(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let account = json!({ "bank_name": "Banco", "swift_code": "ABCDUYMM", "account_holder": "Quipu",
        "account_number": "7" });
    let rows = [
        ("cash", json!({ "barcode": "0123" })),
        ("card", json!({ "redirect_url": "https://scheme.example/pay" })),
        ("crypto", json!({ "asset": "USDT", "network": "tron", "address": "T1", "uri": "tron:T1" })),
    ];
    merchant
        .edit_routes(|route| {
            if route["currency"] == "UYU" {
                route["rail"] = json!("manual");
                route["instructions"] = account.clone();
            }
        })
        .await;
    merchant
        .add_routes(rows.clone().map(|(method, instructions)| {
            json!({ "environment": "test", "currency": "UYU", "method": method, "direction": "deposit",
                    "rail": "manual", "instructions": instructions })
        }))
        .await;
    let record = shown(&merchant, &draft::deposit("UYU", "bank_transfer", 100)).await;
    let details = &record["bank_details"];
    for member in ["bank_name", "swift_code", "account_holder", "account_number"] {
        assert_eq!(details[member], account[member], "{member}");
    }
    assert_eq!((&details["amount"], &details["currency"]), (&json!("100"), &json!("UYU")));
    assert_eq!(details["purpose"], record["transaction_id"]);
    for (method, given) in rows {
        let record = shown(&merchant, &draft::deposit("UYU", method, 100)).await;
        let told = if method == "card" { &record } else { &record[instructions(method).0] };
        for (member, value) in given.as_object().expect("an object") {
            assert_eq!(&told[member], value, "{method}");
        }
    }
    // A withdrawal waits for a person.
    merchant.fund("UYU", 100).await;
    let draft = draft::withdrawal("UYU", "bank_transfer", 100, json!({ "bank_account": "1" }));
    assert_eq!(shown(&merchant, &draft).await["status"], "pending");
}

async fn return_urls_default_to_the_merchants(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let none = json!({ "success_url": null, "cancel_url": null });
    let deposit = || steered(draft::deposit_mxn(100), "stay");
    assert_eq!(shown(&merchant, &deposit()).await["return_urls"], none);
    let own = json!({ "success_url": "https://shop.example/ok", "cancel_url": "https://shop.example/no" });
    gateway.operator().patch(&merchant.operator_path(""), &json!({ "return_urls": own })).await.data();
    assert_eq!(shown(&merchant, &deposit()).await["return_urls"], own);
    let given = with(deposit(), "/return_urls", json!({ "success_url": "https://shop.example/7" }));
    let mixed = json!({ "success_url": "https://shop.example/7", "cancel_url": "https://shop.example/no" });
    assert_eq!(shown(&merchant, &given).await["return_urls"], mixed);
}

async fn live_webhooks_are_https(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let instructions =
        json!({ "bank_name": "Banco", "account_holder": "Quipu", "account_number": "032180000118359719" });
    merchant
        .add_routes([json!({ "environment": "live", "currency": "MXN", "method": "spei",
            "direction": "deposit", "rail": "manual", "instructions": instructions })])
        .await;
    let live = merchant.key(&json!({ "environment": "live" })).await;
    let to = |url: &str| with(draft::deposit_mxn(100), "/webhook_url", json!(url));
    live.create(&to("http://hooks.example/q")).await.invalid("webhook_url");
    let answer = live.create(&to("https://hooks.example/q")).await.ok();
    assert_eq!(
        (&answer["environment"], &answer["webhook_url"]),
        (&json!("live"), &json!("https://hooks.example/q"))
    );
    merchant.api.create(&to("http://hooks.example/q")).await.ok();
}
