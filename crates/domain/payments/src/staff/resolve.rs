//! Resolving parked receipts.

use std::sync::Arc;

use quipu_commit::{Changes, Commit, Decided, act};
use quipu_kernel::{Amount, Clock, Entropy, Minor, Timestamp};
use quipu_merchants::{Route, RouteBook};

use crate::{
    error::{DecideError, NotAllowed},
    history::{
        receipt::{NotResolved, Receipt, Resolution, Resolved},
        received::filed_under,
    },
    payment::{Payment, apply::TransitionContext},
    ports::CrossTenantReads,
    staff::recorded::Recorded,
};

/// The use case for the operator's decisions about receipts.
pub struct ResolveReceipt {
    commit: Arc<dyn Commit>,
    reads: Arc<dyn CrossTenantReads>,
    route_book: Arc<dyn RouteBook>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl ResolveReceipt {
    /// The use case over these ports.
    pub fn new(
        commit: Arc<dyn Commit>,
        reads: Arc<dyn CrossTenantReads>,
        route_book: Arc<dyn RouteBook>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self { commit, reads, route_book, clock, entropy }
    }

    /// Resolves a receipt and answers it as it is afterwards. `record` is given the receipt before and after,
    /// and answers the line of the audit log and the kept answer.
    pub async fn run(
        &self,
        id: &str,
        resolution: Resolution,
        record: &(dyn Fn(&Receipt, &Receipt) -> Recorded + Sync),
    ) -> Result<Receipt, DecideError> {
        let decide = |(receipt, payment): (Receipt, Option<Payable>)| {
            let at = self.clock.now();
            let mut changes = match resolution {
                Resolution::CompleteWithReceivedAmount => self.complete(&receipt, payment, at)?,
                Resolution::Ignore if receipt.resolved.is_some() => {
                    return Err(NotAllowed::from(NotResolved::AlreadyResolved).into());
                }
                Resolution::Ignore => Changes::new(filed_under(receipt.tenant), at),
            };
            let after = Receipt { resolved: Some(Resolved { how: resolution, at }), ..receipt.clone() };
            changes.saves.push(after.clone().into_save());
            record(&receipt, &after).add_to(&mut changes);
            Ok(Decided::change(changes, after))
        };
        act(&*self.commit, || self.read(id), decide).await
    }

    /// The receipt, and the payment that it names with its current route.
    async fn read(&self, id: &str) -> Result<(Receipt, Option<Payable>), DecideError> {
        let receipt = self.reads.receipt(id).await?.ok_or(DecideError::ReceiptNotFound)?;
        let payment = match &receipt.payment_id {
            Some(id) => self.reads.find_payment(id).await?,
            None => None,
        };
        let Some(payment) = payment else { return Ok((receipt, None)) };
        let key = payment.route_key();
        let routes = self.route_book.routes(payment.terms().tenant.merchant()).await?;
        let route = routes.iter().find(|route| route.key() == key).cloned();
        Ok((receipt, Some(Payable { payment, route })))
    }

    /// Completes the payment of a receipt with the amount that arrived.
    fn complete(
        &self,
        receipt: &Receipt,
        payable: Option<Payable>,
        at: Timestamp,
    ) -> Result<Changes, NotAllowed> {
        let payable = payable.ok_or(NotResolved::NamesNoPayment)?;
        let received = receipt.completing(&payable.payment)?;
        let fee = payable.fee(received);
        let provider_reference = receipt.provider_reference.clone();
        let context = TransitionContext { provider_reference, ..TransitionContext::new(at, &*self.entropy) };
        Ok(payable.payment.complete_with(received, fee, &context)?.changes)
    }
}

/// A payment that a receipt names.
struct Payable {
    payment: Payment,
    route: Option<Route>,
}

impl Payable {
    /// The fee on the amount that arrived, by the payment's route, but never more than that amount. If the
    /// route is gone, it is the fee that was agreed.
    fn fee(&self, received: Amount) -> Minor {
        let of_route = self.route.as_ref().and_then(|route| route.fee(received).ok());
        of_route.unwrap_or(self.payment.state().fee).min(received.minor())
    }
}
