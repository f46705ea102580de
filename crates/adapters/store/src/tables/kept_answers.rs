//! Answers that are kept under the caller's idempotency keys.
//!
//! If another node has just used a key, the row that would replace it has no time of expiry and violates a
//! constraint, so that nothing of the transaction is committed.

use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use quipu_commit::{Answer, IdempotencyRecord};
use quipu_kernel::{PaymentId, Tenant};

use super::columns::columns;

/// The status of a row whose answer is awaited.
pub(crate) const AWAITED: i32 = 0;

/// An answer, and the key under which it is kept.
pub(crate) struct AnswerLine<'a> {
    pub(crate) tenant: Tenant,
    pub(crate) record: &'a IdempotencyRecord,
    pub(crate) answer: Option<&'a Answer>,
}

columns! {
    in "kept_answers" from (line: AnswerLine<'a>) {
        merchant_id: i64 as BigInt = line.record.owner.keeper(line.tenant).merchant().0;
        environment: &'a str as Text = line.record.owner.keeper(line.tenant).environment().as_str();
        audience: &'a str as Text = line.record.owner.as_str();
        key: &'a str as Text = line.record.key.as_str();
        body_hash: &'a str as Text = &line.record.body_hash;
        payment_id: Option<&'a str> as Nullable<Text> = line.record.payment_id.as_ref().map(PaymentId::as_str);
        status: i32 as Integer = line.answer.map_or(AWAITED, |answer| answer.status.into());
        body: &'a str as Text = line.answer.map_or("", |answer| answer.body.as_str());
        expires_at: i64 as BigInt = line.record.expires_at.millis();
    }
    then "ON CONFLICT (merchant_id, environment, audience, key) DO UPDATE SET body_hash = excluded.body_hash,
        payment_id = excluded.payment_id, status = excluded.status, body = excluded.body, expires_at = CASE
        WHEN (kept_answers.status = 0 AND kept_answers.payment_id = excluded.payment_id)
            OR kept_answers.expires_at <= " at: i64 as BigInt, " THEN excluded.expires_at END"
}
