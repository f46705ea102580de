//! `Idempotency-Key`: how answers are written for keeping, and sent again.

use std::sync::Arc;

use actix_web::http::{StatusCode, header};
use quipu_commit::{Answer, IdempotencyKey};
use quipu_kernel::Problems;
use quipu_payments::{Answered, CreateError, RefusalForm};

use crate::{
    answer::{ApiError, reply},
    request::{Call, Outcome},
    state::AppState,
};

const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
const IDEMPOTENT_REPLAYED: header::HeaderName = header::HeaderName::from_static("idempotent-replayed");

/// Writes the refusals of creations as they are kept.
pub(crate) struct WrittenRefusal(pub(crate) Arc<AppState>);

impl RefusalForm for WrittenRefusal {
    fn refused(&self, error: &CreateError) -> Answer {
        ApiError::from(error).to_answer(self.0.services.clock.now())
    }
}

/// The header, if it is sent. Two of them are refused, since they do not say which key is meant.
pub(crate) fn idempotency_key(call: &Call) -> Result<Option<IdempotencyKey>, Problems> {
    let mut sent = call.request.headers().get_all(IDEMPOTENCY_KEY);
    let (Some(value), second) = (sent.next(), sent.next()) else { return Ok(None) };
    if second.is_some() {
        return Err(Problems::of(IDEMPOTENCY_KEY, "must be sent only once"));
    }
    let key = value.to_str().ok().and_then(|text| text.parse().ok());
    key.map(Some).ok_or_else(|| Problems::of(IDEMPOTENCY_KEY, "must be 1 to 255 printable ASCII characters"))
}

/// Sends an answer, and marks it if it is a repeat.
pub(crate) fn send(answered: Answered) -> Outcome {
    let status = StatusCode::from_u16(answered.answer.status)
        .map_err(|error| ApiError::internal("reading a kept answer", &error))?;
    let mut response = reply::raw(status, answered.answer.body.into_bytes());
    if answered.replayed {
        response.headers_mut().insert(IDEMPOTENT_REPLAYED, header::HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// Sends an answer that is not kept.
pub(crate) fn send_first(answer: Answer) -> Outcome {
    send(Answered { answer, replayed: false })
}
