//! Payouts and partner destinations.

use serde_json::{Value, json};

use super::world::{with, withdrawal};
use crate::{Draft, WalletScheme, details::destination::Destination};

/// What is said of a withdrawal by this method in this currency with this payout.
fn problems_of(method: &str, currency: &str, payout: &Value) -> Vec<String> {
    let members = json!({"method": method, "currency": currency, "payout": payout});
    match Draft::parse(&with(withdrawal(), &members)) {
        Ok(_) => Vec::new(),
        Err(invalid) => invalid.into_problems().into_messages(),
    }
}

#[test]
fn a_withdrawal_needs_what_its_method_needs() {
    for (method, currency, payout, problems) in [
        ("spei", "MXN", json!(null), &["payout is required for a withdrawal"][..]),
        ("spei", "MXN", json!({}), &["payout.bank_account is required"]),
        ("spei", "MXN", json!({"bank_account": ""}), &["payout.bank_account is required"]),
        ("bank_transfer", "UYU", json!({}), &["payout.bank_account is required"]),
        (
            "bank_transfer",
            "UYU",
            json!({"bank_code": " ", "bsb": null}),
            &["payout.bank_account is required"],
        ),
        ("cash", "UYU", json!({"bank_code": " ", "bsb": null}), &["payout must name its recipient"]),
        (
            "bank_transfer",
            "ARS",
            json!({"recipient_name": 5, "bank_account": null}),
            &["payout.recipient_name must be a string", "payout.bank_account is required"],
        ),
        ("spei", "MXN", json!([]), &["payout must be an object"]),
        ("spei", "MXN", json!({"recipient_name": "Ana"}), &["payout.bank_account is required"]),
        (
            "payid",
            "AUD",
            json!({"recipient_name": "A"}),
            &["payout.payid is required", "payout.payid_type is required"],
        ),
        ("payid", "AUD", json!({"payid": "a@b.io"}), &["payout.payid_type is required"]),
        ("bank_transfer", "AUD", json!({"bsb": "062000"}), &["payout.bank_account is required"]),
        ("bank_transfer", "AUD", json!({"bank_account": "12345"}), &["payout.bsb is required"]),
        ("bank_transfer", "ARS", json!({"bank_account": "1"}), &["payout.recipient_name is required"]),
        (
            "bank_transfer",
            "ARS",
            json!({"recipient_name": "A", "bank_account": " "}),
            &["payout.bank_account is required"],
        ),
        ("cash", "ARS", json!({"bank_account": "1"}), &["payout.recipient_name is required"]),
        ("bank_transfer", "UYU", json!({"recipient_name": "A"}), &["payout.bank_account is required"]),
        ("bank_transfer", "UYU", json!({"bank_account": "12345"}), &[]),
        (
            "spei",
            "MXN",
            json!({"bank_account": "032180000118359719", "bank_code": "", "payid_type": ""}),
            &[],
        ),
        ("payid", "AUD", json!({"payid": "a@b.io", "payid_type": "email"}), &[]),
        ("bank_transfer", "AUD", json!({"bsb": "062000", "bank_account": "12345678"}), &[]),
    ] {
        assert_eq!(problems_of(method, currency, &payout), problems, "{method} {currency} {payout}");
    }
}

#[test]
fn members_of_a_bank_account_have_their_formats() {
    for (currency, payout, problem) in [
        ("AUD", json!({"bsb": "06200", "bank_account": "1"}), "payout.bsb must be 6 digits"),
        ("AUD", json!({"bsb": "062-000", "bank_account": "1"}), "payout.bsb must be 6 digits"),
        ("AUD", json!({"bsb": 62000, "bank_account": "1"}), "payout.bsb must be a string"),
        (
            "UYU",
            json!({"bank_account": "a b"}),
            "payout.bank_account must be letters, digits, dots and hyphens",
        ),
        (
            "UYU",
            json!({"bank_account": "x".repeat(141)}),
            "payout.bank_account must be at most 140 characters",
        ),
        (
            "UYU",
            json!({"recipient_name": "a\nb", "bank_account": "1"}),
            "payout.recipient_name must not contain control characters",
        ),
        ("UYU", json!({"bank_account": "1", "iban": "x"}), "payout.iban is not a known member"),
        ("UYU", json!({"bank_account": "1", "payid": "x"}), "payout.payid is only for method payid"),
    ] {
        assert_eq!(problems_of("bank_transfer", currency, &payout), [problem], "{currency} {payout}");
    }
    let alias = json!({"recipient_name": "A", "bank_account": "perro.gato-1"});
    assert!(problems_of("bank_transfer", "ARS", &alias).is_empty());
    let clabe = "payout.bank_account must be 10 to 18 digits (a CLABE has 18)";
    assert_eq!(problems_of("spei", "MXN", &json!({"bank_account": "not a clabe"})), [clabe]);
}

