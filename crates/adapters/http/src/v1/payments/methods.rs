//! The methods that a merchant may use, and a check of one of them.

use quipu_payments::methods::{MethodQuestion, available_methods, judge_method};
use serde::Serialize;

use crate::{
    answer::{ApiError, envelope},
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
    errors: Vec<Finding>,
}

/// A reason why a payment could not be created: the `error_code` of the refused creation, and a message of it.
#[derive(Serialize)]
struct Finding {
    code: &'static str,
    message: String,
}

/// A finding for each message of the refusal.
fn findings(refusal: &ApiError) -> Vec<Finding> {
    refusal.shown(|shown| {
        let code = shown.code.as_str();
        shown.messages.iter().map(|message| Finding { code, message: message.clone() }).collect()
    })
}

pub(crate) async fn validate(call: Call, caller: Caller) -> Outcome {
    let question = MethodQuestion::parse(call.json().await?)?;
    let refusal = judge_method(question, caller.tenant(), &*call.state.services.routes).await?;
    let errors = refusal.map_or_else(Vec::new, |error| findings(&error.into()));
    envelope::one(Judgement { valid: errors.is_empty(), errors })
}
