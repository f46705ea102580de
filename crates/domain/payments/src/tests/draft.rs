//! The top level of a create request.

use proptest::prelude::*;
use quipu_webhooks::EventName;
use serde_json::{Map, Value, json};

use super::world::{deposit, with, withdrawal};
use crate::{Draft, RedirectScheme, TrafficType};

/// What is said of a deposit with these members replaced.
fn problems_with(members: &Value) -> Vec<String> {
    match Draft::parse(&with(deposit(), members)) {
        Ok(_) => Vec::new(),
        Err(invalid) => invalid.into_problems().into_messages(),
    }
}

#[test]
fn a_whole_request_is_read_whole() {
    let body = with(
        deposit(),
        &json!({
            "customer_id": 42, "webhook_url": "https://shop.example/hook",
            "webhook_events": ["payment.completed", "payment.completed", "payout.failed"],
            "traffic_type": "vip", "description": "two\nlines\tand a tab", "note": "n", "external_id": "e-1",
            "return_urls": { "success_url": "https://shop.example/ok", "other": 1 }, "unknown": [1, 2],
        }),
    );
    let draft = Draft::parse(&body).expect("valid");
    assert_eq!(draft.amount.get(), 100_000);
    assert_eq!(draft.customer.id.map(|id| id.0), Some(42));
    assert_eq!(draft.traffic_type, Some(TrafficType::Vip));
    let webhook = draft.webhook.expect("a webhook");
    assert_eq!(webhook.events, [EventName::PaymentCompleted, EventName::PayoutFailed]);
    assert_eq!(draft.return_urls.success_url.as_deref(), Some("https://shop.example/ok"));
    assert_eq!(draft.return_urls.cancel_url, None);
}

#[test]
fn a_webhook_hears_four_events_unless_the_request_names_others() {
    let webhook_of = |members: Value| Draft::parse(&with(deposit(), &members)).expect("valid").webhook;
    let webhook = webhook_of(json!({"webhook_url": "https://shop.example/hook"})).expect("a webhook");
    let four = [
        EventName::PaymentCreated,
        EventName::PaymentCompleted,
        EventName::PaymentFailed,
        EventName::PaymentRefunded,
    ];
    assert_eq!(webhook.events, four);
    let events_alone = webhook_of(json!({"webhook_events": ["payment.completed"]}));
    assert!(events_alone.is_none(), "events without a URL have no effect");
}

/// With these members a deposit breaks one rule, which is named with its field.
fn each_is_named<const N: usize>(rows: [(Value, &str); N]) {
    for (members, problem) in rows {
        assert_eq!(problems_with(&members), [problem], "{members}");
    }
}

fn long(length: usize) -> String {
    "x".repeat(length)
}

#[test]
fn each_broken_rule_of_what_every_payment_has_is_named() {
    each_is_named([
        (json!({"amount": null}), "amount is required"),
        (json!({"amount": "5"}), "amount must be an integer"),
        (json!({"amount": 10.5}), "amount must be an integer"),
        (json!({"amount": 100.0}), "amount must be an integer"),
        (json!({"amount": 0}), "amount must be at least 1"),
        (json!({"amount": -5}), "amount must be at least 1"),
        (json!({"amount": 9_007_199_254_740_992_i64}), "amount must be at most 2^53 - 1"),
        (json!({"currency": null}), "currency is required"),
        (json!({"currency": 7}), "currency must be a string"),
        (json!({"currency": "mxn"}), "currency must be a currency code of three capital letters"),
        (json!({"method": null}), "method is required"),
        (json!({"method": []}), "method must be a string"),
        (
            json!({"method": "wire"}),
            "method must be one of bank_transfer, spei, cashstore, card, cash, crypto, payid, redirectpay",
        ),
        (json!({"type": null}), "type is required"),
        (json!({"type": true}), "type must be a string"),
        (json!({"type": "payin"}), "type must be one of deposit, withdrawal, deposit_pp, withdrawal_pp"),
        (json!({"merchant_reference": null}), "merchant_reference is required"),
        (json!({"merchant_reference": ""}), "merchant_reference must not be empty"),
        (json!({"merchant_reference": 5}), "merchant_reference must be a string"),
        (json!({"merchant_reference": long(256)}), "merchant_reference must be at most 255 characters"),
        (json!({"merchant_reference": "a\tb"}), "merchant_reference must not contain control characters"),
    ]);
}

