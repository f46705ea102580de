//! The state of a payment and what its payer should do, in plain words.

use quipu_kernel::Minor;
use quipu_merchants::{Direction, Method};
use quipu_payments::{Instructions, Payment, Status};

use crate::{money, words::Words};

/// The state of a payment, told to a person.
pub(crate) struct Story {
    /// How it looks: `wait`, `good`, `bad` or `back`.
    pub(crate) tone: &'static str,
    /// A headline that says what happened.
    pub(crate) headline: String,
    /// The text that says what to do now.
    pub(crate) text: String,
    /// A further sentence, if something is unusual.
    pub(crate) more: Option<String>,
}

/// Whether a payment in this status still waits for its outcome; until then its page listens for changes.
pub const fn is_live(status: Status) -> bool {
    matches!(status, Status::Pending | Status::Processing)
}

pub(crate) fn of(payment: &Payment, merchant: &str, words: Words) -> Story {
    let state = payment.state();
    let (tone, key) = match payment.terms().kind.direction() {
        Direction::Deposit => deposit(payment),
        Direction::Withdrawal => withdrawal(payment),
    };
    let shown = |minor: Minor| money::shown(minor, payment.terms().currency).with_code();
    let refunded = shown(state.refunded_amount);
    let values = [("merchant", merchant), ("refunded", refunded.as_str())];
    let received = state.received_amount.filter(|received| *received != payment.terms().amount);
    let received = received.filter(|_| tone == "good").map(|received| shown(received.minor()));
    Story {
        tone,
        headline: words.say_with(key, &values),
        text: words.say_with(&format!("{key}-text"), &values),
        more: received.map(|received| words.say_with("received-instead", &[("received", &received)])),
    }
}

fn deposit(payment: &Payment) -> (&'static str, &'static str) {
    match payment.status() {
        Status::Pending | Status::Processing => ("wait", waiting(payment)),
        Status::Completed if payment.state().late => ("good", "deposit-late"),
        Status::Completed => ("good", "deposit-completed"),
        Status::Failed => ("bad", "deposit-failed"),
        Status::Cancelled => ("bad", "deposit-cancelled"),
        Status::Expired => ("bad", "deposit-expired"),
        Status::Refunded => ("back", "deposit-refunded"),
        Status::PartialRefund => ("back", "deposit-part-refunded"),
    }
}

fn waiting(payment: &Payment) -> &'static str {
    if payment.state().instructions == Instructions::default() {
        return "deposit-waiting";
    }
    match payment.terms().method {
        Method::BankTransfer | Method::Spei | Method::PayId => "deposit-transfer",
        Method::Cash | Method::CashStore => "deposit-voucher",
        Method::Crypto => "deposit-crypto",
        Method::Card | Method::RedirectPay => "deposit-redirect",
    }
}

fn withdrawal(payment: &Payment) -> (&'static str, &'static str) {
    match payment.status() {
        Status::Pending if payment.waits_for_recipient() => ("wait", "withdrawal-form"),
        Status::Pending => ("wait", "withdrawal-pending"),
        Status::Processing => ("wait", "withdrawal-processing"),
        Status::Completed | Status::PartialRefund => ("good", "withdrawal-completed"),
        Status::Failed => ("bad", "withdrawal-failed"),
        Status::Cancelled => ("bad", "withdrawal-cancelled"),
        Status::Expired => ("bad", "withdrawal-expired"),
        Status::Refunded => ("back", "withdrawal-returned"),
    }
}

#[cfg(test)]
mod tests {
    use quipu_kernel::Currency;

    use super::*;
    use crate::{language::Language, samples};

    #[test]
    fn who_paid_for_a_cancelled_deposit_is_told_what_one_who_paid_late_is_told() {
        for language in Language::ALL {
            let text = |status| {
                let (method, shown) = (Method::RedirectPay, Instructions::default());
                let payment = samples::deposit(method, Currency::LKR, status, shown);
                of(&payment, "Aurora", Words::of(language)).text
            };
            let (expired, cancelled) = (text(Status::Expired), text(Status::Cancelled));
            // And then, for one who has not paid, where to start again.
            let further = cancelled.strip_prefix(&expired);
            assert!(further.is_some_and(|further| further.contains("Aurora")), "{language:?}: {cancelled}");
        }
    }
}
