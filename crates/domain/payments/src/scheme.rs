//! What a payer decides on the page that plays a payment scheme in the test environment.

use std::sync::Arc;

use quipu_commit::{Changes, Commit, CommitError, Refusal};
use quipu_kernel::{Clock, Entropy, Environment, PaymentId, Tenant};
use quipu_merchants::StoreUnavailable;

use crate::{
    apply::Happening,
    changes,
    payment::{Due, DueAction, Failure, Payment},
    ports::PaymentReads,
    status::{Status, Trigger},
};

/// What the payer decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemeDecision {
    /// To pay.
    Approve,
    /// Not to pay.
    Decline,
    /// Nothing: the payment stays open until its time is over.
    Leave,
}

/// How often a decision is made anew when the payment changes under it.
const ATTEMPTS: usize = 5;

/// Plays a payment scheme. It moves payments of the test environment only, and of those only what still waits.
pub struct PlayScheme {
    commit: Arc<dyn Commit>,
    reads: Arc<dyn PaymentReads>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl PlayScheme {
    /// The use case over these ports.
    pub fn new(
        commit: Arc<dyn Commit>,
        reads: Arc<dyn PaymentReads>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self { commit, reads, clock, entropy }
    }

    /// Does what the payer decided. Where the payment no longer waits nothing changes, which is no error.
    pub async fn run(
        &self,
        tenant: Tenant,
        id: &PaymentId,
        decision: SchemeDecision,
    ) -> Result<(), StoreUnavailable> {
        for _ in 0..ATTEMPTS {
            let Some(payment) = self.reads.payment(tenant, id).await? else { return Ok(()) };
            if payment.status() != Status::Processing || tenant.environment() != Environment::Test {
                return Ok(());
            }
            let Some(changes) = self.decided(payment, decision) else { return Ok(()) };
            match self.commit.commit(changes).await {
                Ok(_) => return Ok(()),
                Err(CommitError::Refused(Refusal::Stale)) => {}
                Err(CommitError::Refused(refusal)) => {
                    return Err(StoreUnavailable::Failed(refusal.to_string()));
                }
                Err(CommitError::Store(error)) => return Err(error),
            }
        }
        Err(StoreUnavailable::Overloaded)
    }

    fn decided(&self, payment: Payment, decision: SchemeDecision) -> Option<Changes> {
        let now = self.clock.now();
        let mut happening = Happening::new(now, &*self.entropy);
        let trigger = match decision {
            SchemeDecision::Approve => Trigger::Confirm,
            SchemeDecision::Decline => Trigger::Fail,
            SchemeDecision::Leave => {
                let end = payment.terms().expires_at.map(|at| Due { at, action: DueAction::Expire });
                return Some(changes::postponed(&payment, now, end));
            }
        };
        if decision == SchemeDecision::Decline {
            happening.failure = Some(Failure {
                code: "DECLINED".to_owned(),
                message: "the payer declined on the scheme's page".to_owned(),
            });
        }
        payment.apply(trigger, happening).ok()
    }
}