#[test]
fn a_payid_has_the_format_of_its_type() {
    let phone = "payout.payid must be a telephone number of 8 to 15 digits";
    for (value, kind, problems) in [
        ("a@b", "email", &["payout.payid must be an e-mail address"][..]),
        ("12345", "phone", &[phone]),
        ("call 0412345678", "phone", &[phone]),
        ("5182475355", "abn", &["payout.payid must be 11 digits"]),
        ("x", "name", &["payout.payid_type must be one of email, phone, abn"]),
        ("+61-412 345 678", "phone", &[]),
        ("51824753556", "abn", &[]),
    ] {
        let payout = json!({"payid": value, "payid_type": kind});
        assert_eq!(problems_of("payid", "AUD", &payout), problems, "{value} {kind}");
    }
    let both = json!({"payid": "a@b.io", "payid_type": "email", "bank_account": "1", "bsb": "062000"});
    let expected = [
        "payout.bank_account must not be sent with method payid",
        "payout.bsb must not be sent with method payid",
    ];
    assert_eq!(problems_of("payid", "AUD", &both), expected);
}

#[test]
fn a_hosted_withdrawal_may_leave_its_recipient_open() {
    for payout in [json!(null), json!({})] {
        let body = with(withdrawal(), &json!({"type": "withdrawal_pp", "payout": payout}));
        assert_eq!(Draft::parse(&body).expect("valid").payout, None);
    }
    let half = with(withdrawal(), &json!({"type": "withdrawal_pp", "payout": {"recipient_name": "Ana"}}));
    let messages = Draft::parse(&half).expect_err("half a recipient").into_problems().into_messages();
    assert_eq!(messages, ["payout.bank_account is required"]);
}

/// What is said of a withdrawal in lari with this partner destination.
fn partner_problems(destination: &Value) -> Vec<String> {
    problems_of("bank_transfer", "GEL", &json!({"partnerDestination": destination}))
}

fn inline_bank() -> Value {
    json!({
        "iban": "GE29NB0000000101904917", "swift": "BAGAGE22", "beneficiaryName": "Nino", "beneficiaryBank": "Bank",
        "address": "1 Rustaveli Ave", "reference": "rent",
    })
}

#[test]
fn a_wallet_is_named_by_its_scheme() {
    let wallet = |scheme: &str, value: &str| json!({"kind": "wallet", "scheme": scheme, "value": value});
    for (scheme, value) in [
        ("phone", "99555123"),
        ("phone", "123456789012345"),
        ("email", "nino@example.ge"),
        ("national_passport", "123456"),
        ("national_passport", "123456789012"),
        ("reference_id", "A_b-9"),
    ] {
        assert!(partner_problems(&wallet(scheme, value)).is_empty(), "{scheme} {value}");
    }
    let long = "x".repeat(101);
    for (scheme, value, rule) in [
        ("phone", "+99555123", "8 to 15 digits"),
        ("phone", "1234567", "8 to 15 digits"),
        ("phone", "1234567890123456", "8 to 15 digits"),
        ("email", "nino", "an e-mail address"),
        ("national_passport", "12345", "6 to 12 digits"),
        ("national_passport", "AB123456", "6 to 12 digits"),
        ("reference_id", "a b", "1 to 100 ASCII letters, digits, underscores and hyphens"),
        ("reference_id", "é", "1 to 100 ASCII letters, digits, underscores and hyphens"),
        ("reference_id", &long, "1 to 100 ASCII letters, digits, underscores and hyphens"),
    ] {
        let expected = format!("payout.partnerDestination.value must be {rule}");
        assert_eq!(partner_problems(&wallet(scheme, value)), [expected], "{scheme} {value}");
    }
}

