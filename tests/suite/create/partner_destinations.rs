//! The partner destination table: wallets, saved beneficiaries, inline bank beneficiaries.

use quipu_tests::{
    Database, Gateway, Merchant, Table,
    draft::{self, partner_withdrawal, with},
    on_both_databases,
};
use serde_json::{Value, json};

on_both_databases!(
    wallets_are_checked_by_scheme,
    inline_banks_are_checked_member_by_member,
    saved_beneficiaries_must_exist_and_be_of_the_kind,
    exactly_one_form_is_sent,
    nothing_else_of_payout_goes_with_it,
    it_goes_with_bank_transfer_withdrawals_only,
    without_a_partner_route_it_is_not_ready,
    it_takes_any_enabled_currency_and_converts_none,
);

async fn funded(gateway: &Gateway) -> Merchant {
    let merchant = gateway.merchant().await;
    merchant.fund("GEL", 1_000_000).await;
    merchant
}

fn wallet() -> Value {
    json!({ "kind": "wallet", "scheme": "phone", "value": "995123456789" })
}

fn inline() -> Value {
    let bank = json!({
        "iban": "GE29NB0000000101904917",
        "swift": "TBCBGE22",
        "beneficiaryName": "Nino Beridze",
        "beneficiaryBank": "TBC Bank",
        "address": "7 Marjanishvili St, Tbilisi",
    });
    json!({ "kind": "bank", "bank": bank })
}

async fn refuse(merchant: &Merchant, table: &mut Table, destination: Value, field: &str) {
    let answer = merchant.api.create(&partner_withdrawal("GEL", 100, destination.clone())).await;
    table.invalid(destination, &answer, field);
}

async fn accept(merchant: &Merchant, table: &mut Table, destination: Value) {
    let answer = merchant.api.create(&partner_withdrawal("GEL", 100, destination.clone())).await;
    table.accepted(destination, &answer);
}

async fn wallets_are_checked_by_scheme(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = funded(&gateway).await;
    let mut table = Table::new();
    let good = [
        ("phone", "12345678"),
        ("phone", "123456789012345"),
        ("email", "nino@example.com"),
        ("national_passport", "123456"),
        ("national_passport", "123456789012"),
        ("reference_id", "a"),
        ("reference_id", "Ab_9-"),
        ("reference_id", &"r".repeat(100)),
    ];
    for (scheme, value) in good {
        accept(&merchant, &mut table, json!({ "kind": "wallet", "scheme": scheme, "value": value })).await;
    }
    let bad = [
        ("phone", "1234567"),
        ("phone", "1234567890123456"),
        ("phone", "+99512345678"),
        ("phone", "995 12345678"),
        ("phone", "995-1234-5678"),
        ("phone", "٩٩٥١٢٣٤٥٦٧٨"),
        ("email", "nino"),
        ("email", "@example.com"),
        ("email", "nino@"),
        ("national_passport", "12345"),
        ("national_passport", "1234567890123"),
        ("national_passport", "AB123456"),
        ("reference_id", ""),
        ("reference_id", "a b"),
        ("reference_id", "ä"),
        ("reference_id", &"r".repeat(101)),
    ];
    for (scheme, value) in bad {
        let destination = json!({ "kind": "wallet", "scheme": scheme, "value": value });
        refuse(&merchant, &mut table, destination, "payout.partnerDestination.value").await;
    }
    let at = "payout.partnerDestination";
    refuse(
        &merchant,
        &mut table,
        json!({ "kind": "wallet", "scheme": "iban", "value": "1" }),
        &format!("{at}.scheme"),
    )
    .await;
    refuse(
        &merchant,
        &mut table,
        json!({ "kind": "wallet", "value": "995123456789" }),
        &format!("{at}.scheme"),
    )
    .await;
    refuse(&merchant, &mut table, json!({ "kind": "wallet", "scheme": "phone" }), &format!("{at}.value"))
        .await;
    refuse(
        &merchant,
        &mut table,
        with(wallet(), "/value", json!(995_123_456_789_i64)),
        &format!("{at}.value"),
    )
    .await;
    table.finish();
}

