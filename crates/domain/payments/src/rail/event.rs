//! An event that a rail reports by itself: the callback of a provider, or the entry of a bank's statement.

use quipu_kernel::{Amount, Currency, Fields, Problems, Timestamp, wire_names};
use serde_json::Value;

use crate::payment::{Payment, failure::Failure};

/// The most characters of an event's identifier, and of its reference.
const MOST_IN_NAME: usize = 255;
/// The most characters kept of a rail's own identifier of a payment.
const MOST_IN_PROVIDER_REFERENCE: usize = 140;

wire_names! {
    /// The kind of event at the rail.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum RailEventKind {
        /// The money arrived.
        Completed = "payment.completed",
        /// The money will not arrive.
        Failed = "payment.failed",
        /// The bank sent a payout back.
        Returned = "payment.returned",
    }
}

/// An event that a rail reports, perhaps several times: `id` is unique within the rail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RailEvent {
    /// The rail's identifier of the event, 1 to 255 characters.
    pub id: String,
    /// The kind of event.
    pub kind: RailEventKind,
    /// The reference under which the payment was given to the rail: the payment's identifier.
    pub rail_reference: String,
    /// Amount that arrived or came back, in minor units; a failure may have none.
    pub amount: Option<Amount>,
    /// Currency of the amount.
    pub currency: Option<Currency>,
    /// When it happened, by the rail's clock.
    pub occurred_at: Option<Timestamp>,
    /// Code of the reason for a failure or a return.
    pub code: Option<String>,
    /// The reason in words, for a person.
    pub message: Option<String>,
    /// The rail's own identifier of the payment, for people who speak with the rail's staff.
    pub provider_reference: Option<String>,
}

impl RailEvent {
    /// The rail's refusal of a payment as an event; a repeated question gives the same event.
    pub(crate) fn refusal(payment: &Payment, failure: Failure) -> Self {
        Self {
            id: format!("asked:{}:failed", payment.id()),
            kind: RailEventKind::Failed,
            rail_reference: payment.id().as_str().to_owned(),
            amount: None,
            currency: None,
            occurred_at: None,
            code: Some(failure.code),
            message: Some(failure.message),
            provider_reference: None,
        }
    }

    /// Reads the body of a callback, or answers all its problems. Unknown members are ignored, so that a
    /// provider may add members to its messages.
    pub fn parse(body: &Value) -> Result<Self, Problems> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let p = &mut problems;
        let id = fields.required_text("id", MOST_IN_NAME, p);
        let kind = fields.required_parsed::<RailEventKind>("type", p);
        let rail_reference = fields.required_text("rail_reference", MOST_IN_NAME, p);
        let moves_money = kind.is_some_and(|kind| kind != RailEventKind::Failed);
        for name in ["amount", "currency"] {
            if moves_money {
                fields.require(name, p);
            }
        }
        // What failed may have moved nothing.
        let is_nothing = !moves_money && fields.value("amount").and_then(Value::as_i64) == Some(0);
        let amount = if is_nothing { None } else { fields.amount("amount", p) };
        let currency = fields.parsed::<Currency>("currency", p);
        let occurred_at = fields.text("occurred_at", 64, p).and_then(|text| {
            let at = Timestamp::parse(text);
            if at.is_none() {
                p.add("occurred_at", "must be an ISO 8601 instant");
            }
            at
        });
        let code = fields.text("code", Failure::MOST_IN_CODE, p).filter(|code| !code.is_empty());
        let message =
            fields.long_text("message", Failure::MOST_IN_MESSAGE, p).filter(|text| !text.is_empty());
        let event = || {
            Some(Self {
                id: id?.to_owned(),
                kind: kind?,
                rail_reference: rail_reference?.to_owned(),
                amount,
                currency,
                occurred_at,
                code: code.map(str::to_owned),
                message: message.map(str::to_owned),
                provider_reference: provider_reference(&body["provider_reference"]),
            })
        };
        problems.admit(event())
    }

    /// Why the payment failed or came back, in the rail's words.
    pub fn failure(&self) -> Failure {
        let is_return = self.kind == RailEventKind::Returned;
        let usual = || is_return.then(|| "the bank sent the payout back".to_owned());
        Failure::reported(self.code.clone(), self.message.clone().or_else(usual))
    }
}

/// A rail's own identifier of a payment in JSON: a text, or a whole number, which counts as its digits. One of another
/// form names nothing, and is no reason to refuse what comes with it.
pub fn provider_reference(given: &Value) -> Option<String> {
    match given {
        Value::String(text) => kept_reference(text),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        _ => None,
    }
}

/// A rail's own identifier as it is kept: its first 140 printable characters. Payments are told apart by it.
pub(crate) fn kept_reference(text: &str) -> Option<String> {
    let text: String = text.chars().filter(|c| !c.is_control()).take(MOST_IN_PROVIDER_REFERENCE).collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn completed() -> Value {
        json!({
            "id": "evt-1", "type": "payment.completed", "rail_reference": "pay_1763683200000_abcdefghjkmn",
            "amount": 100_000, "currency": "MXN", "occurred_at": "2026-11-21T12:00:00Z", "new": "ignored",
        })
    }

    #[test]
    fn what_failed_may_have_moved_nothing() {
        let mut body = completed();
        body["amount"] = json!(0);
        assert!(RailEvent::parse(&body).is_err());
        body["type"] = json!("payment.failed");
        assert_eq!(RailEvent::parse(&body).expect("valid").amount, None);
    }

    #[test]
    fn a_callback_is_read_whole() {
        let event = RailEvent::parse(&completed()).expect("valid");
        assert_eq!((event.kind, event.amount.map(Amount::get)), (RailEventKind::Completed, Some(100_000)));
        assert_eq!(event.currency, Some(Currency::MXN));
    }

    #[test]
    fn the_rails_own_identifier_is_kept_as_far_as_it_is_one() {
        let named = |given: Value| {
            let mut body = completed();
            body["provider_reference"] = given;
            RailEvent::parse(&body).expect("no reason to refuse it").provider_reference
        };
        assert_eq!(named(json!("A-\u{7}1")), Some("A-1".to_owned()));
        assert_eq!(named(json!("x".repeat(200))), Some("x".repeat(140)));
        assert_eq!(named(json!(7)), Some("7".to_owned()));
        assert_eq!(named(json!(u64::MAX)), Some(u64::MAX.to_string()));
        for none in [json!(null), json!(""), json!(7.5), json!({}), json!(true)] {
            assert_eq!(named(none.clone()), None, "{none}");
        }
    }

    #[test]
    fn money_that_moves_says_how_much_and_a_failure_need_not() {
        let mut body = completed();
        body["amount"] = Value::Null;
        body["currency"] = Value::Null;
        let problems = RailEvent::parse(&body).expect_err("incomplete").into_messages();
        assert_eq!(problems, ["amount is required", "currency is required"]);
        body["type"] = json!("payment.failed");
        let failed = RailEvent::parse(&body).expect("valid");
        assert_eq!(failed.failure().code, "RAIL_FAILED");
    }

    #[test]
    fn everything_wrong_is_told_at_once() {
        let body = json!({"id": "", "type": "payment.lost", "amount": 1.5, "currency": "pesos", "occurred_at": "noon"});
        let problems = RailEvent::parse(&body).expect_err("bad").into_messages();
        assert_eq!(problems.len(), 6, "{problems:?}");
        assert!(RailEvent::parse(&json!([])).is_err());
        for amount in [0, -5] {
            let mut body = completed();
            body["amount"] = json!(amount);
            assert!(RailEvent::parse(&body).is_err(), "{amount}");
        }
    }
}
