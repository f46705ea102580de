//! Payments, receipts and timelines as the operator's staff see them. The operator's interface and the shell show
//! the same.

use quipu_kernel::Tenant;
use serde_json::{Value, json};

use crate::{
    history::{receipt::Receipt, timeline::Timeline},
    payment::{Payment, view::PaymentRecord},
};

/// A payment: the merchant's record, its tenant, its rail, and the rail's own identifier of it.
pub fn operator_record(payment: &Payment) -> Value {
    let mut record = json!(PaymentRecord::of(payment));
    record["merchant_id"] = json!(payment.terms().tenant.merchant());
    record["rail"] = json!(payment.terms().rail);
    record["provider_reference"] = json!(payment.state().provider_reference);
    record
}

/// A receipt and its tenant.
pub fn operator_receipt(receipt: &Receipt) -> Value {
    let mut shown = json!(receipt);
    shown["merchant_id"] = json!(receipt.tenant.map(Tenant::merchant));
    shown["environment"] = json!(receipt.tenant.map(Tenant::environment));
    shown["status"] = json!(receipt.status());
    shown
}

/// A timeline, with its receipts as [`operator_receipt`] shows them.
pub fn operator_timeline(timeline: &Timeline) -> Value {
    let mut shown = json!(timeline);
    shown["receipts"] = timeline.receipts.iter().map(operator_receipt).collect();
    shown
}