async fn inline_banks_are_checked_member_by_member(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = funded(&gateway).await;
    let mut table = Table::new();
    let good = [
        ("iban", json!("NO9386011117947")),
        ("iban", json!(format!("MT{}", "1".repeat(32)))),
        ("swift", json!("TBCBGE22XXX")),
        ("beneficiaryName", json!("ბ".repeat(200))),
        ("beneficiaryBank", json!("b".repeat(200))),
        ("address", json!("a".repeat(200))),
        ("reference", json!("r".repeat(140))),
        ("reference", Value::Null),
    ];
    for (member, value) in good {
        accept(&merchant, &mut table, with(inline(), &format!("/bank/{member}"), value)).await;
    }
    let bad = [
        ("iban", json!("GE29nb0000000101904917")),
        ("iban", json!("GE29 NB00 0000 0101 9049 17")),
        ("iban", json!("2929NB0000000101904917")),
        ("iban", json!("GE290000000000")),
        ("iban", json!(format!("MT{}", "1".repeat(33)))),
        ("iban", json!(5)),
        ("swift", json!("TBCBGE2")),
        ("swift", json!("TBCBGE22X")),
        ("swift", json!("TBCBGE22XXXX")),
        ("swift", json!("tbcbge22")),
        ("beneficiaryName", json!("")),
        ("beneficiaryName", json!("   ")),
        ("beneficiaryName", json!("n".repeat(201))),
        ("beneficiaryBank", json!(" ")),
        ("beneficiaryBank", json!("b".repeat(201))),
        ("address", json!("")),
        ("address", json!("a".repeat(201))),
        ("reference", json!("r".repeat(141))),
        ("reference", json!(7)),
        ("colour", json!("red")),
    ];
    for (member, value) in bad {
        let destination = with(inline(), &format!("/bank/{member}"), value);
        refuse(&merchant, &mut table, destination, &format!("payout.partnerDestination.bank.{member}")).await;
    }
    for member in ["iban", "swift", "beneficiaryName", "beneficiaryBank", "address"] {
        let destination = draft::without(inline(), &format!("/bank/{member}"));
        refuse(&merchant, &mut table, destination, &format!("payout.partnerDestination.bank.{member}")).await;
    }
    table.finish();
}

async fn saved_beneficiaries_must_exist_and_be_of_the_kind(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, stranger) = (funded(&gateway).await, funded(&gateway).await);
    let bank = saved(&gateway, &merchant, "bank", "test").await;
    let sepa = saved(&gateway, &merchant, "sepa", "test").await;
    // Numbers are counted within a merchant and environment; these lie beyond those of the merchant under test.
    let (mut live, mut foreign) = (String::new(), String::new());
    for _ in 0..3 {
        live = saved(&gateway, &merchant, "bank", "live").await;
        foreign = saved(&gateway, &stranger, "bank", "test").await;
    }
    let mut table = Table::new();
    accept(&merchant, &mut table, json!({ "kind": "bank", "ibanAccountId": bank })).await;
    accept(&merchant, &mut table, json!({ "kind": "sepa", "ibanAccountId": sepa })).await;
    let field = "payout.partnerDestination.ibanAccountId";
    for (kind, id) in [("sepa", &bank), ("bank", &sepa), ("bank", &live), ("bank", &foreign)] {
        refuse(&merchant, &mut table, json!({ "kind": kind, "ibanAccountId": id }), field).await;
    }
    for id in
        ["", "0", "-1", "+1", "1.0", "2147483648", "99999999999999999999", "abc", "GE29NB0000000101904917"]
    {
        refuse(&merchant, &mut table, json!({ "kind": "bank", "ibanAccountId": id }), field).await;
    }
    refuse(&merchant, &mut table, json!({ "kind": "bank", "ibanAccountId": 1 }), field).await;
    table.finish();
}

async fn saved(gateway: &Gateway, merchant: &Merchant, kind: &str, environment: &str) -> String {
    let body = json!({
        "environment": environment,
        "kind": kind,
        "iban": "GE29NB0000000101904917",
        "swift": "TBCBGE22",
        "beneficiaryName": "Nino Beridze",
        "beneficiaryBank": "TBC Bank",
        "address": "7 Marjanishvili St, Tbilisi",
    });
    let data = gateway.operator().post(&merchant.operator_path("/beneficiaries"), &body).await.data();
    data["ibanAccountId"].as_str().expect("ibanAccountId is a decimal string").to_owned()
}

