//! The rail of the test environment.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use quipu_kernel::{Amount, Clock, Environment, Timestamp};
use quipu_merchants::{Direction, Route, SIMULATOR_RAIL};
use quipu_payments::{
    Arrival, Due, DueAction, Failure, FailureCode, IssuedInstructions, Payment, Rail, RailEvent,
    RailEventKind, RailStatus, Status, Submission,
};

use crate::{simulated_instructions::simulated_instructions, steering::Steering};

/// Simulates a bank: every step takes one delay, and the customer's e-mail address determines the outcome
/// (the crate's README has the table). It never moves payments of the live environment.
pub struct Simulator {
    /// How long each step takes; it is the only gap between questions.
    delay: [Duration; 1],
    public_url: String,
    clock: Arc<dyn Clock>,
}

impl Simulator {
    /// A simulator whose every step takes `delay`. Links for payers begin with `public_url`.
    pub fn new(delay: Duration, public_url: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        Self { delay: [delay], public_url: public_url.into().trim_end_matches('/').to_owned(), clock }
    }

    fn failure() -> Failure {
        Failure::new(FailureCode::SimulatedFailure, "the simulator was told to fail this payment")
    }

    fn one_delay_after(&self, at: Timestamp) -> Timestamp {
        at.plus(self.delay[0])
    }

    fn issue_deposit(&self, payment: &Payment, steering: Steering) -> IssuedInstructions {
        let soon = self.one_delay_after(payment.state().updated_at);
        let due = |action| Some(Due { at: soon, action });
        match steering {
            // The outcome is unknown until a question is sent.
            Steering::Timeout => IssuedInstructions {
                due: due(DueAction::Ask),
                must_be_requested: true,
                ..IssuedInstructions::default()
            },
            Steering::Expire => IssuedInstructions {
                instructions: simulated_instructions(payment, Some(soon), &self.public_url),
                due: due(DueAction::Expire),
                expires_at: Some(soon),
                must_be_requested: false,
            },
            _ => IssuedInstructions {
                instructions: simulated_instructions(payment, payment.terms().expires_at, &self.public_url),
                due: if steering == Steering::Stay { None } else { due(DueAction::Ask) },
                ..IssuedInstructions::default()
            },
        }
    }

    fn issue_withdrawal(&self, payment: &Payment, steering: Steering) -> IssuedInstructions {
        let soon = self.one_delay_after(payment.state().updated_at);
        let due = |action| Some(Due { at: soon, action });
        match (payment.situation().has_recipient, steering) {
            (false, Steering::Expire) => IssuedInstructions {
                due: due(DueAction::Expire),
                expires_at: Some(soon),
                ..IssuedInstructions::default()
            },
            (false, _) | (true, Steering::Hold) => IssuedInstructions::default(),
            (true, _) => IssuedInstructions { due: due(DueAction::Submit), ..IssuedInstructions::default() },
        }
    }

    /// The simulated bank's answer about a payment that it has.
    fn simulated_status(&self, payment: &Payment, steering: Steering) -> RailStatus {
        let amount = payment.terms().amount;
        let event = |kind, number, amount| RailEvent {
            id: format!("{}:{number}", payment.id()),
            kind,
            rail_reference: payment.id().as_str().to_owned(),
            amount: Some(amount),
            currency: Some(payment.terms().currency),
            occurred_at: Some(payment.state().updated_at),
            provider_reference: None,
            code: None,
            message: None,
        };
        let completed = |number| event(RailEventKind::Completed, number, amount);
        let is_withdrawal = payment.terms().kind.direction() == Direction::Withdrawal;
        match steering {
            Steering::Duplicate => RailStatus::Events(vec![completed(1), completed(1)], None),
            Steering::Reorder => RailStatus::Events(vec![completed(2), completed(1)], None),
            Steering::Short => {
                let wrong = Amount::new((amount.get() / 2).max(1)).ok().filter(|half| *half != amount);
                let wrong = wrong.or(Amount::new(amount.get() + 1).ok()).unwrap_or(amount);
                RailStatus::Events(vec![event(RailEventKind::Completed, 1, wrong)], None)
            }
            Steering::Return if is_withdrawal && payment.status() == Status::Completed => {
                RailStatus::Events(vec![event(RailEventKind::Returned, 2, amount)], None)
            }
            Steering::Return if is_withdrawal => {
                let again = self.one_delay_after(self.clock.now());
                RailStatus::Events(vec![completed(1)], Some(again))
            }
            _ => RailStatus::Completed(Arrival {
                amount,
                currency: payment.terms().currency,
                provider_reference: None,
            }),
        }
    }
}

fn is_simulated(payment: &Payment) -> bool {
    payment.terms().tenant.environment() == Environment::Test
}

