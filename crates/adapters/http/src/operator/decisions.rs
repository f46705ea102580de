//! Decisions of a person about a payment, on every rail.

use quipu_kernel::{Fields, Problems};
use quipu_payments::{ManualDecision, StaffCall, operator_record};
use serde_json::Value;

use super::{decided::Deciding, payments::found};
use crate::{
    call::{Call, Outcome},
    caller::AuthenticatedOperator,
    error::ApiError,
    kept_answer,
};

const MAX_REASON: usize = 500;
const MAX_REFERENCE: usize = 255;

/// `POST /operator/v1/payments/{payment_id}/submit`
pub(crate) async fn submit(call: Call, staff: AuthenticatedOperator) -> Outcome {
    decide(call, staff, ManualDecision::Submit).await
}

/// `POST /operator/v1/payments/{payment_id}/complete`
pub(crate) async fn complete(call: Call, staff: AuthenticatedOperator) -> Outcome {
    decide(call, staff, ManualDecision::Complete).await
}

/// `POST /operator/v1/payments/{payment_id}/fail`
pub(crate) async fn fail(call: Call, staff: AuthenticatedOperator) -> Outcome {
    decide(call, staff, ManualDecision::Fail).await
}

/// `POST /operator/v1/payments/{payment_id}/return`
pub(crate) async fn give_back(call: Call, staff: AuthenticatedOperator) -> Outcome {
    decide(call, staff, ManualDecision::Return).await
}

async fn decide(call: Call, staff: AuthenticatedOperator, decision: ManualDecision) -> Outcome {
    let payment = found(&call).await?;
    let (reason, rail_reference) = parse(&call.optional_json().await?)?;
    let what = StaffCall::Decide(decision, payment.id());
    let deciding = match Deciding::begin(&call, &staff, payment.terms().tenant, what).await? {
        Ok(deciding) => deciding,
        Err(repeated) => return kept_answer::send(repeated),
    };
    let (reason, rail_reference) = (reason.as_deref(), rail_reference.as_deref());
    let decided = {
        let record = |before: &_, after: &_| {
            let audit = deciding.doing.decided(decision, before, after, reason, rail_reference);
            (audit, deciding.keeps(&operator_record(after)))
        };
        call.state.services.decide.run(payment.id(), decision, reason, &record).await
    };
    deciding.end(decided.map(|payment| operator_record(&payment))).await
}

fn parse(body: &Value) -> Result<(Option<String>, Option<String>), ApiError> {
    let fields = Fields::of_body(body)?;
    let mut problems = Problems::new();
    let reason = fields.text("reason", MAX_REASON, &mut problems).map(str::to_owned);
    let reference = fields.text("rail_reference", MAX_REFERENCE, &mut problems).map(str::to_owned);
    if problems.is_empty() { Ok((reason, reference)) } else { Err(problems.into()) }
}
