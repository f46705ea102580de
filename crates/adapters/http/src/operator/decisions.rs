//! Decisions of a person about a payment, on every rail.

use quipu_payments::{DecisionNote, ManualDecision, StaffCall, operator_record};

use super::{keyed_decision::KeyedDecision, payments::found};
use crate::{
    caller::AuthenticatedOperator,
    request::{Call, Outcome},
};

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
    let what = StaffCall::Decide(decision, payment.id());
    let keyed = KeyedDecision::of(&call, &staff, payment.terms().tenant, what).await?;
    keyed
        .run(async || {
            let note = DecisionNote::parse(&call.optional_json().await?)?;
            let record = |before: &_, after: &_| {
                let audit = keyed.action.decided(decision, &note, before, after);
                keyed.recorded(audit, &operator_record(after))
            };
            let reason = note.reason.as_deref();
            let decided = call.state.services.decide.run(payment.id(), decision, reason, &record).await?;
            Ok(operator_record(&decided))
        })
        .await
}
