//! The methods that a merchant may use, and a check of one of them.

use quipu_payments::methods::{MethodFinding, MethodQuestion, available_methods, judge_method};
use serde::Serialize;

use crate::{
    answer::envelope,
    caller::Caller,
    request::{Call, Outcome},
};

pub(crate) async fn list(call: Call, caller: Caller) -> Outcome {
    let tenant = caller.tenant();
    let routes = call.state.services.routes.routes(tenant.merchant()).await?;
    envelope::one(available_methods(tenant.environment(), &routes))
}

#[derive(Serialize)]
struct Judgement {
    valid: bool,
    errors: Vec<MethodFinding>,
}

pub(crate) async fn validate(call: Call, caller: Caller) -> Outcome {
    let question = MethodQuestion::parse(&call.json().await?)?;
    let errors = judge_method(&question, caller.tenant(), &*call.state.services.routes).await?;
    envelope::one(Judgement { valid: errors.is_empty(), errors })
}
