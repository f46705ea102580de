//! The payer's choice on the page that plays a scheme, and the name of the event for it.

use quipu_kernel::{PaymentId, StoreError};

use crate::{payment::Payment, ports::CrossTenantReads, rail::event::RailEventKind};

/// Whether the payer of this payment made a choice on that page. For such a payment the simulator made up
/// what it reports.
pub(crate) async fn is_chosen(reads: &dyn CrossTenantReads, payment: &Payment) -> Result<bool, StoreError> {
    for kind in [RailEventKind::Completed, RailEventKind::Failed] {
        if reads.has_received(&payment.terms().rail, &choice_id(payment.id(), kind)).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The name of the event for a payer's choice.
pub(crate) fn choice_id(id: &PaymentId, kind: RailEventKind) -> String {
    format!("scheme:{id}:{}", kind.as_str())
}