async fn exactly_one_form_is_sent(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = funded(&gateway).await;
    let mut table = Table::new();
    let bank = inline()["bank"].clone();
    let at = "payout.partnerDestination";
    let bad = [
        json!({}),
        json!({ "kind": "cash" }),
        json!({ "kind": 5 }),
        json!({ "scheme": "phone", "value": "995123456789" }),
        json!({ "kind": "bank" }),
        json!({ "kind": "sepa" }),
        json!({ "kind": "sepa", "bank": bank }),
        json!({ "kind": "bank", "bank": bank, "ibanAccountId": "1" }),
        json!({ "kind": "bank", "bank": "DE89" }),
        with(wallet(), "/bank", bank.clone()),
        with(wallet(), "/ibanAccountId", json!("1")),
        with(wallet(), "/colour", json!("red")),
        with(inline(), "/scheme", json!("phone")),
        with(inline(), "/value", json!("995123456789")),
        json!("wallet"),
        json!([wallet()]),
    ];
    for destination in bad {
        refuse(&merchant, &mut table, destination, at).await;
    }
    table.finish();
}

async fn nothing_else_of_payout_goes_with_it(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = funded(&gateway).await;
    let mut table = Table::new();
    let members =
        ["bank_account", "bank_code", "account_type", "beneficiary_tax_id", "payid", "payid_type", "bsb"];
    for member in members {
        for value in ["062000", ""] {
            let draft = partner_withdrawal("GEL", 100, wallet());
            let answer = merchant.api.create(&with(draft, &format!("/payout/{member}"), json!(value))).await;
            table.invalid(format!("{member} = {value:?}"), &answer, "payout");
        }
    }
    let named =
        with(partner_withdrawal("GEL", 100, wallet()), "/payout/recipient_name", json!("Nino Beridze"));
    table.accepted("recipient_name", &merchant.api.create(&named).await);
    table.finish();
}

async fn it_goes_with_bank_transfer_withdrawals_only(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = funded(&gateway).await;
    let mut table = Table::new();
    for kind in ["deposit", "deposit_pp"] {
        let draft = with(partner_withdrawal("GEL", 100, wallet()), "/type", json!(kind));
        table.invalid(kind, &merchant.api.create(&draft).await, "payout");
    }
    for method in ["spei", "payid", "card", "cash"] {
        let draft = with(partner_withdrawal("GEL", 100, wallet()), "/method", json!(method));
        let answer = merchant.api.create(&draft).await;
        let blamed = ["method", "currency", "payout"].map(|field| answer.is_invalid(field));
        table.note(method, blamed.into_iter().reduce(Result::or).expect("three fields"));
    }
    let hosted = with(partner_withdrawal("GEL", 100, wallet()), "/type", json!("withdrawal_pp"));
    table.accepted("withdrawal_pp", &merchant.api.create(&hosted).await);
    table.finish();
}

async fn without_a_partner_route_it_is_not_ready(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = funded(&gateway).await;
    merchant.fund("ARS", 1_000).await;
    for currency in ["ARS", "MXN", "USD"] {
        let answer = merchant.api.create(&partner_withdrawal(currency, 100, wallet())).await;
        answer.refused(400, "PARTNER_PAYOUT_NOT_READY");
        // Whom it would go to is no question then.
        let unknown = partner_withdrawal(currency, 100, json!({ "kind": "bank", "ibanAccountId": "7" }));
        merchant.api.create(&unknown).await.refused(400, "PARTNER_PAYOUT_NOT_READY");
    }
    merchant
        .edit_routes(|route| {
            if route["currency"] == "GEL" {
                route["enabled"] = json!(false);
            }
        })
        .await;
    let answer = merchant.api.create(&partner_withdrawal("GEL", 100, wallet())).await;
    answer.refused(400, "PARTNER_PAYOUT_NOT_READY");
}

async fn it_takes_any_enabled_currency_and_converts_none(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("MXN", 1_000_000).await;
    merchant.api.create(&partner_withdrawal("GEL", 100, wallet())).await.refused(400, "INSUFFICIENT_BALANCE");
    assert_eq!(merchant.balance("MXN").await, (1_000_000, 0));
    merchant
        .add_routes([json!({ "environment": "test", "currency": "USD", "method": "bank_transfer",
            "direction": "withdrawal", "partner": true, "enabled": true, "rail": "simulator", "min_amount": 1 })])
        .await;
    merchant.fund("USD", 100).await;
    merchant.create(&partner_withdrawal("USD", 100, wallet())).await;
    // The currency is enabled for partners only.
    let payout = json!({ "recipient_name": "Ana", "bank_account": "1" });
    let plain = draft::withdrawal("USD", "bank_transfer", 100, payout);
    merchant.api.create(&plain).await.invalid("currency");
}
