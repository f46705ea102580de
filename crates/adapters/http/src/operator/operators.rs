//! The operator's own staff.

use quipu_kernel::Problems;
use quipu_merchants::{NewOperator, Operator};
use serde_json::json;

use super::of_part;
use crate::{
    answer::{ErrorCode, envelope},
    caller::AuthenticatedOperator,
    request::{Call, Outcome},
};

/// `POST /operator/v1/operators`; only this answer contains the token.
pub(crate) async fn create(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let new = NewOperator::parse(&call.json().await?, call.now)?;
    let issued = call.state.services.onboarding.create_operator(new, staff.actor()).await?;
    let mut shown = issued.record.shown();
    shown["token"] = json!(issued.secret.expose());
    envelope::one(shown)
}

/// `GET /operator/v1/operators`, newest first, revoked ones included.
pub(crate) async fn list(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let mut problems = Problems::new();
    let query = call.query()?;
    let (page, created) = (query.page(&mut problems), query.created(&mut problems));
    problems.into_result()?;
    let (operators, total) = call.state.services.directory.operators(created, page).await?;
    envelope::many(operators.iter().map(Operator::shown).collect(), total, page)
}

/// `DELETE /operator/v1/operators/{operator_id}`
pub(crate) async fn revoke(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let operator_id = call.segment("operator_id");
    let revoked = call.state.services.onboarding.revoke_operator(operator_id, staff.actor()).await;
    revoked.map_err(of_part(ErrorCode::OperatorNotFound, "operator"))?;
    envelope::one(json!({ "operator_id": operator_id, "revoked": true }))
}
