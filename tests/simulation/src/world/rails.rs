//! The rails of a world: one calls the bank, the other waits for people.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use quipu_merchants::{Direction, Route};
use quipu_payments::{
    Arrival, BankDetails, Due, DueAction, Failure, Instructed, Instructions, IssuedInstructions, Payment,
    Rail, RailStatus, Submission,
};

use super::{BANK, DESK, bank::Bank, fault::Fault};

const QUESTIONS: [Duration; 4] =
    [Duration::from_mins(1), Duration::from_mins(5), Duration::from_hours(1), Duration::from_hours(24)];
/// How long a call for instructions may take.
const CALL: Duration = Duration::from_secs(10);

/// Calls the bank.
pub(crate) struct BankRail {
    bank: Arc<Bank>,
    fault: Option<Fault>,
    calls: AtomicU64,
}

impl BankRail {
    pub(crate) fn new(bank: Arc<Bank>, fault: Option<Fault>) -> Self {
        Self { bank, fault, calls: AtomicU64::new(0) }
    }

    fn reference(&self, payment: &Payment) -> String {
        if self.fault == Some(Fault::FreshReference) {
            return format!("{}-{}", payment.id(), self.calls.fetch_add(1, Ordering::Relaxed));
        }
        payment.id().as_str().to_owned()
    }
}

fn concluded() -> Failure {
    Failure { code: "CONCLUDED".to_owned(), message: "from nothing".to_owned() }
}

#[async_trait]
impl Rail for BankRail {
    fn name(&self) -> &str {
        BANK
    }

    fn issue(&self, payment: &Payment, _: &Route) -> IssuedInstructions {
        let at = payment.state().updated_at;
        match payment.terms().kind.direction() {
            Direction::Deposit => {
                let due = Due { at: at.plus(QUESTIONS[0] + CALL), action: DueAction::Ask };
                IssuedInstructions {
                    due: Some(due),
                    must_be_requested: true,
                    ..IssuedInstructions::default()
                }
            }
            Direction::Withdrawal => IssuedInstructions {
                due: Some(Due { at, action: DueAction::Submit }),
                ..IssuedInstructions::default()
            },
        }
    }

    fn questions(&self) -> &[Duration] {
        &QUESTIONS
    }

    async fn instruct(&self, payment: &Payment) -> Instructed {
        match self.bank.instruct(BANK, payment).await {
            Some(true) => Instructed::Given(Box::new(instructions(payment))),
            Some(false) => Instructed::Rejected(concluded()),
            None => Instructed::Unknown,
        }
    }

    async fn submit(&self, payment: &Payment) -> Submission {
        let submission = self.bank.submit(&self.reference(payment), payment, BANK).await;
        match submission {
            Submission::Unknown if self.fault == Some(Fault::SilenceIsFailure) => {
                Submission::Rejected(concluded())
            }
            submission => submission,
        }
    }

    async fn ask(&self, payment: &Payment) -> RailStatus {
        let terms = payment.terms();
        let is_payout = terms.kind.direction() == Direction::Withdrawal;
        match (self.bank.ask(payment.id().as_str()).await, self.fault) {
            (RailStatus::Pending, Some(Fault::PendingIsPaid)) if is_payout => {
                let arrival =
                    Arrival { amount: terms.amount, currency: terms.currency, provider_reference: None };
                RailStatus::Completed(arrival)
            }
            (RailStatus::NotFound, Some(Fault::NotFoundIsFailure)) if is_payout => {
                RailStatus::Failed(concluded())
            }
            (status, _) => status,
        }
    }
}

/// Waits for people.
pub(crate) struct DeskRail;

#[async_trait]
impl Rail for DeskRail {
    fn name(&self) -> &str {
        DESK
    }

    fn issue(&self, payment: &Payment, _: &Route) -> IssuedInstructions {
        let deposit = payment.terms().kind.direction() == Direction::Deposit;
        let instructions = if deposit { instructions(payment) } else { Instructions::default() };
        IssuedInstructions { instructions, ..IssuedInstructions::default() }
    }

    async fn submit(&self, _: &Payment) -> Submission {
        Submission::NotSent
    }

    async fn ask(&self, _: &Payment) -> RailStatus {
        RailStatus::WillReport
    }
}

fn instructions(payment: &Payment) -> Instructions {
    let details = BankDetails {
        amount: payment.terms().amount.get().to_string(),
        purpose: payment.id().as_str().to_owned(),
        currency: payment.terms().currency,
        bank_name: "Bank".to_owned(),
        swift_code: None,
        account_holder: "Quipu".to_owned(),
        account_number: "1".to_owned(),
        bsb: None,
    };
    Instructions { bank_details: Some(details), ..Instructions::default() }
}
