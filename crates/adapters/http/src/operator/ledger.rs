//! Verifying the ledger.

use serde_json::json;

use crate::{
    call::{Call, Outcome},
    caller::Staff,
    envelope,
};

/// `GET /operator/v1/ledger/check`
pub(crate) async fn check(call: Call, _staff: Staff) -> Outcome {
    let report = call.state.services.ledger.check().await?;
    #[expect(clippy::cast_precision_loss, reason = "few breaches are listed")]
    metrics::gauge!("quipu_ledger_breaches").set(report.breaches.len() as f64);
    envelope::one(json!({
        "clean": report.is_clean(),
        "balances": report.balances,
        "transactions": report.transactions,
        "payments": report.payments,
        "breaches": report.breaches,
    }))
}
