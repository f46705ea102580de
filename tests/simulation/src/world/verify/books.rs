//! The books, recomputed from what the documents say and from nothing in the code.

use std::{collections::BTreeMap, time::Duration};

use quipu_commit::{Aggregate, Contents};
use quipu_kernel::{Amount, CustomerId, Tenant, Timestamp};
use quipu_ledger::{Account, LedgerReads as _, Reason};
use quipu_merchants::{AuditRecord, Direction, Method};
use quipu_payments::{Alert, Payment, PaymentType, Receipt, Refund, Status};
use quipu_webhooks::Event;

use super::{Broken, FEE_BPS, FEE_FIXED, Payments};
use crate::{
    turns::finish,
    world::{FUNDED, node::Surroundings},
};

pub(super) fn verify(around: &Surroundings, payments: &Payments, broken: &mut Broken) {
    let memory = &around.store.shared.memory;
    match finish(memory.check()) {
        Ok(report) => broken.extend(report.breaches.iter().map(|breach| format!("{breach:?}"))),
        Err(error) => broken.push(error.to_string()),
    }
    let contents = memory.contents();
    for payment in payments.values() {
        money(&contents, payment, broken);
        refunds(&contents, payment, broken);
        times(&contents, payment, broken);
    }
    transitions(&contents, payments, broken);
    customers(payments, broken);
    adjustments(around, &contents, broken);
}

/// A share rounded half up, and the fixed part.
const fn fee_on(amount: i64) -> i64 {
    (amount * FEE_BPS as i64 + 5_000) / 10_000 + FEE_FIXED
}

/// What a payment's entries must add up to: available, frozen and revenue.
fn owed(payment: &Payment) -> [i64; 3] {
    let (terms, state) = (payment.terms(), payment.state());
    let amount = terms.amount.get();
    let arrived = state.received_amount.map_or(amount, Amount::get);
    let (fee_in, fee_out) = (fee_on(arrived), fee_on(amount));
    let refunded = state.refunded_amount.get();
    match (terms.kind.direction(), payment.status()) {
        (Direction::Deposit, Status::Completed | Status::PartialRefund | Status::Refunded) => {
            [arrived - fee_in - refunded, 0, fee_in]
        }
        (Direction::Withdrawal, Status::Pending | Status::Processing) => {
            [-(amount + fee_out), amount + fee_out, 0]
        }
        (Direction::Withdrawal, Status::Completed) => [-(amount + fee_out), 0, fee_out],
        (Direction::Withdrawal, Status::Refunded) => [-fee_out, 0, fee_out],
        _ => [0, 0, 0],
    }
}

fn money(contents: &Contents, payment: &Payment, broken: &mut Broken) {
    let mine: Vec<_> =
        contents.entries.iter().filter(|it| it.payment_id.as_ref() == Some(payment.id())).collect();
    if mine.iter().any(|it| it.currency != payment.terms().currency) {
        broken.push(format!("{} moved money in another currency", payment.id()));
    }
    let sum = |account| {
        let on = mine.iter().filter(|it| it.entry.account == account);
        on.map(|it| it.entry.amount.get()).sum::<i64>()
    };
    let found = [sum(Account::Available), sum(Account::Frozen), sum(Account::Revenue)];
    if found != owed(payment) {
        let status = payment.status().as_str();
        broken.push(format!("{} is {status}, moved {found:?}, must {:?}", payment.id(), owed(payment)));
    }
    for reason in [
        Reason::DepositCompleted,
        Reason::WithdrawalCreated,
        Reason::WithdrawalCompleted,
        Reason::WithdrawalReleased,
        Reason::WithdrawalReturned,
    ] {
        let mut transactions: Vec<_> =
            mine.iter().filter(|it| it.reason == reason).map(|it| it.transaction).collect();
        transactions.dedup();
        if transactions.len() > 1 {
            broken.push(format!("{} has {} times {}", payment.id(), transactions.len(), reason.as_str()));
        }
    }
}

fn refunds(contents: &Contents, payment: &Payment, broken: &mut Broken) {
    if payment.terms().kind.direction() == Direction::Withdrawal {
        return;
    }
    let rows = contents.rows_of::<Refund>().filter(|(_, refund)| refund.payment_id == *payment.id());
    let parts: Vec<_> = rows.map(|(_, refund)| refund.amount.get()).collect();
    let (sum, state) = (parts.iter().sum::<i64>(), payment.state());
    let paid = state.received_amount.unwrap_or(payment.terms().amount).get();
    if sum != state.refunded_amount.get() || sum > paid {
        broken.push(format!("{} was refunded {parts:?} of {paid}, and says {state:?}", payment.id()));
    }
    let subject = format!("payment/{}", payment.id());
    let lines = contents.rows_of::<AuditRecord>().filter(|(_, line)| line.subject == subject);
    let lines = lines.filter(|(_, line)| line.action == "payment.refund").count();
    if lines != parts.len() {
        broken.push(format!("{} was refunded {} times, by {lines} lines", payment.id(), parts.len()));
    }
}

