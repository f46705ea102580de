//! The decision about each change of a batch: a pure function over the state so far.

use quipu_kernel::Tenant;
use quipu_ledger::{Balance, PostingError};
use quipu_payments::{
    Answer, Changes, CustomerClaim, IdempotencyRecord, KeptAnswer, Payment, PaymentChange, Refusal,
};

use super::{
    job::Job,
    state::{CustomerKey, KnownBalance, Standing, State},
    writes::{CountKey, KeptRow, Write, Writes},
};

/// What became of a change: accepted, perhaps with an answer that was kept, or refused.
pub(crate) type Verdict = Result<Option<Answer>, Refusal>;

/// Judges `jobs` in order, each against `state` and what the accepted ones before it made of it. A refused change leaves
/// nothing behind but its nonce.
pub(crate) fn judge(mut state: State, jobs: &mut [Job]) -> (Vec<Verdict>, Writes) {
    let mut writes = Writes::default();
    let verdicts =
        jobs.iter_mut().enumerate().map(|(index, job)| one(&mut state, &mut writes, index, job)).collect();
    let touched = state.balances.into_iter().filter(|(_, known)| known.touched);
    writes.balances = touched.map(|((tenant, currency), known)| (tenant, currency, known)).collect();
    writes.balances.sort_unstable_by_key(|(tenant, currency, _)| (*tenant, *currency));
    writes.counts.retain(|_, by| *by != 0);
    (verdicts, writes)
}

fn one(state: &mut State, writes: &mut Writes, index: usize, job: &mut Job) -> Verdict {
    burn_nonce(state, writes, index, job)?;
    let changes = &job.changes;
    if let Some(record) = &changes.idempotency {
        let kept = state.answers.get(&(changes.tenant, record.audience, record.key.as_str().to_owned()));
        if kept.is_some_and(|expires_at| *expires_at > changes.at) {
            return Err(Refusal::IdempotencyKeyUsed);
        }
    }
    check_payment(state, job)?;
    let balances = post(state, job)?;

    // Nothing refuses from here on.
    for known in balances {
        state.balances.insert((job.changes.tenant, known.balance.currency), known);
    }
    settle_customer(state, writes, index, job);
    place_payment(state, writes, index, job);
    let answer = keep_answer(state, writes, index, job);
    writes.accepted.push(index);
    Ok(answer)
}

fn burn_nonce(state: &mut State, writes: &mut Writes, index: usize, job: &Job) -> Result<(), Refusal> {
    let Some(nonce) = &job.changes.nonce else { return Ok(()) };
    let key = (job.changes.tenant.merchant().0, nonce.value.clone());
    if state.nonces.get(&key).is_some_and(|expires_at| *expires_at > job.changes.at) {
        return Err(Refusal::NonceUsed);
    }
    state.nonces.insert(key, nonce.expires_at);
    writes.nonces.push(index);
    Ok(())
}

