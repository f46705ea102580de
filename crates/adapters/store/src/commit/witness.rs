//! Chooses the row of a batch that proves that the batch was committed.

use quipu_commit::{Aggregate, KeptAnswer, Writes};
use quipu_merchants::AuditRecord;
use quipu_webhooks::Event;

use super::job::Job;

use crate::transaction::commit_outcome::Witness;

/// A row that exists if and only if the batch was committed, preferably one that is never deleted.
pub(crate) fn among(jobs: &[Job], writes: &Writes) -> Option<Witness> {
    let accepted = || writes.accepted.iter().filter_map(|index| jobs.get(*index));
    accepted()
        .find_map(lasting)
        .or_else(|| accepted().find_map(answer))
        .or_else(|| writes.nonces.iter().filter_map(|index| jobs.get(*index)).find_map(nonce))
}

fn lasting(job: &Job) -> Option<Witness> {
    let tenant = job.changes.tenant;
    if let Some(id) = job.transaction_ids.first() {
        return Some(Witness::Entries { tenant, transaction: id.clone() });
    }
    if let Some(event) = job.changes.rows_of::<Event>().next() {
        return Some(Witness::Event { tenant, id: event.id.as_str().to_owned() });
    }
    if let Some(record) = job.changes.rows_of::<AuditRecord>().next() {
        return Some(Witness::Audit { id: record.id.clone() });
    }
    let mut saves = job.changes.saves.iter();
    let made = saves.find(|save| save.aggregate == Aggregate::PAYMENT && save.from.is_none())?;
    Some(Witness::Payment { tenant, id: made.id.clone() })
}

/// A key that did not exist before. An answer that a later commit brings changes an existing row and proves
/// nothing.
fn answer(job: &Job) -> Option<Witness> {
    let record = job.changes.idempotency.as_ref()?;
    (!matches!(record.answer, KeptAnswer::Brought(_))).then(|| Witness::Answer {
        tenant: record.owner.keeper(job.changes.tenant),
        audience: record.owner.as_str(),
        key: record.key.as_str().to_owned(),
        expires_at: record.expires_at.millis(),
    })
}

fn nonce(job: &Job) -> Option<Witness> {
    let nonce = job.changes.nonce.as_ref()?;
    Some(Witness::Nonce {
        merchant: job.changes.tenant.merchant().0,
        value: nonce.value.clone(),
        expires_at: nonce.expires_at.millis(),
    })
}
