//! The state of a payment and what its payer should do, in plain words.

use quipu_kernel::{Minor, Timestamp};
use quipu_merchants::{Direction, Method};
use quipu_payments::{Instructions, Payment, Status};

use crate::{money, view::View};

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

/// The time until which a payer or a recipient has to act, if anybody has to.
pub(crate) fn deadline(payment: &Payment) -> Option<Timestamp> {
    let is_awaited = payment.waits_for_recipient() || payment.terms().kind.direction() == Direction::Deposit;
    payment.terms().expires_at.filter(|_| is_awaited && is_live(payment.status()))
}

/// Whether the time to act is over, and the payment does not say yet how it ends.
pub(crate) fn is_over(view: &View<'_>) -> bool {
    deadline(view.payment).is_some_and(|end| end <= view.now)
}

pub(crate) fn of(view: &View<'_>) -> Story {
    if is_over(view) {
        return when_over(view);
    }
    let (tone, key) = match view.payment.terms().kind.direction() {
        Direction::Deposit => deposit(view.payment),
        Direction::Withdrawal => withdrawal(view),
    };
    tell(view, tone, key)
}

/// What is told between the deadline and the end of the payment.
pub(crate) fn when_over(view: &View<'_>) -> Story {
    let (tone, key) = if view.payment.waits_for_recipient() {
        ("bad", "withdrawal-expired")
    } else {
        ("wait", "time-over")
    };
    tell(view, tone, key)
}

fn tell(view: &View<'_>, tone: &'static str, key: &str) -> Story {
    let View { payment, words, .. } = view;
    let state = payment.state();
    let shown = |minor: Minor| money::shown(minor, payment.terms().currency).with_code();
    let refunded = shown(state.refunded_amount);
    let values = [("merchant", view.brand.name.as_str()), ("refunded", refunded.as_str())];
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

fn withdrawal(view: &View<'_>) -> (&'static str, &'static str) {
    let payment = view.payment;
    match payment.status() {
        Status::Pending if payment.waits_for_recipient() && view.members.is_empty() => {
            ("wait", "withdrawal-unavailable")
        }
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
    use crate::{brand::Brand, language::Language, samples, words::Words};

    #[test]
    fn who_paid_for_a_cancelled_deposit_is_told_what_one_who_paid_late_is_told() {
        for language in Language::ALL {
            let text = |status| {
                let (method, shown) = (Method::RedirectPay, Instructions::default());
                let payment = samples::deposit(method, Currency::LKR, status, shown);
                of(&samples::view(&payment, &Brand::plain("Aurora"), Words::of(language))).text
            };
            let (expired, cancelled) = (text(Status::Expired), text(Status::Cancelled));
            // And then, for one who has not paid, where to start again.
            let further = cancelled.strip_prefix(&expired);
            assert!(further.is_some_and(|further| further.contains("Aurora")), "{language:?}: {cancelled}");
        }
    }
}
