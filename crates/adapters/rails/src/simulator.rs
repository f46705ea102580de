//! The rail of the test environment.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use quipu_kernel::{Clock, Environment};
use quipu_merchants::{Direction, Route};
use quipu_payments::{Due, DueAction, Failure, Issued, Payment, Rail, RailStatus, Submission};

use crate::{simulated_instructions::simulated_instructions, steering::Steering};

/// Plays a bank: every step takes one delay, and the customer's e-mail address steers what happens (the crate's
/// README has the table). Payments of the live environment are never moved by it.
pub struct Simulator {
    delay: Duration,
    public_url: String,
    clock: Arc<dyn Clock>,
}

impl Simulator {
    /// A simulator whose every step takes `delay`. Links for payers begin with `public_url`.
    pub fn new(delay: Duration, public_url: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        Self { delay, public_url: public_url.into().trim_end_matches('/').to_owned(), clock }
    }

    fn failure() -> Failure {
        Failure {
            code: "SIMULATED_FAILURE".to_owned(),
            message: "the simulator was told to fail this payment".to_owned(),
        }
    }
}

fn is_simulated(payment: &Payment) -> bool {
    payment.terms().tenant.environment() == Environment::Test
}

#[async_trait]
impl Rail for Simulator {
    fn name(&self) -> &'static str {
        "simulator"
    }

    fn issue(&self, payment: &Payment, _route: &Route) -> Issued {
        if !is_simulated(payment) {
            return Issued::default();
        }
        let terms = payment.terms();
        let steering = Steering::of(&terms.customer);
        let soon = terms.created_at.plus(self.delay);
        let due = |action| Some(Due { at: soon, action });
        let waits_for_recipient = !payment.situation().has_recipient;
        match terms.kind.direction() {
            Direction::Deposit => {
                let expires_at = (steering == Steering::Expire).then_some(soon);
                let shown_expiry = expires_at.or(terms.expires_at);
                Issued {
                    instructions: simulated_instructions(payment, shown_expiry, &self.public_url),
                    due: match steering {
                        Steering::Expire => due(DueAction::Expire),
                        Steering::Stay => None,
                        _ => due(DueAction::Ask),
                    },
                    expires_at,
                }
            }
            Direction::Withdrawal if waits_for_recipient => match steering {
                Steering::Expire => {
                    Issued { due: due(DueAction::Expire), expires_at: Some(soon), ..Issued::default() }
                }
                _ => Issued::default(),
            },
            Direction::Withdrawal => match steering {
                Steering::Hold => Issued::default(),
                _ => Issued { due: due(DueAction::Submit), ..Issued::default() },
            },
        }
    }

    async fn submit(&self, payment: &Payment) -> Submission {
        if is_simulated(payment) {
            Submission::Taken(self.clock.now().plus(self.delay))
        } else {
            Submission::Rejected(Failure {
                code: "RAIL_REJECTED".to_owned(),
                message: "the simulator moves no live money".to_owned(),
            })
        }
    }

    async fn ask(&self, payment: &Payment) -> RailStatus {
        if !is_simulated(payment) {
            return RailStatus::Pending(None);
        }
        match Steering::of(&payment.terms().customer) {
            Steering::Fail => RailStatus::Failed(Self::failure()),
            Steering::Stay => RailStatus::Pending(None),
            _ => RailStatus::Completed,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use quipu_kernel::{Currency, Timestamp};
    use quipu_merchants::Method;
    use quipu_payments::PaymentType;

    use super::*;
    use crate::{clabe::check_digit, samples::Sample};

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

    fn issued(sample: &Sample) -> Issued {
        simulator().issue(&sample.payment(), &sample.route("simulator"))
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
            assert!(due.is_none_or(|due| due.at == Sample::CREATED_AT.plus(DELAY)), "{kind:?} of {local}");
        }
    }

    #[test]
    fn a_hosted_withdrawal_without_a_recipient_waits_for_one() {
        let mut sample = Sample::new(PaymentType::WithdrawalPp, Method::Spei, Currency::MXN);
        assert_eq!(issued(&sample).due.map(|due| due.action), Some(DueAction::Submit));
        sample.has_recipient = false;
        assert_eq!(issued(&sample), Issued::default());
        let expiring = issued(&sample.steered("expire"));
        assert_eq!(expiring.due.map(|due| due.action), Some(DueAction::Expire));
        assert_eq!(expiring.expires_at, Some(Sample::CREATED_AT.plus(DELAY)));
    }

    #[test]
    fn every_deposit_method_tells_the_payer_how_to_pay() {
        for method in Method::ALL {
            let shown = issued(&Sample::new(PaymentType::Deposit, method, Currency::UYU)).instructions;
            let members = [
                shown.bank_details.is_some(),
                shown.payid_details.is_some(),
                shown.voucher_details.is_some(),
                shown.crypto_details.is_some(),
                shown.redirect_url.is_some(),
            ];
            assert_eq!(members.iter().filter(|is_some| **is_some).count(), 1, "{method:?}");
        }
    }

    #[test]
    fn bank_details_have_what_the_specification_names() {
        let details = |method, currency| {
            let shown = issued(&Sample::new(PaymentType::Deposit, method, currency)).instructions;
            shown.bank_details.expect("bank details")
        };
        let spei = details(Method::Spei, Currency::MXN);
        assert_eq!((spei.amount.as_str(), spei.purpose.as_str()), ("100000", Sample::ID));
        assert_eq!(spei.account_number.len(), 18);
        assert!(spei.account_number.ends_with(&check_digit(&spei.account_number).to_string()));
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
            ("ana", RailStatus::Completed),
            ("hold", RailStatus::Completed),
            ("fail", RailStatus::Failed(Simulator::failure())),
            ("stay", RailStatus::Pending(None)),
        ];
        for (local, expected) in table {
            let payment =
                Sample::new(PaymentType::Withdrawal, Method::Spei, Currency::MXN).steered(local).payment();
            let submitted = simulator().submit(&payment).now_or_never();
            assert_eq!(submitted, Some(Submission::Taken(Timestamp::from_millis(1_763_683_302_000))));
            assert_eq!(simulator().ask(&payment).now_or_never(), Some(expected), "{local}");
        }
    }

    #[test]
    fn live_money_is_never_moved() {
        for kind in PaymentType::ALL {
            let mut sample = Sample::new(kind, Method::Spei, Currency::MXN);
            sample.environment = Environment::Live;
            assert_eq!(issued(&sample), Issued::default());
            let payment = sample.payment();
            assert!(matches!(simulator().submit(&payment).now_or_never(), Some(Submission::Rejected(_))));
            assert_eq!(simulator().ask(&payment).now_or_never(), Some(RailStatus::Pending(None)));
        }
    }
}