/// When a payment came to a status.
fn reached(contents: &Contents, payment: &Payment, status: Status) -> Option<Timestamp> {
    let mut of_payment =
        contents.rows_of::<Event>().filter(|(_, event)| event.payment_id.as_ref() == Some(payment.id()));
    let reached =
        of_payment.find(|(_, event)| event.status.is_some_and(|step| step.status == status.as_str()));
    reached.map(|(_, event)| event.at)
}

/// Nothing is over before its time, and what takes too long was noticed.
fn times(contents: &Contents, payment: &Payment, broken: &mut Broken) {
    let terms = payment.terms();
    let over = reached(contents, payment, Status::Expired);
    if let (Some(at), Some(end)) = (over, terms.expires_at)
        && at < end
    {
        broken.push(format!("{} expired at {at}, before {end}", payment.id()));
    }
    if terms.method != Method::RedirectPay {
        return;
    }
    let last = [Status::Completed, Status::Failed, Status::Cancelled];
    let ended = last.into_iter().filter_map(|status| reached(contents, payment, status)).min();
    if let Some(at) = reached(contents, payment, Status::Cancelled)
        && at < terms.created_at.plus(Duration::from_hours(24))
    {
        broken.push(format!("{} was given up at {at}", payment.id()));
    }
    let slow = ended.is_none_or(|at| at > terms.created_at.plus(Duration::from_hours(8)));
    let alerts = contents.rows_of::<Alert>().filter(|(_, alert)| alert.payment_id == *payment.id());
    let alerted = alerts.map(|(_, alert)| alert.at).min();
    if slow && alerted.is_none() {
        broken.push(format!("{} was slow, and nobody was alerted", payment.id()));
    }
    if let Some(at) = alerted.filter(|at| *at < terms.created_at.plus(Duration::from_hours(6))) {
        broken.push(format!("{} was made at {}, and alerted at {at}", payment.id(), terms.created_at));
    }
}

/// Every step that events tell of is in the table of the documents.
fn transitions(contents: &Contents, payments: &Payments, broken: &mut Broken) {
    for (_, event) in contents.rows_of::<Event>() {
        let Some(payment) = event.payment_id.as_ref().and_then(|id| payments.get(id)) else { continue };
        let deposit = payment.terms().kind.direction() == Direction::Deposit;
        let Some(step) = event.status else { continue };
        let known = match (deposit, step.previous, step.status) {
            (true, None, "processing")
            | (true, Some("processing"), "completed" | "failed" | "expired")
            | (true, Some("expired" | "cancelled"), "completed")
            | (true, Some("completed" | "partial_refund"), "partial_refund" | "refunded")
            | (false, None, "pending")
            | (false, Some("pending"), "cancelled" | "processing" | "failed")
            | (false, Some("processing"), "failed" | "completed")
            | (false, Some("completed"), "refunded") => true,
            (false, Some("pending"), "expired") => payment.terms().kind == PaymentType::WithdrawalPp,
            (true, Some("processing"), "cancelled") => payment.terms().method == Method::RedirectPay,
            _ => false,
        };
        if !known {
            broken.push(format!("{}: {step:?} is no step", payment.id()));
        }
    }
}

/// A customer is found again.
fn customers(payments: &Payments, broken: &mut Broken) {
    let mut known: BTreeMap<(Tenant, Option<&str>), CustomerId> = BTreeMap::new();
    for payment in payments.values() {
        let customer = &payment.terms().customer;
        let key = (payment.terms().tenant, customer.email.as_deref());
        let found = *known.entry(key).or_insert(customer.id);
        if found != customer.id {
            broken.push(format!("{key:?} is {found} and {}", customer.id));
        }
    }
}

/// What people did to balances and receipts is there once, with its line.
fn adjustments(around: &Surroundings, contents: &Contents, broken: &mut Broken) {
    let mut sums: BTreeMap<Tenant, i64> = BTreeMap::new();
    let mut count = 0;
    let funding = contents.entries.iter().filter(|it| it.reason == Reason::Adjustment);
    for posted in funding.filter(|it| it.entry.account == Account::Available) {
        *sums.entry(posted.tenant).or_default() += posted.entry.amount.get();
        count += 1;
    }
    let book = around.book.open();
    for (tenant, sum) in sums {
        let mine = book.adjusted.values().filter(|(owner, ..)| *owner == tenant);
        let expected = 2 * FUNDED + mine.map(|(_, _, units)| units).sum::<i64>();
        if sum != expected {
            broken.push(format!("{tenant} was given {sum}, and people gave {expected}"));
        }
    }
    let lines =
        |action: &str| contents.rows_of::<AuditRecord>().filter(|(_, line)| line.action == action).count();
    // Two currencies of two merchants were funded without a line.
    if lines("balance.adjust") + 4 != count {
        broken.push(format!("{} corrections by {} lines", count - 4, lines("balance.adjust")));
    }
    let receipts = contents.all::<Receipt>(Aggregate::RECEIPT);
    let resolved = receipts.filter(|(_, receipt)| receipt.resolved.is_some()).count();
    if lines("receipt.resolve") != resolved {
        broken.push(format!("{resolved} receipts were resolved by {} lines", lines("receipt.resolve")));
    }
}
