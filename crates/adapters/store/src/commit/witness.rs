//! Which row of a batch tells whether the batch was committed.

use super::{job::Job, mark::Witness, writes::Writes};
use quipu_payments::PaymentChange;

/// A row that is there if and only if the batch was committed; rather one that nobody ever removes.
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
    if let Some(event) = job.changes.events.first() {
        return Some(Witness::Event { tenant, id: event.id.as_str().to_owned() });
    }
    if let Some(record) = &job.changes.audit {
        return Some(Witness::Audit { id: record.id.clone() });
    }
    match &job.changes.payment {
        Some(PaymentChange::Created(payment)) => {
            Some(Witness::Payment { tenant, id: payment.id().as_str().to_owned() })
        }
        _ => None,
    }
}

fn answer(job: &Job) -> Option<Witness> {
    let record = job.changes.idempotency.as_ref()?;
    Some(Witness::Answer {
        tenant: job.changes.tenant,
        audience: record.audience.as_str(),
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
