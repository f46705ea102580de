//! Answers that are given once and repeated, by the name that the caller gave to the attempt.

use std::{str::FromStr, time::Duration};

use quipu_kernel::{Environment, MerchantId, PaymentId, Tenant, Timestamp, Unrecognised, wire_names};

/// What a kept answer is found by: the tenant under whom it is kept ([`Audience::keeper`]), whose key, and the key.
pub type AnswerKey = (Tenant, Audience, String);

/// A caller's name for one attempt: 1 to 255 printable ASCII characters.
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
            Err(Unrecognised { expected: "1 to 255 printable ASCII characters" })
        }
    }
}

wire_names! {
    /// Whose keys these are: the operator's staff and the merchant choose theirs apart from each other.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Audience {
        /// The merchant.
        Merchant = "merchant",
        /// The operator.
        Operator = "operator",
    }
}

impl Audience {
    /// The tenant under whom answers to its keys are kept. A merchant's keys are its own, in each environment. Staff's are one
    /// set for all merchants, so that a key that was used for one of them is known when it is used for another.
    pub const fn keeper(self, tenant: Tenant) -> Tenant {
        match self {
            Self::Merchant => tenant,
            Self::Operator => Tenant::new(MerchantId(0), Environment::Live),
        }
    }

    /// What an answer under a key of `tenant`'s is found by.
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

/// What a kept answer is made from when its record is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptAnswer {
    /// From what the same commit saves, once its customer is settled ([`crate::Record::answer`]).
    OfSaved,
    /// This one.
    Given(Answer),
    /// A later commit brings it, when the outcome is known; until then the key is taken and has no answer.
    Later,
    /// The answer to a key that an earlier commit took for the same payment.
    Brought(Answer),
}

/// A key with the answer it stands for.
#[derive(Debug, Clone)]
pub struct IdempotencyRecord {
    /// Whose key.
    pub audience: Audience,
    /// The key.
    pub key: IdempotencyKey,
    /// Hex of SHA-256 over what was asked: another request under the same key is a mismatch.
    pub body_hash: String,
    /// The payment it created, if it did.
    pub payment_id: Option<PaymentId>,
    /// The answer.
    pub answer: KeptAnswer,
    /// Until when it is kept.
    pub expires_at: Timestamp,
}

impl IdempotencyRecord {
    /// How long an answer is kept.
    pub const KEPT_FOR: Duration = Duration::from_hours(24);
}
