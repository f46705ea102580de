//! Creating a payment.

use std::{sync::Arc, time::Duration};

use quipu_kernel::{Clock, Entropy, Tenant};
use quipu_merchants::{Directory, ReturnUrls};

use crate::{
    Answer, AnswerForm, Commit, CreateError, Draft, IdempotencyKey, Nonce, Payment, PaymentReads, Rails,
};

/// A request to create a payment, from whom it comes, and what its signature used up.
#[derive(Debug, Clone)]
pub struct Creation {
    /// Whose payment.
    pub tenant: Tenant,
    /// The request.
    pub draft: Draft,
    /// The merchant's return URLs, for members the request does not give.
    pub default_return_urls: ReturnUrls,
    /// The nonce of a verified v2 signature.
    pub nonce: Option<Nonce>,
}

/// How a creation is answered, opened and kept: the edge's part in an idempotent creation.
pub trait CreationForm: AnswerForm {
    /// The answer to a refusal, as it is sent.
    fn refused(&self, error: &CreateError) -> Answer;

    /// An answer as it was kept, opened again; `None` if the seal is broken.
    fn open(&self, status: u16, sealed: &str) -> Option<Answer>;

    /// The same form as the store sees it.
    fn as_answer_form(self: Arc<Self>) -> Arc<dyn AnswerForm>;
}

/// That a creation is to happen only once, under the merchant's name for it.
#[derive(Clone)]
pub struct Once {
    /// The merchant's `Idempotency-Key`.
    pub key: IdempotencyKey,
    /// Hex of SHA-256 over the request's raw body.
    pub body_hash: String,
    /// How answers are written and kept.
    pub form: Arc<dyn CreationForm>,
}

/// An answer, first or repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The answer, byte for byte.
    pub answer: Answer,
    /// Whether it had been given before.
    pub replayed: bool,
}

/// Creates payments. Cheap to share: every member is a port.
pub struct CreatePayment {}

impl CreatePayment {
    /// The use case over these ports.
    pub fn new(
        commit: Arc<dyn Commit>,
        reads: Arc<dyn PaymentReads>,
        directory: Arc<dyn Directory>,
        rails: Arc<Rails>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        unimplemented!()
    }

    /// The same, with another `redirectpay.cancel_after` than 24 hours.
    pub fn with_redirectpay_cancel_after(self, period: Duration) -> Self {
        unimplemented!()
    }

    /// Creates a payment and answers it as it was committed. Whatever comes of it, the nonce is burnt.
    pub async fn run(&self, creation: Creation) -> Result<Payment, CreateError> {
        unimplemented!()
    }

    /// Creates a payment once: a repeat under the same key gets the first answer again. `Err` is only what is never
    /// kept: `Invalid`, `IdempotencyKeyInUse`, `IdempotencyKeyMismatch`, `NonceUsed` and `Store`.
    pub async fn run_once(&self, creation: Creation, once: Once) -> Result<Answered, CreateError> {
        unimplemented!()
    }

    /// Burns the nonce of a call that ends without a commit of its own; `NonceUsed` if it was used before.
    pub async fn burn(&self, tenant: Tenant, nonce: Nonce) -> Result<(), CreateError> {
        unimplemented!()
    }
}
