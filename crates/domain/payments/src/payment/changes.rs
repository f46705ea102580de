//! How a payment is written in a commit: as a saved aggregate with its reference, its customer and its
//! counters.

use quipu_commit::{
    Aggregate, Answer, Changes, Expect, Holder, Index, Join, Name, NameChange, Queue, Record, Save, Work,
    WorkChange,
};
use quipu_kernel::{CustomerId, PaymentId, Timestamp};

use crate::{
    details::customer::Customer,
    payment::{Due, DueAction, Payment, counters::tallies, status::Status, view},
};

/// How the commit finds the customer of a new payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CustomerClaim {
    /// The request named a customer, and it exists.
    Known,
    /// The customer is matched within the tenant by e-mail address, or by telephone number if there is none.
    /// If nobody matches, a new customer gets this number, or the next free one.
    MatchOrCreate(CustomerId),
}

impl Record for Payment {
    fn resolve_join(&mut self, index: Index, holder: &Holder) {
        if let (Index::CUSTOMER, Holder::Number(number)) = (index, holder) {
            self.assign_customer(CustomerId(*number));
        }
    }

    fn answer(&self) -> Option<Answer> {
        Some(view::creation_answer(self))
    }
}

/// A customer that a payment makes if none matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCustomer(pub Customer);

impl Record for NewCustomer {
    fn resolve_join(&mut self, index: Index, holder: &Holder) {
        if let (Index::CUSTOMER, Holder::Number(number)) = (index, holder) {
            self.0.id = CustomerId(*number);
        }
    }
}

/// What a commit must know about a payment as it was before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BeforeChange {
    status: Status,
    held_reference: bool,
    revision: i64,
}

impl BeforeChange {
    /// The facts of this payment.
    pub const fn of(payment: &Payment) -> Self {
        Self {
            status: payment.status(),
            held_reference: payment.holds_reference(),
            revision: payment.state().revision,
        }
    }
}

/// A payment after a change, and everything that a commit writes for that change.
#[derive(Debug)]
pub struct Changed {
    /// The payment as it is afterwards.
    pub payment: Payment,
    /// The changes that save it, with what belongs to it.
    pub changes: Changes,
}

/// Adds a new payment to `changes`.
pub fn put_new(changes: &mut Changes, payment: Payment, claim: CustomerClaim, due: Option<Due>) {
    changes.names.push(NameChange::Take(reference_of(&payment), holder_of(&payment)));
    if let CustomerClaim::MatchOrCreate(fresh) = claim {
        changes.joins.push(join_customer(&payment.terms().customer, fresh));
    }
    changes.tallies.extend(tallies(&payment, payment.status(), 1));
    changes.payment_id = Some(payment.id().clone());
    changes.work.extend(due.map(|due| WorkChange::Put(settlement(payment.id(), due))));
    save(changes, None, payment);
}

/// Adds a changed payment to `changes`, with the next revision. `before` describes the payment before the
/// change.
pub fn put_moved(changes: &mut Changes, before: BeforeChange, payment: Payment) {
    if before.held_reference && !payment.holds_reference() {
        changes.names.push(NameChange::Release(reference_of(&payment), holder_of(&payment)));
    }
    if before.status != payment.status() {
        changes.tallies.extend(tallies(&payment, before.status, -1));
        changes.tallies.extend(tallies(&payment, payment.status(), 1));
    }
    changes.payment_id = Some(payment.id().clone());
    save(changes, Some(before.revision), payment);
}

/// The expectation that a payment has not changed since it was read.
pub(crate) fn as_it_stands(payment: &Payment) -> Expect {
    Expect {
        aggregate: Aggregate::PAYMENT,
        id: payment.id().as_str().to_owned(),
        revision: payment.state().revision,
    }
}

/// Saves an unchanged payment with the next revision: of two simultaneous decisions about it, one is made
/// anew.
pub(crate) fn put_claimed(changes: &mut Changes, payment: Payment) {
    let from = payment.state.revision;
    save(changes, Some(from), payment.revised());
}

