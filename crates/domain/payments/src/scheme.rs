//! The payer's decision on the page that plays a payment scheme in the test environment.

use std::sync::Arc;

use quipu_commit::{Commit, Decided, act};
use quipu_kernel::{Clock, Environment, PaymentId, StoreError, Tenant, wire_names};

use crate::{
    choice::choice_id,
    error::RailEventError,
    payment::{Payment, changes, failure::FailureCode, status::Status},
    ports::PaymentReads,
    rail::event::{RailEvent, RailEventKind},
    rail_events::ProcessRailEvent,
};

wire_names! {
    /// The payer's decision, as the page's form names it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum SchemeDecision {
        /// The payer pays.
        Approve = "approve",
        /// The payer does not pay.
        Decline = "decline",
        /// The payer leaves: the payment stays open until its time is over.
        Leave = "leave",
    }
}

/// The use case that plays a payment scheme. It moves only payments of the test environment that still wait.
pub struct SimulateScheme {
    commit: Arc<dyn Commit>,
    reads: Arc<dyn PaymentReads>,
    rail_events: Arc<ProcessRailEvent>,
    clock: Arc<dyn Clock>,
}

impl SimulateScheme {
    /// The use case over these ports. The payer's decision is processed like an event of a rail.
    pub fn new(
        commit: Arc<dyn Commit>,
        reads: Arc<dyn PaymentReads>,
        rail_events: Arc<ProcessRailEvent>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { commit, reads, rail_events, clock }
    }

    /// Carries out the payer's decision. If the payment no longer waits, nothing changes, which is no error.
    pub async fn run(
        &self,
        tenant: Tenant,
        id: &PaymentId,
        decision: SchemeDecision,
    ) -> Result<(), StoreError> {
        match decision {
            SchemeDecision::Approve => self.report(tenant, id, RailEventKind::Completed).await,
            SchemeDecision::Decline => self.report(tenant, id, RailEventKind::Failed).await,
            SchemeDecision::Leave => self.leave(tenant, id).await,
        }
    }

    async fn report(&self, tenant: Tenant, id: &PaymentId, kind: RailEventKind) -> Result<(), StoreError> {
        let Some(payment) = self.waiting(tenant, id).await? else { return Ok(()) };
        let declined = kind == RailEventKind::Failed;
        let event = RailEvent {
            id: choice_id(id, kind),
            kind,
            rail_reference: id.as_str().to_owned(),
            amount: Some(payment.terms().amount),
            currency: Some(payment.terms().currency),
            provider_reference: None,
            occurred_at: Some(self.clock.now()),
            code: declined.then(|| FailureCode::Declined.as_str().to_owned()),
            message: declined.then(|| "the payer declined on the scheme's page".to_owned()),
        };
        match self.rail_events.run_choice(&payment.terms().rail, &event, &payment).await {
            Ok(_) => Ok(()),
            Err(RailEventError::Unbookable(error)) => Err(StoreError::Failed(error.to_string())),
            Err(RailEventError::Store(error)) => Err(error),
        }
    }

    /// Removes all due work of the payment except its expiry.
    async fn leave(&self, tenant: Tenant, id: &PaymentId) -> Result<(), StoreError> {
        let decide = |payment: Option<Payment>| {
            let Some(payment) = payment else { return Ok(Decided::Stay(())) };
            let end = payment.terms().expiry();
            Ok(Decided::change(changes::postponed(&payment, self.clock.now(), end), ()))
        };
        act(&*self.commit, || self.waiting(tenant, id), decide).await
    }

    async fn waiting(&self, tenant: Tenant, id: &PaymentId) -> Result<Option<Payment>, StoreError> {
        let payment = self.reads.payment(tenant, id).await?;
        let plays = tenant.environment() == Environment::Test;
        Ok(payment.filter(|payment| plays && payment.status() == Status::Processing))
    }
}
