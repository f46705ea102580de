//! What a payer chose on the page that plays a scheme, and by which name it is heard.

use quipu_kernel::PaymentId;
use quipu_merchants::StoreUnavailable;

use crate::{payment::Payment, ports::MoneyReads, rail_event::RailEventKind};

/// Whether a payer decided about this payment on the page. The simulator made up what it tells of such a payment.
pub(crate) async fn is_chosen(reads: &dyn MoneyReads, payment: &Payment) -> Result<bool, StoreUnavailable> {
    for kind in [RailEventKind::Completed, RailEventKind::Failed] {
        if reads.has_heard(&payment.terms().rail, &choice_id(payment.id(), kind)).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The name of what a payer chose.
pub(crate) fn choice_id(id: &PaymentId, kind: RailEventKind) -> String {
    format!("scheme:{id}:{}", kind.as_str())
}
