//! Answers that are given once and repeated whenever the caller uses the same idempotency key again.

use std::{fmt::Display, str::FromStr, time::Duration};

use quipu_kernel::{PaymentId, Tenant, Timestamp, Unrecognised, wire_names};

/// The key under which an answer is kept: its tenant ([`KeyOwner::keeper`]), its owner, and the caller's
/// key.
pub type AnswerKey = (Tenant, KeyOwner, String);

/// A caller's name for one attempt: 1 to 255 printable ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of an attempt at one call only: under the same key another call is another attempt. A line
    /// feed separates the two, which no caller's key contains.
    #[must_use]
    pub fn of_call(&self, call: impl Display) -> Self {
        Self(format!("{call}\n{}", self.0))
    }
}

impl FromStr for IdempotencyKey {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        let printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if (1..=255).contains(&text.len()) && printable {
            Ok(Self(text.to_owned()))
        } else {
            Err(Unrecognised { expected: "1 to 255 printable ASCII characters" })
        }
    }
}

wire_names! {
    /// Who chose a key. The operator's staff and a merchant choose theirs independently of each other.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum KeyOwner {
        /// A key of the merchant.
        Merchant = "merchant",
        /// A key of the operator's staff.
        Operator = "operator",
    }
}

impl KeyOwner {
    /// The tenant under which answers to this owner's keys are kept. A merchant's keys are kept per
    /// environment. Staff's keys are one set for all merchants: their calls say which merchant they are about
    /// ([`IdempotencyKey::of_call`]).
    pub const fn keeper(self, tenant: Tenant) -> Tenant {
        match self {
            Self::Merchant => tenant,
            Self::Operator => Tenant::NOBODY,
        }
    }

    /// The key under which the answer to `key`, used for `tenant`, is kept.
    pub fn answer_key(self, tenant: Tenant, key: &IdempotencyKey) -> AnswerKey {
        (self.keeper(tenant), self, key.as_str().to_owned())
    }
}

/// An answer as it was given: status code and body, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status code.
    pub status: u16,
    /// JSON body. It holds no secret.
    pub body: String,
}

impl Answer {
    /// The answer to what was done.
    pub const fn success(body: String) -> Self {
        Self { status: 200, body }
    }
}

/// Where the answer of a record comes from when the record is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptAnswer {
    /// It is made from the record that the same commit saves, once its customer is known
    /// ([`crate::Record::answer`]).
    OfSaved,
    /// It is given here.
    Given(Answer),
    /// A later commit brings it, when the outcome is known; until then the key is taken and has no answer.
    Later,
    /// The answer to a key that an earlier commit took for the same payment.
    Brought(Answer),
}

/// An idempotency key with the answer that it stands for.
#[derive(Debug, Clone)]
pub struct IdempotencyRecord {
    /// Who chose the key.
    pub owner: KeyOwner,
    /// The idempotency key.
    pub key: IdempotencyKey,
    /// Hex of SHA-256 over the request: a different request under the same key is a mismatch.
    pub body_hash: String,
    /// The payment that the request created, if it created one.
    pub payment_id: Option<PaymentId>,
    /// The answer, or when it comes.
    pub answer: KeptAnswer,
    /// The time until which the key is kept.
    pub expires_at: Timestamp,
}

impl IdempotencyRecord {
    /// How long an answer is kept.
    pub const KEPT_FOR: Duration = Duration::from_hours(24);
}
