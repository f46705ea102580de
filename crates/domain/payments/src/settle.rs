//! What a worker does with a payment that is due.
//!
//! Every step may be repeated: after a crash, after a lease has expired, by two workers at once. Repeating a
//! completed step succeeds and changes nothing. A silent rail is asked again by its schedule, which counts only
//! the questions that were sent.

mod again;
mod ask;
mod expire;
mod submit;
mod unknown_rails;

use std::sync::Arc;

use quipu_commit::{Changes, Commit, CommitError, Refusal, WorkInHand, WorkQueue};
use quipu_kernel::{Clock, Entropy, StoreError};

use self::{again::expiry, unknown_rails::UnknownRails};
use crate::{
    error::SettleError,
    payment::{DueAction, Payment},
    ports::PaymentReads,
    rail::{Rail, rails::Rails},
    rail_events::ProcessRailEvent,
};

/// What settlement works with.
pub struct SettlementPorts {
    /// The write path.
    pub commit: Arc<dyn Commit>,
    /// The queue that work is claimed from.
    pub queue: Arc<dyn WorkQueue>,
    /// The reads of payments.
    pub reads: Arc<dyn PaymentReads>,
    /// The rails that this node knows.
    pub rails: Arc<Rails>,
    /// The use case that applies what a rail answers.
    pub rail_events: Arc<ProcessRailEvent>,
    /// The source of the current time.
    pub clock: Arc<dyn Clock>,
    /// The source of randomness.
    pub entropy: Arc<dyn Entropy>,
}

/// Moves payments towards their final status.
pub struct SettlePayment {
    ports: SettlementPorts,
    unknown_rails: UnknownRails,
}

/// A payment that is attended to under a claim, and its rail.
struct Attended<'a> {
    rail: &'a dyn Rail,
    claimed: &'a WorkInHand,
    payment: Payment,
}

impl SettlePayment {
    /// The use case over these ports.
    pub fn new(ports: SettlementPorts) -> Self {
        Self { ports, unknown_rails: UnknownRails::default() }
    }

    /// Does what is due for a claimed payment. Repeating a completed step succeeds and changes nothing. A
    /// payment on a rail that this node does not know gives an error only once a minute for each rail.
    pub async fn attend(&self, claimed: &WorkInHand) -> Result<(), SettleError> {
        let unfit = |what: &str| {
            let WorkInHand { queue, tenant, subject, action, .. } = claimed;
            failed(format!("{what}: {action:?} in queue {}, on {subject:?} of tenant {tenant}", queue.0))
        };
        let id = claimed.subject.parse().map_err(|_| unfit("work names what is no payment"))?;
        let Some(payment) = self.ports.reads.payment(claimed.tenant, &id).await? else {
            return Err(unfit("work names a payment that does not exist"));
        };
        let action = claimed.action.parse().map_err(|_| unfit("work names no action of settlement"))?;
        let end = expiry(&payment);
        let attended = match action {
            DueAction::Submit => Box::pin(self.submit(claimed, payment)).await,
            DueAction::Ask => Box::pin(self.ask(claimed, payment)).await,
            DueAction::Expire => self.expire(claimed, payment).await,
        };
        match attended {
            Err(SettleError::UnknownRail(name)) => {
                self.leave_to_others(claimed, action, end).await?;
                if self.unknown_rails.should_report(&name, self.ports.clock.now()) {
                    Err(SettleError::UnknownRail(name))
                } else {
                    Ok(())
                }
            }
            attended => attended,
        }
    }

    async fn commit_unless_stale(&self, changes: Changes) -> Result<(), SettleError> {
        self.ports.commit.commit(changes).await.map(drop).or_else(stale_is_success)
    }

    fn rail(&self, payment: &Payment) -> Result<&dyn Rail, SettleError> {
        let name = &payment.terms().rail;
        let rail = self.ports.rails.get(name).map(AsRef::as_ref);
        rail.ok_or_else(|| SettleError::UnknownRail(name.clone()))
    }
}

/// A stale decision counts as a success, since another has overtaken it.
fn stale_is_success(error: CommitError) -> Result<(), SettleError> {
    match error {
        CommitError::Refused(Refusal::Stale) => Ok(()),
        error => Err(error.into()),
    }
}

fn failed(what: String) -> SettleError {
    SettleError::Store(StoreError::Failed(what))
}
