//! The idempotency key of a creation, apart from the answer that is kept under it.

use quipu_commit::{IdempotencyKey, IdempotencyRecord, KeptAnswer, KeyOwner};
use quipu_kernel::{PaymentId, Timestamp};

/// A key that a creation uses. The answer follows with a commit, or with several: first none, then the rail's.
#[derive(Clone)]
pub(crate) struct CreationKey {
    key: IdempotencyKey,
    body_hash: String,
    expires_at: Timestamp,
}

impl CreationKey {
    /// A key that is used at `now` by a request whose raw body has this hash (hex of SHA-256).
    pub(crate) fn new(key: IdempotencyKey, body_hash: String, now: Timestamp) -> Self {
        Self { key, body_hash, expires_at: now.plus(IdempotencyRecord::KEPT_FOR) }
    }

    /// The record that keeps `answer` under the key, with the payment that was made, if one was.
    pub(crate) fn record(self, payment_id: Option<PaymentId>, answer: KeptAnswer) -> IdempotencyRecord {
        let Self { key, body_hash, expires_at } = self;
        IdempotencyRecord { owner: KeyOwner::Merchant, key, body_hash, payment_id, answer, expires_at }
    }
}
