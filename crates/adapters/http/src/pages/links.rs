//! Adds the address of a payment's page to answers for its merchant. It is added when an answer is sent,
//! because kept answers must not contain it.

use quipu_commit::Answer;
use quipu_kernel::{Environment, PaymentId, Secret, json_text};
use quipu_payments::{PageLinks, Payment, PaymentRecord, PaymentType};
use serde::{Deserialize, Serialize};

/// A payment's record with the address of its page, where its type has one.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum ShownPayment<'a> {
    Plain(PaymentRecord<'a>),
    WithPage {
        #[serde(flatten)]
        record: PaymentRecord<'a>,
        payment_page_url: String,
    },
}

impl<'a> ShownPayment<'a> {
    pub(crate) fn of(payment: &'a Payment, links: &PageLinks) -> Self {
        let record = PaymentRecord::of(payment);
        match links.url_of(payment) {
            Some(url) => Self::WithPage { record, payment_page_url: url.expose().to_owned() },
            None => Self::Plain(record),
        }
    }
}

/// Adds the page's address to the answer of a creation, first or repeated. The address is derived from the
/// payment alone, so a repeat is the same byte for byte.
pub(crate) fn with_page(mut answer: Answer, environment: Environment, links: &PageLinks) -> Answer {
    if let Some(url) = created(&answer).and_then(|(kind, id)| links.url(kind, environment, &id))
        && answer.body.ends_with('}')
    {
        answer.body.pop();
        answer.body.push_str(&member(&url));
    }
    answer
}

/// The members of an answer from which the address is derived.
#[derive(Deserialize)]
struct Created<'a> {
    transaction_id: &'a str,
    #[serde(rename = "type")]
    kind: PaymentType,
}

fn created(answer: &Answer) -> Option<(PaymentType, PaymentId)> {
    // Most payments have no page, and their answers are not parsed.
    let may_have = answer.status == 200 && answer.body.contains("_pp\"");
    let created: Created<'_> = may_have.then(|| serde_json::from_str(&answer.body).ok()).flatten()?;
    Some((created.kind, created.transaction_id.parse().ok()?))
}

fn member(url: &Secret) -> String {
    let text = json_text(url.expose());
    format!(",\"payment_page_url\":{text}}}")
}

#[cfg(test)]
mod tests {
    use quipu_signing::{PageKey, SystemEntropy};
    use serde_json::Value;

    use super::*;

    fn answered(body: &str) -> (Answer, PageLinks) {
        let links = PageLinks::new(PageKey::generate(&SystemEntropy), "https://pay.example");
        (Answer { status: 200, body: body.to_owned() }, links)
    }

    #[test]
    fn a_hosted_payments_answer_ends_with_its_page_and_another_stays_as_it_is() {
        let id = "pay_1763683200000_abcdefghjkmn";
        let hosted = format!(r#"{{"success":true,"transaction_id":"{id}","type":"deposit_pp"}}"#);
        let (answer, links) = answered(&hosted);
        let sent = with_page(answer.clone(), Environment::Test, &links);
        let url = serde_json::from_str::<Value>(&sent.body).expect("JSON")["payment_page_url"].clone();
        assert!(url.as_str().is_some_and(|url| url.starts_with("https://pay.example/payment-pages/")));
        assert_eq!(sent, with_page(answer, Environment::Test, &links));
        for body in [hosted.replace("_pp", ""), format!(r#"{{"note":"x_pp\"","transaction_id":"{id}"}}"#)] {
            let (answer, links) = answered(&body);
            assert_eq!(with_page(answer, Environment::Test, &links).body, body);
        }
    }
}
