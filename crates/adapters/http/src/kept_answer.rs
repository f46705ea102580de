//! How the answers to creations are written, and sealed for keeping under an idempotency key.

use std::sync::Arc;

use quipu_payments::{Answer, AnswerForm, CreateError, CreationForm, Payment, PaymentRecord};

use crate::{envelope::TopLevel, error::ApiError, state::AppState};

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
