//! The messages between the gateway and a provider: requests that we write, answers that we read.

use hyper::StatusCode;
use quipu_kernel::{Amount, Currency, Environment, PaymentId, Timestamp};
use quipu_merchants::{Direction, Method, ReturnUrls};
use quipu_payments::{
    Arrival, Customer, Failure, FailureCode, Instructed, Instructions, Payment, PaymentType, Payout,
    RailStatus, RedirectScheme, Submission, provider_reference,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::client::Reply;

/// The body of `POST {rail}/instructions` and `POST {rail}/payouts`.
#[derive(Serialize)]
pub(super) struct Order<'a> {
    rail_reference: &'a str,
    payment_id: &'a PaymentId,
    environment: Environment,
    amount: Amount,
    currency: Currency,
    method: Method,
    #[serde(rename = "type")]
    kind: PaymentType,
    customer: OrderCustomer<'a>,
    expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    redirectpay: Option<OrderScheme>,
    /// Where the provider's own pages send the payer afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    return_urls: Option<&'a ReturnUrls>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payout: Option<&'a Payout>,
}

/// The only scheme that may be offered to the payer.
#[derive(Serialize)]
struct OrderScheme {
    payment_method: RedirectScheme,
}

/// The customer, without the number that only the merchant knows.
#[derive(Serialize)]
struct OrderCustomer<'a> {
    name: Option<&'a str>,
    email: Option<&'a str>,
    phone: Option<&'a str>,
}

impl<'a> Order<'a> {
    pub(super) fn of(payment: &'a Payment) -> Self {
        let terms = payment.terms();
        let Customer { name, email, phone, .. } = &terms.customer;
        let has_payer = terms.kind.direction() == Direction::Deposit;
        let leads_back = has_payer && terms.return_urls != ReturnUrls::default();
        Self {
            rail_reference: terms.id.as_str(),
            payment_id: &terms.id,
            environment: terms.tenant.environment(),
            amount: terms.amount,
            currency: terms.currency,
            method: terms.method,
            kind: terms.kind,
            customer: OrderCustomer {
                name: name.as_deref(),
                email: email.as_deref(),
                phone: phone.as_deref(),
            },
            expires_at: terms.expires_at,
            redirectpay: terms.redirect_scheme.map(|payment_method| OrderScheme { payment_method }),
            return_urls: leads_back.then_some(&terms.return_urls),
            payout: payment.state().payout.as_ref(),
        }
    }
}

#[derive(Deserialize)]
struct InstructionsAnswer {
    instructions: Option<Value>,
    status: Option<String>,
    code: Option<String>,
    message: Option<String>,
}

#[derive(Deserialize)]
struct PayoutAnswer {
    status: String,
    code: Option<String>,
    message: Option<String>,
    #[serde(default)]
    provider_reference: Value,
}

#[derive(Deserialize)]
struct StatusAnswer {
    status: String,
    amount: Option<i64>,
    currency: Option<Currency>,
    #[serde(default)]
    provider_reference: Value,
    code: Option<String>,
    message: Option<String>,
}

/// Reads the answer to an instructions order; `None` if it could not be understood. The amount and currency
/// are always the payment's, never the provider's.
pub(super) fn instructed(reply: &Reply, amount: Amount, currency: Currency) -> Option<Instructed> {
    let answer: InstructionsAnswer = definite(reply)?;
    if answer.status.as_deref() == Some("rejected") {
        return Some(Instructed::Rejected(rejection(answer.code, answer.message)));
    }
    let given = answer.instructions.filter(|_| reply.status.is_success())?;
    let mut instructions: Instructions = serde_json::from_value(shown(given)).ok()?;
    if let Some(details) = &mut instructions.bank_details {
        details.amount = amount.to_string();
        details.currency = currency;
    }
    // Empty instructions are of no use to a payer.
    let of_use = instructions != Instructions::default() && instructions.lead_somewhere_safe();
    of_use.then(|| Instructed::Given(Box::new(instructions)))
}

