//! Payments, refunds and receipts as the operator's staff see them, and the lines of the audit log about
//! them. The operator's interface and the shell show the same.

use quipu_kernel::{Entropy, MerchantId, Tenant, Timestamp};
use quipu_merchants::{Actor, AuditRecord};
use serde_json::{Value, json};

use crate::{
    history::{receipt::Receipt, timeline::Timeline},
    payment::{Payment, decision::ManualDecision, refund::Refund, view::PaymentRecord},
    staff::decide_manually::DecisionNote,
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

/// The circumstances of an action of staff, for the audit log.
#[derive(Clone)]
pub struct StaffAction<'a> {
    /// The source of the line's identifier.
    pub entropy: &'a dyn Entropy,
    /// When it was done (UTC).
    pub at: Timestamp,
    /// The person or shell that did it.
    pub actor: Actor,
}

impl StaffAction<'_> {
    fn line(&self, action: &str, merchant: Option<MerchantId>) -> AuditRecord {
        AuditRecord::new(self.entropy, self.at, self.actor.clone(), action, merchant)
    }

    /// The line about a person's decision on a payment.
    pub fn decided(
        &self,
        decision: ManualDecision,
        note: &DecisionNote,
        before: &Payment,
        after: &Payment,
    ) -> AuditRecord {
        let mut now = standing(after);
        now["reason"] = json!(note.reason);
        now["rail_reference"] = json!(note.rail_reference);
        self.line(&format!("payment.{}", decision.as_str()), Some(before.terms().tenant.merchant()))
            .about(format!("payment/{}", before.id()))
            .changing(standing(before), now)
    }

    /// The line about a refund.
    pub fn refunded(&self, before: &Payment, after: &Payment, refund: &Refund) -> AuditRecord {
        let mut now = standing(after);
        now["refund"] = json!(refund);
        self.line("payment.refund", Some(before.terms().tenant.merchant()))
            .about(format!("payment/{}", before.id()))
            .changing(standing(before), now)
    }

    /// The line about a resolved receipt; its subject is the payment if the receipt names one.
    pub fn resolved(&self, before: &Receipt, after: &Receipt) -> AuditRecord {
        let merchant = before.tenant.map(Tenant::merchant);
        let subject = match &before.payment_id {
            Some(id) => format!("payment/{id}"),
            None => format!("receipt/{}", before.receipt_id),
        };
        let line = self.line("receipt.resolve", merchant).about(subject);
        line.changing(operator_receipt(before), operator_receipt(after))
    }
}

fn standing(payment: &Payment) -> Value {
    let state = payment.state();
    json!({
        "status": state.status,
        "status_version": state.version,
        "refunded_amount": state.refunded_amount,
        "received_amount": state.received_amount,
    })
}
