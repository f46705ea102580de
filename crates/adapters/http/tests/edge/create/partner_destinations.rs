//! The partner destination table: wallets, saved beneficiaries, inline bank beneficiaries.

use quipu_tests::{
    Table,
    draft::{self, partner_withdrawal, with},
};
use serde_json::{Value, json};

use crate::shop::Shop;

async fn funded() -> Shop {
    let shop = Shop::open().await;
    shop.fund("GEL", 1_000_000).await;
    shop
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

async fn refuse(shop: &Shop, table: &mut Table, destination: Value, field: &str) {
    let answer = shop.create(&partner_withdrawal("GEL", 100, destination.clone())).await;
    table.invalid(destination, &answer, field);
}

async fn accept(shop: &Shop, table: &mut Table, destination: Value) {
    let answer = shop.create(&partner_withdrawal("GEL", 100, destination.clone())).await;
    table.accepted(destination, &answer);
}

#[actix_web::test]
async fn wallets_are_checked_by_scheme() {
    let shop = funded().await;
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
        accept(&shop, &mut table, json!({ "kind": "wallet", "scheme": scheme, "value": value })).await;
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
        refuse(&shop, &mut table, destination, "payout.partnerDestination.value").await;
    }
    let at = "payout.partnerDestination";
    refuse(
        &shop,
        &mut table,
        json!({ "kind": "wallet", "scheme": "iban", "value": "1" }),
        &format!("{at}.scheme"),
    )
    .await;
    refuse(&shop, &mut table, json!({ "kind": "wallet", "value": "995123456789" }), &format!("{at}.scheme"))
        .await;
    refuse(&shop, &mut table, json!({ "kind": "wallet", "scheme": "phone" }), &format!("{at}.value")).await;
    refuse(&shop, &mut table, with(wallet(), "/value", json!(995_123_456_789_i64)), &format!("{at}.value"))
        .await;
    table.finish();
}

#[actix_web::test]
async fn inline_banks_are_checked_member_by_member() {
    let shop = funded().await;
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
        accept(&shop, &mut table, with(inline(), &format!("/bank/{member}"), value)).await;
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
        refuse(&shop, &mut table, destination, &format!("payout.partnerDestination.bank.{member}")).await;
    }
    for member in ["iban", "swift", "beneficiaryName", "beneficiaryBank", "address"] {
        let destination = draft::without(inline(), &format!("/bank/{member}"));
        refuse(&shop, &mut table, destination, &format!("payout.partnerDestination.bank.{member}")).await;
    }
    table.finish();
}

#[actix_web::test]
async fn a_saved_beneficiary_is_named_by_its_number() {
    let shop = funded().await;
    let mut table = Table::new();
    let field = "payout.partnerDestination.ibanAccountId";
    for id in
        ["", "0", "-1", "+1", "1.0", "2147483648", "99999999999999999999", "abc", "GE29NB0000000101904917"]
    {
        refuse(&shop, &mut table, json!({ "kind": "bank", "ibanAccountId": id }), field).await;
    }
    refuse(&shop, &mut table, json!({ "kind": "bank", "ibanAccountId": 1 }), field).await;
    table.finish();
}

#[actix_web::test]
async fn exactly_one_form_is_sent() {
    let shop = funded().await;
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
        refuse(&shop, &mut table, destination, at).await;
    }
    table.finish();
}

#[actix_web::test]
async fn nothing_else_of_payout_goes_with_it() {
    let shop = funded().await;
    let mut table = Table::new();
    let members =
        ["bank_account", "bank_code", "account_type", "beneficiary_tax_id", "payid", "payid_type", "bsb"];
    for member in members {
        for value in ["062000", ""] {
            let draft = partner_withdrawal("GEL", 100, wallet());
            let answer = shop.create(&with(draft, &format!("/payout/{member}"), json!(value))).await;
            table.invalid(format!("{member} = {value:?}"), &answer, "payout");
        }
    }
    let named =
        with(partner_withdrawal("GEL", 100, wallet()), "/payout/recipient_name", json!("Nino Beridze"));
    table.accepted("recipient_name", &shop.create(&named).await);
    table.finish();
}

#[actix_web::test]
async fn it_goes_with_bank_transfer_withdrawals_only() {
    let shop = funded().await;
    let mut table = Table::new();
    for kind in ["deposit", "deposit_pp"] {
        let draft = with(partner_withdrawal("GEL", 100, wallet()), "/type", json!(kind));
        table.invalid(kind, &shop.create(&draft).await, "payout");
    }
    for method in ["spei", "payid", "card", "cash"] {
        let draft = with(partner_withdrawal("GEL", 100, wallet()), "/method", json!(method));
        let answer = shop.create(&draft).await;
        let blamed = ["method", "currency", "payout"].map(|field| answer.is_invalid(field));
        table.note(method, blamed.into_iter().reduce(Result::or).expect("three fields"));
    }
    let hosted = with(partner_withdrawal("GEL", 100, wallet()), "/type", json!("withdrawal_pp"));
    table.accepted("withdrawal_pp", &shop.create(&hosted).await);
    table.finish();
}
