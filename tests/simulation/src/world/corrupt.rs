//! What the planted faults do to a change on its way to the store.

use std::any::Any;

use quipu_commit::{Aggregate, Changes, Index, NameChange, Queue, Record, WorkChange};
use quipu_kernel::{Amount, Currency, Minor};
use quipu_ledger::{Account, Reason, Transaction};
use quipu_merchants::AuditRecord;
use quipu_payments::{ReceivedEvent, Refund};
use quipu_webhooks::{Event, EventName};

use super::fault::Fault;
use crate::store::MemoryStore;

fn is<T: Record>(row: &dyn Record) -> bool {
    (row as &dyn Any).is::<T>()
}

fn lose<T: Record>(changes: &mut Changes) {
    changes.rows.retain(|row| !is::<T>(&**row));
}

fn is_event(row: &dyn Record, wanted: impl Fn(&Event) -> bool) -> bool {
    (row as &dyn Any).downcast_ref::<Event>().is_some_and(wanted)
}

/// Breaks the rule in this change, if it has anything to do with it.
pub(super) fn corrupt(fault: Fault, changes: &mut Changes, store: &MemoryStore) {
    match fault {
        Fault::EventLost => {
            let completes = |event: &Event| event.name == EventName::PaymentCompleted;
            changes.rows.retain(|row| !is_event(&**row, completes));
        }
        Fault::EventTwice => {
            let first = changes.rows_of::<Event>().next().cloned();
            if let Some(event) = first {
                changes.add(event);
            }
        }
        Fault::EventForgetsPrevious => {
            for row in &mut changes.rows {
                let event = (&mut **row as &mut dyn Any).downcast_mut::<Event>();
                if let Some(status) = event.and_then(|event| event.status.as_mut()) {
                    status.previous = None;
                }
            }
        }
        Fault::CounterForgotten => changes.tallies.retain(|tally| tally.by > 0),
        Fault::ReceiptLost => changes.saves.retain(|save| save.aggregate != Aggregate::RECEIPT),
        Fault::WordNotStored => lose::<ReceivedEvent>(changes),
        Fault::RefundRowLost => lose::<Refund>(changes),
        Fault::AuditLineLost => lose::<AuditRecord>(changes),
        Fault::CustomerNeverFound => changes.joins.iter_mut().for_each(|join| join.by = None),
        Fault::KeyNotKept if changes.payment_id.is_some() => changes.idempotency = None,
        Fault::AdjustedTwice if changes.payment_id.is_none() => changes.idempotency = None,
        Fault::NonceNotBurnt => changes.nonce = None,
        Fault::RevisionUnguarded => {
            changes.expects.clear();
            for save in changes.saves.iter_mut().filter(|save| save.from.is_some()) {
                let standing = save.id.parse().ok().and_then(|id| store.payment_of(&id));
                save.from = standing.map(|payment| payment.state().revision).or(save.from);
            }
        }
        _ => {
            postings(fault, changes);
            names(fault, changes);
            work(fault, changes);
        }
    }
}

fn postings(fault: Fault, changes: &mut Changes) {
    let reason = match fault {
        Fault::CreditLost | Fault::CreditedTwice | Fault::CreditedInOtherCurrency | Fault::FeeForgotten => {
            Reason::DepositCompleted
        }
        Fault::FeeNotFrozen => Reason::WithdrawalCreated,
        Fault::FeeNotReleased => Reason::WithdrawalReleased,
        Fault::ReturnKept => Reason::WithdrawalReturned,
        _ => return,
    };
    let Some(place) = changes.transactions.iter().position(|it| it.reason() == reason) else { return };
    let posted = changes.transactions[place].clone();
    let currency = posted.currency();
    let sum = |account: Account| {
        let mine = posted.entries().iter().filter(|entry| entry.account == account);
        mine.map(|entry| entry.amount.get()).sum::<i64>()
    };
    let fee = changes.saved::<quipu_payments::Payment>().map_or(0, |payment| payment.state().fee.get());
    let without_fee = match fault {
        Fault::CreditLost | Fault::ReturnKept => {
            changes.transactions.remove(place);
            return;
        }
        Fault::CreditedTwice => {
            changes.transactions.push(posted);
            return;
        }
        Fault::CreditedInOtherCurrency => {
            let other = if currency == Currency::MXN { Currency::ARS } else { Currency::MXN };
            let entries: Vec<_> =
                posted.entries().iter().map(|entry| (entry.account, entry.amount)).collect();
            if let Ok(transaction) = Transaction::new(reason, other, &entries) {
                changes.transactions[place] = transaction;
            }
            return;
        }
        Fault::FeeForgotten => Amount::new(-sum(Account::Clearing))
            .and_then(|whole| Transaction::deposit_completed(currency, whole, Minor::ZERO)),
        Fault::FeeNotFrozen => Amount::new(sum(Account::Frozen) - fee)
            .and_then(|amount| Transaction::withdrawal_created(currency, amount, Minor::ZERO)),
        _ => Amount::new(sum(Account::Available) - fee)
            .and_then(|amount| Transaction::withdrawal_released(currency, amount, Minor::ZERO)),
    };
    if let Ok(transaction) = without_fee {
        changes.transactions[place] = transaction;
    }
}

fn names(fault: Fault, changes: &mut Changes) {
    changes.names.retain(|change| match (fault, change) {
        (Fault::ReferenceUnguarded, NameChange::Take(name, _)) => name.index != Index::REFERENCE,
        (Fault::ReferenceKept, NameChange::Release(..)) => false,
        (Fault::WordUnguarded, NameChange::Take(name, _)) => name.index != Index::RAIL_EVENT,
        _ => true,
    });
}

fn work(fault: Fault, changes: &mut Changes) {
    if fault == Fault::PostponementForgotten {
        for change in &mut changes.work {
            if let WorkChange::PutOff { claim, .. } = change {
                *change = WorkChange::Done(claim.clone());
            }
        }
    }
    if fault == Fault::CallLeftAlone {
        for change in &mut changes.work {
            if let WorkChange::Take(work) = change {
                *change = WorkChange::Put(work.clone());
            }
        }
    }
    if fault == Fault::AlertedTooEarly {
        for change in &mut changes.work {
            if let WorkChange::Put(work) = change
                && work.queue == Queue::REDIRECTPAY_ALERT
            {
                work.due = changes.at;
            }
        }
    }
    changes.work.retain(|change| {
        let (WorkChange::Put(work) | WorkChange::Take(work)) = change else { return true };
        match fault {
            Fault::SubmissionForgotten => work.action != "submit",
            Fault::ExpiryForgotten => work.action != "expire",
            Fault::AlertForgotten => work.queue != Queue::REDIRECTPAY_ALERT,
            _ => true,
        }
    });
}
