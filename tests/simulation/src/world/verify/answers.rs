//! What outsiders were answered.

use super::{Broken, Payments};
use crate::world::{
    book::{Knowledge, Told, WishBook},
    node::{Surroundings, tenant_of},
    plan::Wish,
};
use quipu_payments::{Payment, Status};

pub(super) fn verify(around: &Surroundings, payments: &Payments, broken: &mut Broken) {
    let book = around.book.open();
    for (number, known) in &book.wishes {
        let Some(wish) = known.wish else { continue };
        let text = number.to_string();
        let made: Vec<_> = payments
            .values()
            .filter(|payment| payment.terms().external_id.as_deref() == Some(&text))
            .collect();
        creation(*number, &wish, known, &made, broken);
    }
    decisions(around, &book, payments, broken);
}

/// A creation: what was told of it, and what it made.
fn creation(number: u64, wish: &Wish, known: &WishBook, made: &[&Payment], broken: &mut Broken) {
    let mut complain =
        |what: String| broken.push(format!("wish {number} ({wish:?}): {what}; told {:?}", known.told));
    for told in &known.told {
        if let Told::Made(id) = told
            && !made.iter().any(|payment| payment.id() == id)
        {
            complain(format!("{id} is not there"));
        }
    }
    for payment in made {
        let terms = payment.terms();
        let asked = (wish.amount, tenant_of(wish.merchant), format!("order-{}", wish.reference));
        if (terms.amount.get(), terms.tenant, terms.merchant_reference.clone()) != asked {
            complain(format!("{payment:?} is not what was asked for"));
        }
    }
    if known.told.is_empty() && !known.gave_up {
        complain("it was never answered".to_owned());
    }
    if wish.keyed {
        if made.len() > 1 {
            complain(format!("{} payments under one key", made.len()));
        }
        if known.answers.windows(2).any(|pair| pair[0] != pair[1]) {
            complain(format!("one key has two answers: {:?}", known.answers));
        }
        let refused = known.told.iter().any(|told| matches!(told, Told::Refused(_)));
        if refused && !made.is_empty() {
            complain("it was refused and made".to_owned());
        }
    }
    for (nonce, times) in known.nonces.iter().filter(|(_, times)| **times > 1) {
        complain(format!("{nonce} was accepted {times} times"));
    }
}

/// What people and merchants were told of their decisions.
fn decisions(around: &Surroundings, book: &Knowledge, payments: &Payments, broken: &mut Broken) {
    for id in &book.cancelled {
        let status = payments.get(id).map(Payment::status);
        if status != Some(Status::Cancelled) {
            broken.push(format!("{id} was cancelled, and is {status:?}"));
        }
    }
    let contents = around.store.shared.memory.contents();
    for (id, units) in &book.refunded {
        let told = book.refunded.iter().filter(|other| *other == &(id.clone(), *units)).count();
        let rows = contents.rows_of::<quipu_payments::Refund>();
        let there = rows.filter(|(_, row)| row.payment_id == *id && row.amount.get() == *units).count();
        if there < told {
            broken.push(format!("{id} was refunded {units} {told} times, and there are {there}"));
        }
    }
}
