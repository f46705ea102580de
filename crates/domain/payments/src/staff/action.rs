//! The lines of the audit log about what staff do with payments, receipts and balances.

use quipu_kernel::{Entropy, MerchantId, Tenant, Timestamp};
use quipu_merchants::{Actor, AuditRecord};
use serde_json::{Value, json};

use crate::{
    history::receipt::Receipt,
    payment::{Payment, decision::ManualDecision, refund::Refund},
    staff::{adjust::Adjustment, decide_manually::DecisionNote, view::operator_receipt},
};

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

    /// The line about an adjustment of a balance.
    pub fn adjusted(&self, adjustment: &Adjustment) -> AuditRecord {
        let (tenant, currency) = (adjustment.tenant(), adjustment.currency());
        let after = json!({
            "environment": tenant.environment(),
            "currency": currency,
            "amount": adjustment.amount(),
            "reason": adjustment.reason(),
        });
        self.line("balance.adjust", Some(tenant.merchant()))
            .about(format!("balance/{tenant}/{currency}"))
            .changing(Value::Null, after)
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

/// What an action may change of a payment.
fn standing(payment: &Payment) -> Value {
    let state = payment.state();
    json!({
        "status": state.status,
        "status_version": state.version,
        "refunded_amount": state.refunded_amount,
        "received_amount": state.received_amount,
    })
}