/// Whether the identifier that a payment's rail has `named` of its own takes the place of the present one: a first
/// one does, and a later one as long as no money has moved, since the order that was taken on last is the one that runs.
pub(crate) fn replaces_provider_reference(payment: &Payment, named: Option<&str>) -> bool {
    let known = payment.state().provider_reference.as_deref();
    let is_open = matches!(payment.status(), Status::Pending | Status::Processing);
    named.is_some() && named != known && (known.is_none() || is_open)
}

/// Saves a payment whose rail has `named` its own identifier of it, with the next revision. If that does
/// not [take the place](replaces_provider_reference) of the present one, the payment is only expected to stand as it was read.
pub(crate) fn put_named(changes: &mut Changes, payment: Payment, named: Option<String>) {
    if !replaces_provider_reference(&payment, named.as_deref()) {
        changes.expects.push(as_it_stands(&payment));
        return;
    }
    let from = payment.state.revision;
    let mut payment = payment.revised();
    payment.state.provider_reference = named;
    changes.payment_id = Some(payment.id().clone());
    save(changes, Some(from), payment);
}

/// A change that only sets the next thing to do with a payment as it was read.
pub(crate) fn postponed(payment: &Payment, at: Timestamp, due: Option<Due>) -> Changes {
    let mut changes = next(payment, at, due);
    changes.expects.push(as_it_stands(payment));
    changes
}

/// A change that only sets the next thing to do with a payment.
pub(crate) fn next(payment: &Payment, at: Timestamp, due: Option<Due>) -> Changes {
    let mut changes = Changes::new(payment.terms().tenant, at);
    changes.work.push(next_work(payment.id(), due));
    changes
}

/// The next work on a payment; without `due` its work is removed.
pub(crate) fn next_work(id: &PaymentId, due: Option<Due>) -> WorkChange {
    match due {
        Some(due) => WorkChange::Put(settlement(id, due)),
        None => WorkChange::Drop { queue: Queue::SETTLEMENT, subject: id.as_str().to_owned() },
    }
}

/// The same changes, where the node that commits them calls the payment's rail at once. Other work, such as
/// an alert, stays due at its time.
pub(crate) fn taken(mut changes: Changes) -> Changes {
    let take = |change| match change {
        WorkChange::Put(work) if work.queue == Queue::SETTLEMENT && calls_rail(&work) => {
            WorkChange::Take(work)
        }
        other => other,
    };
    changes.work = changes.work.into_iter().map(take).collect();
    changes
}

fn calls_rail(work: &Work) -> bool {
    [DueAction::Submit, DueAction::Ask].iter().any(|action| action.as_str() == work.action)
}

fn settlement(id: &PaymentId, due: Due) -> Work {
    Work {
        queue: Queue::SETTLEMENT,
        subject: id.as_str().to_owned(),
        due: due.at,
        action: due.action.as_str(),
    }
}

/// Saves a payment. `from` is the revision that was read; `None` for a new payment.
pub(crate) fn save(changes: &mut Changes, from: Option<i64>, payment: Payment) {
    changes.saves.push(Save {
        aggregate: Aggregate::PAYMENT,
        id: payment.id().as_str().to_owned(),
        from,
        to: payment.state().revision,
        record: Box::new(payment),
    });
}

fn reference_of(payment: &Payment) -> Name {
    Name::new(Index::REFERENCE, payment.terms().merchant_reference.clone())
}

fn holder_of(payment: &Payment) -> Holder {
    Holder::Text(payment.id().as_str().to_owned())
}

/// Looks for a customer by e-mail address, else by telephone number, else not at all.
fn join_customer(customer: &Customer, fresh: CustomerId) -> Join {
    let email = customer.email_key().map(|key| Name::new(Index::CUSTOMER_EMAIL, key));
    let phone = customer.phone_key().map(|key| Name::new(Index::CUSTOMER_PHONE, key));
    let (by, also) = match (email, phone) {
        (Some(email), phone) => (Some(email), phone.into_iter().collect()),
        (None, phone) => (phone, Vec::new()),
    };
    let make = Box::new(NewCustomer(Customer { id: fresh, ..customer.clone() }));
    Join { by, index: Index::CUSTOMER, fresh: Holder::Number(fresh.0), also, make }
}
