//! Bearer tokens: issuing them, and the public keys to verify them (docs/API.md, "Bearer tokens").

use std::time::Duration;

use actix_web::http::StatusCode;
use quipu_kernel::{Fields, Problems};
use quipu_merchants::Scopes;
use serde_json::{Value, json};

use crate::{
    answer::{ApiError, envelope},
    caller::Caller,
    request::{Call, Outcome},
    state::LONGEST,
};

const DEFAULT_SECONDS: u64 = 900;
const MAX_SECONDS: u64 = LONGEST.as_secs();

/// `POST …/auth/token`, for an API key or a signed request alike.
pub(crate) async fn token(call: Call, caller: Caller) -> Outcome {
    let (scopes, lifetime) = parse(&call.optional_json().await?)?;
    let granted = caller.scopes();
    let scopes = scopes.unwrap_or_else(|| granted.clone());
    if let Some(missing) = scopes.iter().find(|scope| !granted.grants(*scope)) {
        return Err(ApiError::scope_missing(missing));
    }
    let entropy = call.state.services.entropy.as_ref();
    let token = call.state.tokens.issue(&caller.bearer(), &scopes, lifetime, call.now, entropy)?;
    envelope::json(StatusCode::OK, &token)
}

fn parse(body: &Value) -> Result<(Option<Scopes>, Duration), ApiError> {
    let fields = Fields::of_body(body)?;
    let mut problems = Problems::new();
    let scopes = Scopes::read(&fields, &mut problems);
    let seconds = fields.integer("expires_in", &mut problems).map(u64::try_from);
    let seconds = match seconds {
        None => DEFAULT_SECONDS,
        Some(Ok(seconds @ 1..=MAX_SECONDS)) => seconds,
        Some(_) => {
            problems.add("expires_in", format_args!("must be from 1 to {MAX_SECONDS} seconds"));
            DEFAULT_SECONDS
        }
    };
    problems.into_result()?;
    Ok((scopes, Duration::from_secs(seconds)))
}

/// `GET /.well-known/jwks.json` (RFC 7517).
pub(crate) async fn public_keys(call: Call) -> Outcome {
    envelope::json(StatusCode::OK, &json!({ "keys": call.state.tokens.public_keys() }))
}