#[async_trait]
impl Rail for Simulator {
    fn name(&self) -> &'static str {
        SIMULATOR_RAIL
    }

    fn issue(&self, payment: &Payment, _route: &Route) -> IssuedInstructions {
        if !is_simulated(payment) {
            return IssuedInstructions::default();
        }
        let steering = Steering::of(&payment.terms().customer);
        match payment.terms().kind.direction() {
            Direction::Deposit => self.issue_deposit(payment, steering),
            Direction::Withdrawal => self.issue_withdrawal(payment, steering),
        }
    }

    fn questions(&self) -> &[Duration] {
        &self.delay
    }

    async fn submit(&self, payment: &Payment) -> Submission {
        if !is_simulated(payment) {
            return Submission::Rejected(Failure::new(
                FailureCode::RailRejected,
                "the simulator moves no live money",
            ));
        }
        match Steering::of(&payment.terms().customer) {
            Steering::Timeout => Submission::Unknown,
            _ => Submission::Accepted { provider_reference: None },
        }
    }

    async fn ask(&self, payment: &Payment) -> RailStatus {
        if !is_simulated(payment) {
            return RailStatus::WillReport;
        }
        match Steering::of(&payment.terms().customer) {
            Steering::Fail => RailStatus::Failed(Self::failure()),
            Steering::Stay => RailStatus::WillReport,
            steering => self.simulated_status(payment, steering),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use quipu_kernel::{Currency, Timestamp};
    use quipu_merchants::Method;
    use quipu_payments::{Instructions, PaymentType, clabe_check_digit};

    use super::*;
    use crate::samples::Sample;

    const DELAY: Duration = Duration::from_secs(2);

    struct Stopped(Timestamp);

    impl Clock for Stopped {
        fn now(&self) -> Timestamp {
            self.0
        }
    }

    fn simulator() -> Simulator {
        let clock = Stopped(Timestamp::from_millis(1_763_683_300_000));
        Simulator::new(DELAY, "https://pay.example/", Arc::new(clock))
    }

    fn issued(sample: &Sample) -> IssuedInstructions {
        simulator().issue(&sample.payment(), &sample.route(SIMULATOR_RAIL))
    }

    #[test]
    fn what_is_due_first_follows_from_the_customer() {
        use DueAction::{Ask, Expire, Submit};
        let table = [
            (PaymentType::Deposit, "ana", Some(Ask)),
            (PaymentType::DepositPp, "ana", Some(Ask)),
            (PaymentType::Deposit, "fail", Some(Ask)),
            (PaymentType::Deposit, "hold", Some(Ask)),
            (PaymentType::Deposit, "timeout", Some(Ask)),
            (PaymentType::Deposit, "stay", None),
            (PaymentType::Deposit, "expire", Some(Expire)),
            (PaymentType::Withdrawal, "ana", Some(Submit)),
            (PaymentType::Withdrawal, "fail", Some(Submit)),
            (PaymentType::Withdrawal, "stay", Some(Submit)),
            (PaymentType::Withdrawal, "expire", Some(Submit)),
            (PaymentType::Withdrawal, "hold", None),
        ];
        for (kind, local, expected) in table {
            let sample = Sample::new(kind, Method::Spei, Currency::MXN).steered(local);
            let due = issued(&sample).due;
            assert_eq!(due.map(|due| due.action), expected, "{kind:?} of {local}");
            assert!(due.is_none_or(|due| due.at == Sample::ISSUED_AT.plus(DELAY)), "{kind:?} of {local}");
        }
    }

    #[test]
    fn a_hosted_withdrawal_without_a_recipient_waits_for_one() {
        let mut sample = Sample::new(PaymentType::WithdrawalPp, Method::Spei, Currency::MXN);
        assert_eq!(issued(&sample).due.map(|due| due.action), Some(DueAction::Submit));
        sample.has_recipient = false;
        assert_eq!(issued(&sample), IssuedInstructions::default());
        let expiring = issued(&sample.steered("expire"));
        assert_eq!(expiring.due.map(|due| due.action), Some(DueAction::Expire));
        assert_eq!(expiring.expires_at, Some(Sample::ISSUED_AT.plus(DELAY)));
    }

    #[test]
    fn every_deposit_method_tells_the_payer_how_to_pay() {
        for method in Method::ALL {
            let shown = issued(&Sample::new(PaymentType::Deposit, method, Currency::UYU)).instructions;
            let Instructions { bank_details, payid_details, voucher_details, crypto_details, redirect_url } =
                shown;
            let members = [
                bank_details.is_some(),
                payid_details.is_some(),
                voucher_details.is_some(),
                crypto_details.is_some(),
                redirect_url.is_some(),
            ];
            assert_eq!(members.iter().filter(|is_some| **is_some).count(), 1, "{method:?}");
        }
    }

    #[test]
    fn an_address_asks_a_wallet_for_the_amount_in_whole_units() {
        for (currency, amount) in [("TRY", "1000.00"), ("CLP", "100000"), ("KWD", "100.000")] {
            let sample =
                Sample::new(PaymentType::Deposit, Method::Crypto, currency.parse().expect("a currency"));
            let uri = issued(&sample).instructions.crypto_details.expect("an address").uri;
            assert!(uri.ends_with(&format!("?amount={amount}")), "{uri}");
        }
    }

    #[test]
    fn bank_details_have_every_documented_member() {
        let details = |method, currency| {
            let shown = issued(&Sample::new(PaymentType::Deposit, method, currency)).instructions;
            shown.bank_details.expect("bank details")
        };
        let spei = details(Method::Spei, Currency::MXN);
        assert_eq!((spei.amount.as_str(), spei.purpose.as_str()), ("100000", Sample::ID));
        assert_eq!(spei.account_number.len(), 18);
        let (first, last) = spei.account_number.split_at(17);
        assert_eq!(clabe_check_digit(first).map(|digit| digit.to_string()).as_deref(), Some(last));
        assert_eq!(spei.bsb, None);
        let transfer = details(Method::BankTransfer, Currency::AUD);
        assert!(transfer.bsb.is_some_and(|bsb| bsb.len() == 6));
    }

    #[test]
    fn an_expiring_voucher_shows_its_own_expiry() {
        let sample = Sample::new(PaymentType::Deposit, Method::CashStore, Currency::UYU).steered("expire");
        let issued = issued(&sample);
        assert_eq!(issued.instructions.voucher_details.expect("a voucher").expires_at, issued.expires_at);
    }

    #[test]
    fn what_the_rail_answers_follows_from_the_customer() {
        let table = [
            ("ana", "completed"),
            ("hold", "completed"),
            ("timeout", "completed"),
            ("duplicate", "one completed, one completed"),
            ("reorder", "two completed, one completed"),
            ("return", "one completed, and more"),
            ("fail", "failed"),
            ("stay", "nothing"),
        ];
        for (local, expected) in table {
            let payment =
                Sample::new(PaymentType::Withdrawal, Method::Spei, Currency::MXN).steered(local).payment();
            let submitted = simulator().submit(&payment).now_or_never();
            let accepted = Submission::Accepted { provider_reference: None };
            let wanted = if local == "timeout" { Submission::Unknown } else { accepted };
            assert_eq!(submitted, Some(wanted), "{local}");
            let told = simulator().ask(&payment).now_or_never().expect("it never waits");
            assert_eq!(in_words(&told), expected, "{local}");
        }
    }

    fn in_words(status: &RailStatus) -> String {
        let (events, again) = match status {
            RailStatus::Events(events, again) => (events, again),
            RailStatus::Completed(_) => return "completed".to_owned(),
            RailStatus::Failed(_) => return "failed".to_owned(),
            _ => return "nothing".to_owned(),
        };
        let word = |event: &RailEvent| {
            assert_eq!(event.kind, RailEventKind::Completed);
            if event.id.ends_with(":1") { "one completed" } else { "two completed" }
        };
        let words: Vec<_> = events.iter().map(word).collect();
        words.join(", ") + if again.is_some() { ", and more" } else { "" }
    }

    #[test]
    fn a_short_payment_is_of_another_amount() {
        let payment =
            Sample::new(PaymentType::Deposit, Method::Spei, Currency::MXN).steered("short").payment();
        let told = simulator().ask(&payment).now_or_never().expect("it never waits");
        let RailStatus::Events(events, None) = told else { panic!("{told:?}") };
        assert_eq!(events[0].amount.map(Amount::get), Some(50_000));
    }

    #[test]
    fn a_creation_without_an_answer_shows_nothing_and_is_asked_about() {
        let sample = Sample::new(PaymentType::Deposit, Method::Spei, Currency::MXN).steered("timeout");
        let issued = issued(&sample);
        assert!(issued.must_be_requested && issued.instructions == quipu_payments::Instructions::default());
        assert_eq!(issued.due.map(|due| due.action), Some(DueAction::Ask));
    }

    #[test]
    fn live_money_is_never_moved() {
        for kind in PaymentType::ALL {
            let mut sample = Sample::new(kind, Method::Spei, Currency::MXN);
            sample.environment = Environment::Live;
            assert_eq!(issued(&sample), IssuedInstructions::default());
            let payment = sample.payment();
            assert!(matches!(simulator().submit(&payment).now_or_never(), Some(Submission::Rejected(_))));
            assert_eq!(simulator().ask(&payment).now_or_never(), Some(RailStatus::WillReport));
        }
    }
}