#[test]
fn each_broken_rule_of_a_customer_is_named() {
    each_is_named([
        (json!({"customer": null}), "customer is required"),
        (json!({"customer": "Ana"}), "customer must be an object"),
        (json!({"customer": {}}), "customer must have an email or a phone"),
        (json!({"customer": {"name": "Ana"}}), "customer must have an email or a phone"),
        (json!({"customer": {"email": "", "phone": " "}}), "customer must have an email or a phone"),
        (json!({"customer": {}, "customer_id": 4}), "customer must have a name, an email or a phone"),
        (json!({"customer": {"email": 1}}), "customer.email must be a string"),
        (json!({"customer": {"email": "ana"}}), "customer.email must be an e-mail address"),
        (
            json!({"customer": {"email": format!("{}@x.io", long(250))}}),
            "customer.email must be at most 254 characters",
        ),
        (json!({"customer": {"phone": long(33)}}), "customer.phone must be at most 32 characters"),
        (json!({"customer": {"phone": "call me"}}), "customer.phone must contain digits"),
        (
            json!({"customer": {"name": long(256), "phone": "1"}}),
            "customer.name must be at most 255 characters",
        ),
        (json!({"customer_id": 0}), "customer_id must be an integer from 1 to 2^53 - 1"),
        (json!({"customer_id": "4"}), "customer_id must be an integer"),
    ]);
}

#[test]
fn each_broken_rule_of_what_a_payment_may_have_is_named() {
    each_is_named([
        (json!({"payout": {"bank_account": "1"}}), "payout must not be sent on a deposit"),
        (json!({"webhook_url": 1}), "webhook_url must be a string"),
        (json!({"webhook_url": "ftp://x.io"}), "webhook_url must be an http or https URL"),
        (json!({"webhook_url": "http://u:p@x.io"}), "webhook_url must not carry a user name or password"),
        (
            json!({"webhook_url": format!("https://x.io/{}", long(2040))}),
            "webhook_url must be at most 2048 characters",
        ),
        (json!({"webhook_events": "payment.created"}), "webhook_events must be an array of strings"),
        (json!({"webhook_events": [1]}), "webhook_events must be an array of strings"),
        (
            json!({"webhook_events": ["payment.lost"]}),
            "webhook_events must be known event names, such as payment.completed",
        ),
        (json!({"webhook_events": []}), "webhook_events must name at least one event"),
        (json!({"traffic_type": "gold"}), "traffic_type must be one of primary, secondary, vip"),
        (json!({"redirectpay": {"payment_method": "VISA"}}), "redirectpay is only for method redirectpay"),
        (json!({"return_urls": []}), "return_urls must be an object"),
        (
            json!({"return_urls": {"cancel_url": "javascript:x"}}),
            "return_urls.cancel_url must be an http or https URL",
        ),
        (json!({"description": long(501)}), "description must be at most 500 characters"),
        (json!({"description": "a\rb"}), "description must not contain control characters"),
        (json!({"note": "a\u{7f}b"}), "note must not contain control characters"),
        (json!({"note": {}}), "note must be a string"),
        (json!({"external_id": long(256)}), "external_id must be at most 255 characters"),
        (json!({"external_id": "a\nb"}), "external_id must not contain control characters"),
    ]);
}

#[test]
fn pairings_that_no_merchant_has_are_named() {
    let other =
        "currency must be one of ARS, UYU, AUD for method bank_transfer without a partner destination";
    for (method, currency, problem) in [
        ("spei", "AUD", "currency must be MXN for method spei"),
        ("payid", "MXN", "currency must be AUD for method payid"),
        ("redirectpay", "MXN", "currency must be LKR for method redirectpay"),
        ("bank_transfer", "MXN", other),
        ("bank_transfer", "GEL", other),
    ] {
        assert_eq!(problems_with(&json!({"method": method, "currency": currency})), [problem]);
    }
    for (method, currency) in [
        ("bank_transfer", "ARS"),
        ("bank_transfer", "UYU"),
        ("payid", "AUD"),
        ("cash", "MXN"),
        ("card", "TRY"),
    ] {
        assert!(problems_with(&json!({"method": method, "currency": currency})).is_empty(), "{method}");
    }
    let out = with(withdrawal(), &json!({"method": "redirectpay", "currency": "LKR"}));
    let messages =
        Draft::parse(&out).expect_err("redirectpay takes money in only").into_problems().into_messages();
    assert_eq!(messages, ["type must be deposit or deposit_pp for method redirectpay"]);
}