fn check_payment(state: &State, job: &Job) -> Result<(), Refusal> {
    let tenant = job.changes.tenant;
    match &job.changes.payment {
        Some(PaymentChange::Moved { from, from_version, payment }) => {
            let found = Standing { status: *from, version: *from_version };
            match state.payments.get(&(tenant, payment.id().clone())) {
                Some(standing) if *standing == found => Ok(()),
                _ => Err(Refusal::Stale),
            }
        }
        Some(PaymentChange::Created(payment)) if payment.holds_reference() => {
            match state.references.get(&reference_key(tenant, payment)) {
                Some(holder) => Err(Refusal::ReferenceTaken { holder: holder.clone() }),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// The balances after the change's transactions, or why they cannot bear them and what is foreseen beyond.
fn post(state: &State, job: &Job) -> Result<Vec<KnownBalance>, PostingError> {
    let Changes { tenant, transactions, foreseen, .. } = &job.changes;
    let before = |currency| {
        let absent = KnownBalance { balance: Balance::zero(currency), stored: false, touched: false };
        state.balances.get(&(*tenant, currency)).copied().unwrap_or(absent)
    };
    let mut after: Vec<KnownBalance> = Vec::new();
    for transaction in transactions {
        let currency = transaction.currency();
        let position = after.iter().position(|known| known.balance.currency == currency);
        let position = position.unwrap_or_else(|| {
            after.push(before(currency));
            after.len() - 1
        });
        after[position].balance = after[position].balance.after(transaction)?;
        after[position].touched = true;
    }
    if let Some(foreseen) = foreseen {
        let currency = foreseen.currency();
        let posted = after.iter().find(|known| known.balance.currency == currency).copied();
        posted.unwrap_or_else(|| before(currency)).balance.after(foreseen)?;
    }
    Ok(after)
}

/// Names the customer of a new payment: the one that matches, or else a new one.
fn settle_customer(state: &mut State, writes: &mut Writes, index: usize, job: &mut Job) {
    let tenant = job.changes.tenant;
    let (Some(PaymentChange::Created(payment)), Some(CustomerClaim::MatchOrCreate(fresh))) =
        (&mut job.changes.payment, job.changes.customer)
    else {
        return;
    };
    let customer = &payment.terms().customer;
    let found = match CustomerKey::of(customer) {
        CustomerKey::Email(key) => state.emails.get(&(tenant, key)).copied(),
        CustomerKey::Phone(key) => state.phones.get(&(tenant, key)).copied(),
        CustomerKey::Nothing => None,
    };
    if found.is_none() {
        let mut customer = customer.clone();
        customer.id = fresh;
        if let Some(key) = customer.email_key() {
            state.emails.insert((tenant, key), fresh);
        }
        if let Some(key) = customer.phone_key() {
            // The eldest customer of a number is the one it stands for.
            state.phones.entry((tenant, key)).or_insert(fresh);
        }
        writes.customers.push((index, customer));
    }
    payment.assign_customer(found.unwrap_or(fresh));
}

fn place_payment(state: &mut State, writes: &mut Writes, index: usize, job: &Job) {
    let tenant = job.changes.tenant;
    let Some(payment) = job.payment() else { return };
    let key = (tenant, payment.id().clone());
    let write = match &job.changes.payment {
        Some(PaymentChange::Created(_)) => Write::Insert,
        _ => Write::Update,
    };
    if let Some(PaymentChange::Moved { from, .. }) = &job.changes.payment {
        let terms = payment.terms();
        writes.count((tenant, *from, terms.kind, terms.method, terms.currency), -1);
    }
    writes.count(count_key(tenant, payment), 1);
    let reference = reference_key(tenant, payment);
    if payment.holds_reference() {
        state.references.insert(reference, payment.id().clone());
    } else if state.references.get(&reference) == Some(payment.id()) {
        state.references.remove(&reference);
    }
    state
        .payments
        .insert(key.clone(), Standing { status: payment.status(), version: payment.state().version });
    // A payment that this batch makes is inserted once, as its last change leaves it.
    let entry = writes.payments.entry(key).or_insert((write, index));
    entry.1 = index;
}

fn keep_answer(state: &mut State, writes: &mut Writes, index: usize, job: &Job) -> Option<Answer> {
    let record: &IdempotencyRecord = job.changes.idempotency.as_ref()?;
    let key = (job.changes.tenant, record.audience, record.key.as_str().to_owned());
    state.answers.insert(key, record.expires_at);
    let (status, sealed, answer) = match &record.answer {
        KeptAnswer::Sealed { status, body } => (*status, body.clone(), None),
        KeptAnswer::FromPayment(form) => {
            let answer = form.created(job.payment()?);
            (answer.status, form.sealed(&answer), Some(answer))
        }
    };
    writes.answers.push(KeptRow { job: index, status, sealed });
    answer
}

fn reference_key(tenant: Tenant, payment: &Payment) -> (Tenant, String) {
    (tenant, payment.terms().merchant_reference.clone())
}

fn count_key(tenant: Tenant, payment: &Payment) -> CountKey {
    let terms = payment.terms();
    (tenant, payment.status(), terms.kind, terms.method, terms.currency)
}

#[cfg(test)]
mod tests;
