//! Answers that are given once and repeated (decisions on `Idempotency-Key`).

use std::{str::FromStr, sync::Arc};

use quipu_kernel::{PaymentId, Timestamp, Unrecognised};

use crate::payment::Payment;

/// A merchant's name for one attempt: 1 to 255 printable ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IdempotencyKey {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        let printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if (1..=255).contains(&text.len()) && printable {
            Ok(Self(text.to_owned()))
        } else {
            Err(Unrecognised { expected: "1 to 255 printable characters" })
        }
    }
}

/// Whose keys these are: the operator's staff and the merchant choose theirs apart from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Audience {
    /// The merchant.
    Merchant,
    /// The operator.
    Operator,
}

impl Audience {
    /// The name in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Merchant => "merchant",
            Self::Operator => "operator",
        }
    }
}

/// An answer as it was given: status code and body, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status code.
    pub status: u16,
    /// JSON body.
    pub body: Vec<u8>,
}

/// How answers are written, and sealed for keeping: the edge's part in an idempotent creation.
///
/// The answer to a creation names the customer, whose number is settled only inside the commit, so the store asks for
/// the bytes there. Both calls must be quick and must not block.
pub trait AnswerForm: Send + Sync {
    /// The answer to a creation, as it is sent.
    fn created(&self, payment: &Payment) -> Answer;

    /// The body in the form in which it is kept: sealed.
    fn sealed(&self, answer: &Answer) -> String;
}

/// What a kept answer is made from when its record is written.
#[derive(Clone)]
pub enum KeptAnswer {
    /// From the payment that the same commit creates.
    FromPayment(Arc<dyn AnswerForm>),
    /// A refusal: its status code and sealed body.
    Sealed {
        /// HTTP status code.
        status: u16,
        /// The sealed body.
        body: String,
    },
}

impl std::fmt::Debug for KeptAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::FromPayment(_) => f.write_str("FromPayment"),
            Self::Sealed { status, .. } => write!(f, "Sealed({status})"),
        }
    }
}

/// A key with the answer it stands for.
#[derive(Debug, Clone)]
pub struct IdempotencyRecord {
    /// Whose key.
    pub audience: Audience,
    /// The key.
    pub key: IdempotencyKey,
    /// Hex of SHA-256 over the request's raw body: another body under the same key is a mismatch.
    pub body_hash: String,
    /// The payment it created, if it did.
    pub payment_id: Option<PaymentId>,
    /// The answer.
    pub answer: KeptAnswer,
    /// Until when it is kept.
    pub expires_at: Timestamp,
}
