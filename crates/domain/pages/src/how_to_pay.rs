//! The instructions for a payer, step by step.

use quipu_kernel::is_web_url;
use quipu_merchants::Method;
use quipu_payments::{CryptoDetails, Payment, WayToPay};

use crate::{code::Code, qr::qr, voucher::Voucher, words::Words};

/// The instructions of a method.
pub(crate) struct HowToPay {
    pub(crate) steps: Vec<String>,
    pub(crate) code: Option<Code>,
    pub(crate) button: Option<Button>,
}

/// A link that looks like a button.
pub(crate) struct Button {
    pub(crate) href: String,
    pub(crate) text: String,
}

impl HowToPay {
    /// How to pay this deposit; `None` while its rail has given no instructions.
    pub(crate) fn of(payment: &Payment, words: Words) -> Option<Self> {
        let (method, shown) = (payment.terms().method, &payment.state().instructions);
        let steps = |keys: &[&str]| keys.iter().map(|key| words.say(key)).collect();
        let plain = |keys: &[&str]| Self { steps: steps(keys), code: None, button: None };
        Some(match shown.way_to_pay()? {
            WayToPay::Bank(_) => {
                let first = if method == Method::Spei { "spei-1" } else { "transfer-1" };
                plain(&[first, "transfer-2", "transfer-3"])
            }
            WayToPay::PayId(details) => {
                let second = words.say_with("payid-2", &[("name", &details.payid_name)]);
                let steps = vec![words.say("payid-1"), second, words.say("payid-3")];
                Self { steps, code: None, button: None }
            }
            WayToPay::Voucher(details) => {
                let first = if method == Method::CashStore { "cashstore-1" } else { "cash-1" };
                let voucher = Voucher::new(details);
                let keys = [&[first], voucher.steps().as_slice(), &["voucher-3"]].concat();
                Self { code: voucher.code(words), ..plain(&keys) }
            }
            WayToPay::Crypto(details) => Self::crypto(details, words),
            WayToPay::Redirect(url) => {
                // A rail's answer is not trusted to contain no scripts.
                let href = Some(url).filter(|url| is_web_url(url))?.to_owned();
                let keys: &[&str] = if method == Method::Card {
                    &["card-1", "redirect-3"]
                } else {
                    &["redirect-1", "redirect-2", "redirect-3"]
                };
                Self { button: Some(Button { href, text: words.say("pay-now") }), ..plain(keys) }
            }
        })
    }

    fn crypto(details: &CryptoDetails, words: Words) -> Self {
        let values = [("asset", details.asset.as_str()), ("network", details.network.as_str())];
        let steps = vec![
            words.say_with("crypto-1", &values),
            words.say("crypto-2"),
            words.say_with("crypto-3", &values[..1]),
        ];
        let code = qr(&details.uri).map(|(outline, size)| Code {
            class: "qr",
            view: format!("-2 -2 {side} {side}", side = size + 4),
            outline,
            stretch: false,
            label: words.say("qr-of"),
            text: None,
        });
        let button = opens_a_wallet(&details.uri)
            .then(|| Button { href: details.uri.clone(), text: words.say("open-wallet") });
        Self { steps, code, button }
    }
}

/// Whether the scheme of an address is one that wallets register.
fn opens_a_wallet(uri: &str) -> bool {
    const SCHEMES: [&str; 8] =
        ["bitcoin", "bitcoincash", "ethereum", "litecoin", "dogecoin", "solana", "tron", "ton"];
    uri.split_once(':').is_some_and(|(scheme, _)| SCHEMES.contains(&scheme))
}

#[cfg(test)]
mod tests {
    use quipu_kernel::Currency;
    use quipu_payments::Status;

    use super::*;
    use crate::{facts::Facts, language::Language, samples};

    #[test]
    fn a_payer_by_any_method_is_told_the_steps_and_what_to_pay_to() {
        let words = Words::of(Language::English);
        for method in Method::ALL {
            let shown = samples::instructions(method);
            let payment = samples::deposit(method, Currency::AUD, Status::Processing, shown);
            let told = HowToPay::of(&payment, words).expect("there are instructions");
            assert!(!told.steps.is_empty(), "{method:?}");
            let has_facts = !Facts::of_deposit(&payment, words).is_empty();
            assert!(has_facts || told.button.is_some(), "{method:?}");
        }
    }

    #[test]
    fn no_link_leads_to_what_runs() {
        for url in ["javascript:alert(1)", "data:text/html,x", "https", "//scheme.example", "é"] {
            assert!(!is_web_url(url) && !opens_a_wallet(url), "{url}");
        }
        assert!(opens_a_wallet("bitcoin:bc1q?amount=1"));
    }
}