#[test]
fn a_scheme_restricts_redirectpay() {
    let lkr = |scheme: Value| {
        with(deposit(), &json!({"method": "redirectpay", "currency": "LKR", "redirectpay": scheme}))
    };
    let draft = Draft::parse(&lkr(json!({"payment_method": "LQR"}))).expect("valid");
    assert_eq!(draft.redirect_scheme, Some(RedirectScheme::Lqr));
    for (scheme, problem) in [
        (
            json!({"payment_method": "AMEX"}),
            "redirectpay.payment_method must be one of VISA, MC, REDIRECTPAY, LQR",
        ),
        (json!({"payment_method": 1}), "redirectpay.payment_method must be a string"),
        (json!({"brand": "VISA"}), "redirectpay.brand is not a known member"),
        (json!("VISA"), "redirectpay must be an object"),
    ] {
        let messages = Draft::parse(&lkr(scheme)).expect_err("invalid").into_problems().into_messages();
        assert_eq!(messages, [problem]);
    }
}

#[test]
fn everything_wrong_is_said_at_once() {
    let body = json!({"amount": 1.5, "currency": "x", "customer": {"email": "ana"}, "webhook_url": "x"});
    let messages = Draft::parse(&body).expect_err("invalid").into_problems().into_messages();
    let fields: Vec<_> = messages.iter().filter_map(|message| message.split(' ').next()).collect();
    let expected =
        ["amount", "currency", "method", "type", "merchant_reference", "customer.email", "webhook_url"];
    assert_eq!(fields, expected);
}

#[test]
fn lengths_are_counted_in_characters_and_null_is_absent() {
    let body = with(
        deposit(),
        &json!({
            "merchant_reference": "é".repeat(255), "description": "漢".repeat(500), "note": null, "payout": null,
            "webhook_url": null, "redirectpay": null, "return_urls": null, "customer_id": null,
        }),
    );
    assert!(Draft::parse(&body).is_ok());
    assert_eq!(
        Draft::parse(&json!([])).expect_err("invalid").into_problems().into_messages(),
        ["body must be a JSON object"]
    );
}

/// A value without members, often one that a request may have.
fn any_leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "spei",
            "bank_transfer",
            "payid",
            "redirectpay",
            "MXN",
            "AUD",
            "GEL",
            "deposit",
            "withdrawal",
            "withdrawal_pp",
            "wallet",
            "bank",
            "sepa",
            "phone",
            "abn",
            "ana@example.com",
            "https://a.b",
            "1",
        ])
        .prop_map(Value::from),
    ]
}

/// The name of a member that a request may have.
fn any_name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "amount",
        "currency",
        "method",
        "type",
        "merchant_reference",
        "customer",
        "email",
        "phone",
        "customer_id",
        "payout",
        "partnerDestination",
        "kind",
        "scheme",
        "value",
        "ibanAccountId",
        "bank",
        "iban",
        "swift",
        "beneficiaryName",
        "bank_account",
        "payid",
        "payid_type",
        "bsb",
        "webhook_url",
        "webhook_events",
        "redirectpay",
        "payment_method",
        "return_urls",
        "success_url",
        "note",
    ])
}

/// JSON that is often nearly a request: its members have the right names and any values.
fn any_json() -> impl Strategy<Value = Value> {
    any_leaf().prop_recursive(4, 64, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any_name(), inner), 0..12).prop_map(|members| {
                let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
                Value::Object(members.collect::<Map<_, _>>())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_at_all_makes_reading_panic(members in any_json(), payout in any_json()) {
        let _ = Draft::parse(&members);
        let mut body = with(withdrawal(), &json!({"payout": payout}));
        let _ = Draft::parse(&body);
        if let Value::Object(members) = members {
            body.as_object_mut().expect("an object").extend(members);
            if let Err(invalid) = Draft::parse(&body) {
                prop_assert!(!invalid.into_problems().is_empty());
            }
        }
    }
}