#[test]
fn a_destination_has_exactly_one_form() {
    let path = |problem: &str| format!("payout.partnerDestination{problem}");
    let range = ".ibanAccountId must be a decimal string from 1 to 2147483647";
    for (destination, problem) in [
        (json!({}), ".kind is required"),
        (json!({"kind": "card"}), ".kind must be one of wallet, bank, sepa"),
        (json!("wallet"), " must be an object"),
        (json!({"kind": "wallet", "scheme": "phone"}), ".value is required"),
        (
            json!({"kind": "wallet", "scheme": "iris", "value": "x"}),
            ".scheme must be one of phone, email, national_passport, reference_id",
        ),
        (
            json!({"kind": "wallet", "scheme": "phone", "value": "99555123", "note": "x"}),
            ".note is not a known member",
        ),
        (json!({"kind": "bank"}), ".ibanAccountId is required where there is no bank"),
        (
            json!({"kind": "bank", "ibanAccountId": "7", "bank": inline_bank()}),
            ".bank must not be sent together with ibanAccountId",
        ),
        (json!({"kind": "bank", "ibanAccountId": 7}), ".ibanAccountId must be a string"),
        (json!({"kind": "bank", "ibanAccountId": "0"}), range),
        (json!({"kind": "bank", "ibanAccountId": "07"}), range),
        (json!({"kind": "bank", "ibanAccountId": "2147483648"}), range),
        (json!({"kind": "bank", "ibanAccountId": "-1"}), range),
        (json!({"kind": "bank", "ibanAccountId": ""}), range),
        (json!({"kind": "bank", "ibanAccountId": "7", "scheme": "phone"}), ".scheme is not a known member"),
        (json!({"kind": "sepa"}), ".ibanAccountId is required"),
        (
            json!({"kind": "sepa", "ibanAccountId": "7", "bank": inline_bank()}),
            ".bank must not be sent: a SEPA beneficiary has to be a saved one",
        ),
    ] {
        assert_eq!(partner_problems(&destination), [path(problem)], "{destination}");
    }
    for destination in [
        json!({"kind": "bank", "ibanAccountId": "1"}),
        json!({"kind": "bank", "ibanAccountId": "2147483647"}),
        json!({"kind": "sepa", "ibanAccountId": "7", "bank": null}),
        json!({"kind": "bank", "bank": inline_bank()}),
    ] {
        assert!(partner_problems(&destination).is_empty(), "{destination}");
    }
}

#[test]
fn an_inline_beneficiary_is_whole() {
    let path = |problem: &str| format!("payout.partnerDestination.bank.{problem}");
    let iban = "iban must be 15 to 34 capital letters and digits, beginning with a country code";
    for (members, problem) in [
        (json!({"iban": null}), "iban is required"),
        (json!({"iban": "ge29nb0000000101904917"}), iban),
        (json!({"iban": "2929NB0000000101904917"}), iban),
        (json!({"iban": "GE29NB00000001"}), iban),
        (json!({"iban": format!("GE{}", "1".repeat(33))}), iban),
        (json!({"iban": "GE29 NB00 0000 0101 9049 17"}), iban),
        (json!({"swift": null}), "swift is required"),
        (json!({"swift": "BAGAGE2"}), "swift must be 8 or 11 capital letters and digits"),
        (json!({"swift": "bagage22"}), "swift must be 8 or 11 capital letters and digits"),
        (json!({"beneficiaryName": null}), "beneficiaryName is required"),
        (json!({"beneficiaryName": "  "}), "beneficiaryName must not be blank"),
        (json!({"beneficiaryBank": ""}), "beneficiaryBank must not be empty"),
        (json!({"address": "x".repeat(201)}), "address must be at most 200 characters"),
        (json!({"reference": "x".repeat(141)}), "reference must be at most 140 characters"),
        (json!({"city": "Tbilisi"}), "city is not a known member"),
    ] {
        let destination = json!({"kind": "bank", "bank": with(inline_bank(), &members)});
        assert_eq!(partner_problems(&destination), [path(problem)], "{members}");
    }
}

#[test]
fn a_partner_destination_stands_alone() {
    let wallet = json!({"kind": "wallet", "scheme": "phone", "value": "99555123"});
    for name in
        ["bank_account", "bank_code", "account_type", "beneficiary_tax_id", "payid", "payid_type", "bsb"]
    {
        let payout = json!({"partnerDestination": wallet, name: ""});
        let expected = format!("payout.{name} must not be combined with partnerDestination");
        assert_eq!(problems_of("bank_transfer", "GEL", &payout), [expected]);
    }
    let named = json!({"partnerDestination": wallet, "recipient_name": "Nino", "bsb": null});
    assert!(problems_of("bank_transfer", "GEL", &named).is_empty());
    let payout = json!({"partnerDestination": wallet});
    assert_eq!(
        problems_of("spei", "MXN", &payout),
        ["method must be bank_transfer for a partner destination"]
    );
    assert!(
        problems_of("bank_transfer", "ARS", &payout).is_empty(),
        "no recipient_name for a typed destination"
    );
}

#[test]
fn a_destination_is_written_as_it_was_sent() {
    let sent = json!({"kind": "wallet", "scheme": "national_passport", "value": "123456"});
    let read: Destination = serde_json::from_value(sent.clone()).expect("its own form");
    assert_eq!(
        read,
        Destination::Wallet { scheme: WalletScheme::NationalPassport, value: "123456".to_owned() }
    );
    assert_eq!(serde_json::to_value(&read).expect("JSON"), sent);
}
