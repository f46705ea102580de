//! Verifying the ledger, and the chains that seal it.

use quipu_kernel::{Problems, Timestamp};
use serde_json::json;

use crate::{
    answer::envelope,
    caller::AuthenticatedOperator,
    metric_names::{LEDGER_BREACHES, LEDGER_CHECKED},
    request::{Call, Outcome},
};

/// `GET /operator/v1/ledger/check`
pub(crate) async fn check(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let report = call.state.services.ledger.check().await?;
    set_gauges(report.breaches.len(), call.state.services.clock.now());
    envelope::one(json!({
        "clean": report.is_clean(),
        "balances": report.balances,
        "transactions": report.transactions,
        "payments": report.payments,
        "breaches": report.breaches,
    }))
}

#[expect(clippy::cast_precision_loss, reason = "few breaches are listed, and seconds fit for ages")]
fn set_gauges(breaches: usize, at: Timestamp) {
    metrics::gauge!(LEDGER_BREACHES).set(breaches as f64);
    metrics::gauge!(LEDGER_CHECKED).set(at.seconds() as f64);
}

/// `GET /operator/v1/ledger/chains`: how far the chains over entries and audit log are sealed.
pub(crate) async fn chains(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let query = call.query()?;
    let mut problems = Problems::new();
    let page = query.page(&mut problems);
    let merchant = query.merchant(&mut problems);
    problems.into_result()?;
    let (heads, total) = call.state.services.chains.heads(merchant, page).await?;
    envelope::many(heads, total, page)
}
