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

/// The payment that an answer to a creation tells of.
#[derive(Deserialize)]
pub(crate) struct Created<'a> {
    transaction_id: &'a str,
    /// A refusal has none.
    #[serde(rename = "type")]
    kind: Option<PaymentType>,
}

impl<'a> Created<'a> {
    pub(crate) fn of(answer: &'a Answer) -> Option<Self> {
        serde_json::from_str(&answer.body).ok()
    }

    pub(crate) fn id(&self) -> Option<PaymentId> {
        self.transaction_id.parse().ok()
    }

    /// The address of its page, derived from the payment alone, so that a repeat is the same byte for byte.
    pub(crate) fn page(&self, environment: Environment, links: &PageLinks) -> Option<Secret> {
        links.url(self.kind?, environment, &self.id()?)
    }
}

/// Adds the page's address, if there is one, to the answer of a creation, first or repeated.
pub(crate) fn with_page(mut answer: Answer, page: Option<Secret>) -> Answer {
    if let Some(page) = page.filter(|_| answer.body.ends_with('}')) {
        let text = json_text(page.expose());
        answer.body.pop();
        answer.body.extend([",\"payment_page_url\":", &text, "}"]);
    }
    answer
}

#[cfg(test)]
mod tests {
    use quipu_signing::{PageKey, SystemEntropy};
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_hosted_payments_answer_ends_with_its_page_and_another_stays_as_it_is() {
        let id = "pay_1763683200000_abcdefghjkmn";
        let hosted = format!(r#"{{"success":true,"transaction_id":"{id}","type":"deposit_pp"}}"#);
        let links = PageLinks::new(PageKey::generate(&SystemEntropy), "https://pay.example");
        let sent = |body: &str| {
            let answer = Answer::success(body.to_owned());
            let page = Created::of(&answer).and_then(|created| created.page(Environment::Test, &links));
            with_page(answer, page).body
        };
        let url = serde_json::from_str::<Value>(&sent(&hosted)).expect("JSON")["payment_page_url"].clone();
        assert!(url.as_str().is_some_and(|url| url.starts_with("https://pay.example/payment-pages/")));
        assert_eq!(sent(&hosted), sent(&hosted));
        for body in [hosted.replace("_pp", ""), format!(r#"{{"note":"x_pp\"","transaction_id":"{id}"}}"#)] {
            assert_eq!(sent(&body), body);
        }
    }
}
