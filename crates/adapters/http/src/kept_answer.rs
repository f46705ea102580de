//! `Idempotency-Key`: how answers are written, sealed for keeping, and sent again.

use std::sync::Arc;

use actix_web::http::{StatusCode, header};
use quipu_kernel::Problems;
use quipu_payments::{
    Answer, AnswerForm, Answered, CreateError, CreationForm, IdempotencyKey, Payment, PaymentRecord,
};

use crate::{
    call::{Call, Outcome},
    envelope::TopLevel,
    error::ApiError,
    reply,
    state::AppState,
};

const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
const IDEMPOTENT_REPLAYED: header::HeaderName = header::HeaderName::from_static("idempotent-replayed");

/// The forms of one creation. The seal is bound to its tenant and key, so that a row copied elsewhere opens nothing.
pub(crate) struct KeptAnswerForm {
    state: Arc<AppState>,
    context: String,
}

impl KeptAnswerForm {
    pub(crate) fn new(state: Arc<AppState>, tenant: quipu_kernel::Tenant, key: &str) -> Self {
        Self { state, context: format!("kept-answer/{tenant}/{key}") }
    }
}

/// The header, if it is sent. Two of them name no attempt.
pub(crate) fn idempotency_key(call: &Call) -> Result<Option<IdempotencyKey>, Problems> {
    let mut sent = call.request.headers().get_all(IDEMPOTENCY_KEY);
    let (Some(value), second) = (sent.next(), sent.next()) else { return Ok(None) };
    let key = value.to_str().ok().filter(|_| second.is_none()).and_then(|text| text.parse().ok());
    key.map(Some).ok_or_else(|| Problems::of(IDEMPOTENCY_KEY, "must be 1 to 255 printable characters"))
}

/// Sends an answer, and says if it is not the first.
pub(crate) fn send(answered: Answered) -> Outcome {
    let status = StatusCode::from_u16(answered.answer.status)
        .map_err(|error| ApiError::internal("reading a kept answer", &error))?;
    let mut response = reply::raw(status, answered.answer.body);
    if answered.replayed {
        response.headers_mut().insert(IDEMPOTENT_REPLAYED, header::HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// The body of a successful creation.
pub(crate) fn created(payment: &Payment) -> Result<Vec<u8>, ApiError> {
    let body = serde_json::to_vec(&TopLevel::new(PaymentRecord::of(payment)));
    body.map_err(|error| ApiError::internal("writing a payment", &error))
}

impl AnswerForm for KeptAnswerForm {
    fn created(&self, payment: &Payment) -> Answer {
        match created(payment) {
            Ok(body) => Answer { status: 200, body },
            Err(error) => error.to_answer(self.state.services.clock.now()),
        }
    }

    fn sealed(&self, answer: &Answer) -> String {
        let services = &self.state.services;
        services.keyring.seal(services.entropy.as_ref(), &self.context, &answer.body)
    }
}

impl CreationForm for KeptAnswerForm {
    fn refused(&self, error: &CreateError) -> Answer {
        ApiError::from(error).to_answer(self.state.services.clock.now())
    }

    fn open(&self, status: u16, sealed: &str) -> Option<Answer> {
        let body = self.state.services.keyring.open(&self.context, sealed).ok()?;
        Some(Answer { status, body })
    }

    fn as_answer_form(self: Arc<Self>) -> Arc<dyn AnswerForm> {
        self
    }
}
