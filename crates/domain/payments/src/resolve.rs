//! What becomes of parked receipts.

use std::sync::Arc;

use quipu_commit::{Changes, Commit};
use quipu_kernel::{Amount, Clock, Entropy, Minor, Timestamp};
use quipu_merchants::{Directory, RouteKey};

use crate::{
    act::{Decided, act},
    error::DecideError,
    hear::UNKNOWN_TENANT,
    moves::{Moves, chain},
    payment::Payment,
    ports::MoneyReads,
    receipt::{Receipt, Resolution},
    recorded::Recorded,
    status::{Status, Trigger},
};

/// Resolves receipts for the operator.
pub struct ResolveReceipt {
    commit: Arc<dyn Commit>,
    reads: Arc<dyn MoneyReads>,
    directory: Arc<dyn Directory>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl ResolveReceipt {
    /// The use case over these ports.
    pub fn new(
        commit: Arc<dyn Commit>,
        reads: Arc<dyn MoneyReads>,
        directory: Arc<dyn Directory>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self { commit, reads, directory, clock, entropy }
    }

    /// Resolves a receipt and answers it as it stands afterwards. `record` is given the receipt before and after, and answers
    /// the line of the audit log and the answer that is kept.
    pub async fn run(
        &self,
        id: &str,
        resolution: Resolution,
        record: &(dyn Fn(&Receipt, &Receipt) -> Recorded + Sync),
    ) -> Result<Receipt, DecideError> {
        let decide = async || {
            let receipt = self.reads.receipt(id).await?.ok_or(DecideError::ReceiptNotFound)?;
            let at = self.clock.now();
            let mut changes = match resolution {
                Resolution::CompleteWithReceivedAmount => self.complete(&receipt, at).await?,
                Resolution::Ignore if receipt.resolution.is_some() => {
                    return Err(DecideError::NotAllowed("the receipt has been resolved".to_owned()));
                }
                Resolution::Ignore => Changes::new(receipt.tenant.unwrap_or(UNKNOWN_TENANT), at),
            };
            let mut after = receipt.clone();
            (after.resolution, after.resolved_at) = (Some(resolution), Some(at));
            let (audit, answer) = record(&receipt, &after);
            changes.saves.push(receipt.resolved(resolution, at));
            changes.add(audit);
            changes.idempotency = answer;
            Ok::<_, DecideError>(Decided::Change(changes, after))
        };
        act(&*self.commit, decide).await
    }

    /// The payment of a receipt completed with what arrived.
    async fn complete(&self, receipt: &Receipt, at: Timestamp) -> Result<Changes, DecideError> {
        let payment = match &receipt.payment_id {
            Some(id) => self.reads.find_payment(id).await?,
            None => None,
        };
        let not_allowed = |error: &dyn std::fmt::Display| DecideError::NotAllowed(error.to_string());
        let payment = payment.ok_or_else(|| not_allowed(&"the receipt names no payment"))?;
        let received = receipt.completing(&payment).map_err(|error| not_allowed(&error))?;
        let fee = self.fee(&payment, received).await?;
        let trigger = match payment.status() {
            Status::Expired | Status::Cancelled => Trigger::ArriveLate,
            _ => Trigger::Confirm,
        };
        let how = Moves { received: Some((received, fee)), ..Moves::new(at, &*self.entropy) };
        chain(payment, &[trigger], &how).map_err(|error| not_allowed(&error))
    }

    /// The fee on what arrived, by the payment's route as it is today; never more than arrived. Where the route is gone, the fee
    /// that was agreed.
    async fn fee(&self, payment: &Payment, received: Amount) -> Result<Minor, DecideError> {
        let terms = payment.terms();
        let key = RouteKey {
            environment: terms.tenant.environment(),
            currency: terms.currency,
            method: terms.method,
            direction: terms.kind.direction(),
            partner: false,
        };
        let routes = self.directory.routes(terms.tenant.merchant()).await?;
        let route = routes.iter().find(|route| route.key() == key);
        let fee = route.and_then(|route| route.fee(received).ok()).unwrap_or(payment.state().fee);
        Ok(fee.min(received.minor()))
    }
}