/// Reads the answer to a payout order.
pub(super) fn submitted(reply: &Reply) -> Option<Submission> {
    let answer: PayoutAnswer = definite(reply)?;
    match answer.status.as_str() {
        "accepted" if reply.status.is_success() => {
            Some(Submission::Accepted { provider_reference: provider_reference(&answer.provider_reference) })
        }
        "rejected" => Some(Submission::Rejected(rejection(answer.code, answer.message))),
        _ => None,
    }
}

/// Reads the answer to a status question. A provider may also answer an unknown reference with 404.
pub(super) fn standing(reply: &Reply) -> Option<RailStatus> {
    if reply.status == StatusCode::NOT_FOUND {
        return Some(RailStatus::NotFound);
    }
    let answer: StatusAnswer = definite(reply).filter(|_| reply.status.is_success())?;
    match answer.status.as_str() {
        "pending" => Some(RailStatus::Pending),
        "completed" => Some(RailStatus::Completed(Arrival {
            amount: Amount::new(answer.amount?).ok()?,
            currency: answer.currency?,
            provider_reference: provider_reference(&answer.provider_reference),
        })),
        "failed" => Some(RailStatus::Failed(Failure::reported(
            clipped(answer.code, Failure::MOST_IN_CODE),
            clipped(answer.message, Failure::MOST_IN_MESSAGE),
        ))),
        "unknown" => Some(RailStatus::NotFound),
        _ => None,
    }
}

/// Reads what a provider answered, as the answer to each question that it may be asked. Returns the texts of the
/// provider's own in each answer that could be understood. For fuzz tests.
pub fn read_answer(status: u16, body: &[u8]) -> Vec<Vec<String>> {
    let (Ok(status), Ok(amount)) = (StatusCode::from_u16(status), Amount::new(1)) else { return Vec::new() };
    let reply = Reply { status, body: body.to_vec().into() };
    let of_failure = |failure: Failure| vec![failure.code, failure.message];
    let asked = instructed(&reply, amount, Currency::MXN).map(|instructed| match instructed {
        Instructed::Rejected(failure) => of_failure(failure),
        _ => Vec::new(),
    });
    let paid = submitted(&reply).map(|submission| match submission {
        Submission::Rejected(failure) => of_failure(failure),
        Submission::Accepted { provider_reference } => provider_reference.into_iter().collect(),
        _ => Vec::new(),
    });
    let stands = standing(&reply).map(|standing| match standing {
        RailStatus::Failed(failure) => of_failure(failure),
        RailStatus::Completed(arrival) => arrival.provider_reference.into_iter().collect(),
        _ => Vec::new(),
    });
    [asked, paid, stands].into_iter().flatten().collect()
}

/// The JSON of a definite answer: a success, or a refusal of the order itself.
fn definite<T: for<'de> Deserialize<'de>>(reply: &Reply) -> Option<T> {
    let on_purpose = reply.status.is_success()
        || reply.status == StatusCode::BAD_REQUEST
        || reply.status == StatusCode::UNPROCESSABLE_ENTITY;
    on_purpose.then(|| serde_json::from_slice(&reply.body).ok()).flatten()
}

fn rejection(code: Option<String>, message: Option<String>) -> Failure {
    let message = clipped(message, Failure::MOST_IN_MESSAGE)
        .unwrap_or_else(|| "the rail refused the payment".to_owned());
    let message = match clipped(code, Failure::MOST_IN_CODE) {
        Some(code) => format!("{code}: {message}"),
        None => message,
    };
    Failure::new(FailureCode::RailRejected, message)
}

/// Instructions with each of their texts as it may be shown to a payer. None is cut short: half an account number or
/// address would lead astray.
fn shown(given: Value) -> Value {
    match given {
        Value::String(text) => Value::String(text.chars().filter(|c| !c.is_control()).collect()),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, shown(value))).collect(),
        other => other,
    }
}

