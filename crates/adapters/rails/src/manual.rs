//! The rail whose payments people carry out by hand.

use async_trait::async_trait;
use quipu_kernel::{Currency, Timestamp};
use quipu_merchants::{Direction, MANUAL_RAIL, Method, Route};
use quipu_payments::{BankDetails, Instructions, IssuedInstructions, Payment, Rail, RailStatus, Submission};
use serde_json::{Map, Value, json};

/// Shows the payer the route's `instructions`. Nothing becomes due except expiry: a deposit waits until a
/// person confirms it, and a withdrawal stays `pending` until an operator submits it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Manual;

#[async_trait]
impl Rail for Manual {
    fn name(&self) -> &'static str {
        MANUAL_RAIL
    }

    fn issue(&self, payment: &Payment, route: &Route) -> IssuedInstructions {
        let instructions = match payment.terms().kind.direction() {
            Direction::Deposit => configured(payment, &route.instructions),
            Direction::Withdrawal => Instructions::default(),
        };
        IssuedInstructions { instructions, ..IssuedInstructions::default() }
    }

    async fn submit(&self, _payment: &Payment) -> Submission {
        // A person carries it out, and no system can be asked about it.
        Submission::Accepted { provider_reference: None }
    }

    async fn ask(&self, _payment: &Payment) -> RailStatus {
        RailStatus::WillReport
    }
}

/// The route's members, completed by those that follow from the payment. If the route leaves out a member
/// that the payer needs, there are no instructions at all, since an incomplete account is worse than none.
fn configured(payment: &Payment, members: &Map<String, Value>) -> Instructions {
    let terms = payment.terms();
    let reference = payment.id().as_str();
    let (object, given) = match terms.method {
        Method::BankTransfer | Method::Spei => (
            "bank_details",
            json!({ "amount": terms.amount.to_string(), "purpose": reference, "currency": terms.currency }),
        ),
        Method::PayId => ("payid_details", json!({ "reference": reference })),
        Method::Cash | Method::CashStore => {
            ("voucher_details", json!({ "reference": reference, "expires_at": shown(terms.expires_at) }))
        }
        Method::Crypto => ("crypto_details", json!({})),
        Method::Card | Method::RedirectPay => {
            let url = members.get("redirect_url").and_then(Value::as_str).map(str::to_owned);
            return Instructions { redirect_url: url, ..Instructions::default() };
        }
    };
    let mut details = members.clone();
    if let Value::Object(given) = given {
        details.extend(given);
    }
    let shown: Instructions = serde_json::from_value(json!({ object: details })).unwrap_or_default();
    // Only an Australian account also has a bank-state-branch code.
    let in_australia = terms.method == Method::BankTransfer && terms.currency == Currency::AUD;
    let whole = shown.bank_details.filter(|details| details.bsb.is_some() || !in_australia);
    let bank_details =
        whole.map(|details| BankDetails { bsb: details.bsb.filter(|_| in_australia), ..details });
    Instructions { bank_details, ..shown }
}

fn shown(at: Option<Timestamp>) -> Value {
    at.map_or(Value::Null, |at| Value::String(at.to_string()))
}

#[cfg(test)]
mod tests {
    use quipu_merchants::{instruction_members, needed_instructions};
    use quipu_payments::PaymentType;

    use super::*;
    use crate::samples::Sample;

    fn issued(method: Method, currency: Currency, members: &Value) -> IssuedInstructions {
        let sample = Sample::new(PaymentType::Deposit, method, currency);
        let mut route = sample.route(MANUAL_RAIL);
        route.instructions = members.as_object().cloned().unwrap_or_default();
        Manual.issue(&sample.payment(), &route)
    }

    #[test]
    fn a_bank_transfer_shows_the_routes_account_with_the_payments_amount_and_purpose() {
        let members = json!({
            "bank_name": "Bank of Nowhere", "swift_code": null, "account_holder": "Quipu Pty", "account_number": "12345678",
            "bsb": "062000", "purpose": "the payment's own wins",
        });
        let issued = issued(Method::BankTransfer, Currency::AUD, &members);
        let details = issued.instructions.bank_details.expect("bank details");
        assert_eq!((details.amount.as_str(), details.bsb.as_deref()), ("100000", Some("062000")));
        assert_eq!(details.purpose, Sample::ID);
        assert_eq!(issued.due, None);
    }

    #[test]
    fn every_other_method_fills_its_own_member() {
        let payid = json!({ "payid": "pay@quipu.example", "payid_type": "email", "payid_name": "Quipu" });
        assert!(issued(Method::PayId, Currency::AUD, &payid).instructions.payid_details.is_some());
        let voucher = json!({ "barcode": "0123456789" });
        assert!(issued(Method::Cash, Currency::UYU, &voucher).instructions.voucher_details.is_some());
        let crypto = json!({ "asset": "USDT", "network": "tron", "address": "T1", "uri": "tron:T1" });
        assert!(issued(Method::Crypto, Currency::TRY, &crypto).instructions.crypto_details.is_some());
        let card = json!({ "redirect_url": "https://scheme.example/pay" });
        assert!(issued(Method::Card, Currency::TRY, &card).instructions.redirect_url.is_some());
    }

    #[test]
    fn all_that_a_route_may_name_is_shown_and_what_it_must_name_is_enough() {
        for (method, currency) in
            Method::ALL.into_iter().flat_map(|m| [(m, Currency::AUD), (m, Currency::ARS)])
        {
            let needed = needed_instructions(method, currency);
            for names in [needed, instruction_members(method)] {
                let members = names.iter().map(|name| ((*name).to_owned(), json!(name))).collect();
                let shown = issued(method, currency, &Value::Object(members)).instructions;
                assert!(shown.way_to_pay().is_some(), "{method:?} {currency} {names:?}");
                let text = json!(shown).to_string();
                for name in names {
                    let is_shown = text.contains(&format!("\"{name}\":\"{name}\""));
                    let is_of_australia_only = *name == "bsb" && !needed.contains(name);
                    assert!(
                        is_shown || is_of_australia_only,
                        "{method:?} {currency}: {name} is not in {text}"
                    );
                }
            }
        }
    }

    #[test]
    fn half_an_account_is_not_shown() {
        let members = json!({ "bank_name": "Bank of Nowhere" });
        assert_eq!(
            issued(Method::Spei, Currency::MXN, &members).instructions,
            quipu_payments::Instructions::default()
        );
    }

    #[test]
    fn only_an_australian_account_has_a_bsb_and_must_have_one() {
        let mut members = json!({ "bank_name": "Bank of Nowhere", "account_holder": "Quipu", "account_number": "12345678" });
        let details = |currency, members: &Value| {
            issued(Method::BankTransfer, currency, members).instructions.bank_details
        };
        assert_eq!(details(Currency::AUD, &members), None);
        assert!(details(Currency::UYU, &members).is_some());
        members["bsb"] = json!("062000");
        assert!(details(Currency::AUD, &members).is_some_and(|shown| shown.bsb.is_some()));
        assert!(details(Currency::UYU, &members).is_some_and(|shown| shown.bsb.is_none()));
    }

    #[test]
    fn a_withdrawal_shows_nothing_and_waits_for_a_person() {
        let sample = Sample::new(PaymentType::Withdrawal, Method::Spei, Currency::MXN);
        assert_eq!(
            Manual.issue(&sample.payment(), &sample.route(MANUAL_RAIL)),
            IssuedInstructions::default()
        );
    }
}