/// A provider's text as it is kept: printable characters only, cut to `most`.
fn clipped(text: Option<String>, most: usize) -> Option<String> {
    let text: String = text?.chars().filter(|c| !c.is_control()).take(most).collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use quipu_payments::{Failure, Terms};
    use serde_json::json;

    use super::*;
    use crate::samples::Sample;

    fn reply(status: u16, body: &Value) -> Reply {
        let status = StatusCode::from_u16(status).expect("a status code");
        Reply { status, body: body.to_string().into() }
    }

    /// The order of a payment whose terms have been changed in this way.
    fn ordered(sample: &Sample, change: impl FnOnce(&mut Terms)) -> Value {
        let payment = sample.payment();
        let mut terms = payment.terms().clone();
        change(&mut terms);
        let payment = Payment::restore(terms, payment.state().clone());
        serde_json::to_value(Order::of(&payment)).expect("JSON")
    }

    #[test]
    fn an_order_tells_which_money_it_is_about() {
        for kind in PaymentType::ALL {
            for environment in Environment::ALL {
                let mut sample = Sample::new(kind, Method::Spei, Currency::MXN);
                sample.environment = environment;
                assert_eq!(ordered(&sample, |_| ())["environment"], environment.as_str(), "{kind:?}");
            }
        }
    }

    #[test]
    fn an_order_of_a_deposit_names_the_scheme_and_the_way_back_if_the_payment_does() {
        let sample = Sample::new(PaymentType::Deposit, Method::RedirectPay, Currency::LKR);
        let plain = ordered(&sample, |_| ());
        assert_eq!((plain.get("redirectpay"), plain.get("return_urls")), (None, None));
        let urls = ReturnUrls { success_url: Some("https://shop.example/paid".to_owned()), cancel_url: None };
        let lead_back = |terms: &mut Terms| terms.return_urls.clone_from(&urls);
        let returning = ordered(&sample, lead_back);
        let expected = json!({ "success_url": "https://shop.example/paid", "cancel_url": null });
        assert_eq!(returning["return_urls"], expected);
        let restricted = ordered(&sample, |terms| terms.redirect_scheme = Some(RedirectScheme::Lqr));
        assert_eq!(restricted["redirectpay"], json!({ "payment_method": "LQR" }));
        let payout = Sample::new(PaymentType::WithdrawalPp, Method::Spei, Currency::MXN);
        assert_eq!(ordered(&payout, lead_back).get("return_urls"), None, "nobody is sent to the provider");
    }

    #[test]
    fn only_what_was_said_on_purpose_is_an_answer_to_a_payout() {
        let accepted = json!({"status": "accepted", "provider_reference": "p-1"});
        let expected = Submission::Accepted { provider_reference: Some("p-1".to_owned()) };
        assert_eq!(submitted(&reply(200, &accepted)), Some(expected));
        let rejected = json!({"status": "rejected", "code": "NO_ACCOUNT", "message": "no such account"});
        let failure =
            Failure { code: "RAIL_REJECTED".to_owned(), message: "NO_ACCOUNT: no such account".to_owned() };
        for status in [200, 400, 422] {
            let answer = submitted(&reply(status, &rejected));
            assert_eq!(answer, Some(Submission::Rejected(failure.clone())), "{status}");
        }
        for (status, body) in [
            (500, &rejected),
            (502, &accepted),
            (404, &rejected),
            (409, &accepted),
            (400, &accepted),
            (200, &json!({"status": "perhaps"})),
            (200, &json!([])),
            (302, &accepted),
        ] {
            assert_eq!(submitted(&reply(status, body)), None, "{status} {body}");
        }
        assert_eq!(submitted(&Reply { status: StatusCode::OK, body: "<html>".into() }), None);
    }

    #[test]
    fn instructions_are_given_refused_or_not_understood() {
        let amount = Amount::new(70_000).expect("in range");
        let read = |status, body: &Value| instructed(&reply(status, body), amount, Currency::MXN);
        let redirect = json!({"instructions": {"redirect_url": "https://bank.example/pay"}});
        assert!(matches!(read(200, &redirect), Some(Instructed::Given(_))));
        let rejected = json!({"status": "rejected"});
        assert!(matches!(read(422, &rejected), Some(Instructed::Rejected(_))));
        let script = json!({"instructions": {"redirect_url": "javascript:alert(1)"}});
        let wallet = |uri: &str| {
            let details = json!({"asset": "BTC", "network": "bitcoin", "address": "bc1", "uri": uri});
            json!({"instructions": {"crypto_details": details}})
        };
        assert!(matches!(read(200, &wallet("bitcoin:bc1")), Some(Instructed::Given(_))));
        for (status, body) in [
            (500, &redirect),
            (200, &json!({"instructions": {}})),
            (200, &json!({})),
            (400, &redirect),
            (200, &script),
            (200, &json!({"instructions": {"redirect_url": ""}})),
            (200, &wallet("JavaScript:alert(1)")),
        ] {
            assert_eq!(read(status, body), None, "{status} {body}");
        }
    }

    #[test]
    fn an_odd_reference_spoils_no_answer() {
        let accepted = json!({"status": "accepted", "provider_reference": 7});
        assert_eq!(
            submitted(&reply(200, &accepted)),
            Some(Submission::Accepted { provider_reference: Some("7".to_owned()) })
        );
        for odd in [json!(7.5), json!({}), Value::Null] {
            let completed =
                json!({"status": "completed", "amount": 5, "currency": "MXN", "provider_reference": odd});
            assert!(matches!(standing(&reply(200, &completed)), Some(RailStatus::Completed(_))), "{odd}");
        }
    }

    #[test]
    fn a_payer_is_shown_the_amount_of_the_payment() {
        let body = json!({"instructions": {"bank_details": {
            "amount": "5", "purpose": "pay_1", "currency": "USD", "bank_name": "ACME", "swift_code": null,
            "account_holder": "A\u{0}C\nME", "account_number": "646180157000000004",
        }}});
        let amount = Amount::new(70_000).expect("in range");
        let Some(Instructed::Given(instructions)) = instructed(&reply(200, &body), amount, Currency::MXN)
        else {
            panic!("it was not understood");
        };
        let details = instructions.bank_details.expect("an account");
        assert_eq!((details.amount.as_str(), details.currency), ("70000", Currency::MXN));
        assert_eq!(details.account_holder, "ACME");
    }

    #[test]
    fn nothing_that_a_payer_follows_is_cut_short() {
        let link = format!("https://pay.example/?token={}", "x".repeat(10_000));
        let body = json!({"instructions": {"redirect_url": link}});
        let amount = Amount::new(70_000).expect("in range");
        let Some(Instructed::Given(instructions)) = instructed(&reply(200, &body), amount, Currency::MXN)
        else {
            panic!("it was not understood");
        };
        assert_eq!(instructions.redirect_url.as_deref(), Some(link.as_str()));
    }

    #[test]
    fn a_status_that_lacks_its_amount_is_no_answer() {
        let completed = json!({"status": "completed", "amount": 5, "currency": "MXN"});
        assert!(matches!(standing(&reply(200, &completed)), Some(RailStatus::Completed(_))));
        assert_eq!(standing(&reply(200, &json!({"status": "completed", "currency": "MXN"}))), None);
        assert_eq!(standing(&reply(200, &json!({"status": "pending"}))), Some(RailStatus::Pending));
        assert_eq!(standing(&reply(200, &json!({"status": "unknown"}))), Some(RailStatus::NotFound));
        assert_eq!(standing(&reply(404, &json!({}))), Some(RailStatus::NotFound));
        assert_eq!(standing(&reply(503, &completed)), None);
        let failed = standing(&reply(200, &json!({"status": "failed", "code": "X", "message": "y\u{0}z"})));
        assert_eq!(
            failed,
            Some(RailStatus::Failed(Failure { code: "X".to_owned(), message: "yz".to_owned() }))
        );
    }
}
