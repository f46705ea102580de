//! What really became of money, as the bank knows it.

use std::collections::BTreeMap;

use quipu_commit::{Aggregate, Contents, Queue};
use quipu_merchants::Direction;
use quipu_payments::{ParkReason, Payment, PaymentType, RailEvent, Receipt, ReceivedEvent, Status};

use super::{Broken, Payments};
use crate::{
    rail::DESK,
    world::{
        bank::{Account, Fate},
        node::Surroundings,
    },
};

pub(super) fn verify(around: &Surroundings, payments: &Payments, broken: &mut Broken) {
    let contents = around.store.shared.memory.contents();
    let bank = around.bank.books();
    let (decided, filled) = {
        let book = around.book.open();
        (book.decided.clone(), book.filled.clone())
    };
    for payment in payments.values() {
        let mut accounts = bank.accounts.iter().filter(|(_, account)| account.payment == *payment.id());
        let first = accounts.next();
        if let (Some((one, _)), Some((other, _))) = (first, accounts.next()) {
            broken.push(format!("{} went to the bank as {one} and as {other}", payment.id()));
        }
        at_rest(&contents, payment, decided.contains(payment.id()), broken);
        if lacks_recipient(payment) && (first.is_some() || filled.contains(payment.id())) {
            broken.push(format!("{} went to the bank, or was filled in, and has no recipient", payment.id()));
        }
        if !decided.contains(payment.id()) {
            follows(payment, first.map(|(_, account)| account), broken);
            explained(&contents, payment, first.map(|(_, account)| account), broken);
        }
    }
    heard(&contents, &bank.acknowledged, broken);
}

/// Nothing is open but what waits for people: withdrawals that they carry out, or have taken into their hands.
fn at_rest(contents: &Contents, payment: &Payment, decided: bool, broken: &mut Broken) {
    let open = matches!(payment.status(), Status::Pending | Status::Processing);
    let withdrawal = payment.terms().kind.direction() == Direction::Withdrawal;
    let by_hand = withdrawal && (decided || payment.terms().rail == DESK);
    if open && !by_hand {
        broken.push(format!("{} is still {}", payment.id(), payment.status().as_str()));
    }
    let tenant = payment.terms().tenant;
    if let Some((work, at)) = contents.work_of(Queue::SETTLEMENT, tenant, payment.id().as_str()) {
        broken.push(format!("{} is {:?}, and due at {at}: {work:?}", payment.id(), payment.status()));
    }
}

/// Whether nobody knows where the money of a withdrawal should go.
fn lacks_recipient(payment: &Payment) -> bool {
    payment.terms().kind == PaymentType::WithdrawalPp && payment.state().payout.is_none()
}

/// A payment about which no person decided is where its money is.
fn follows(payment: &Payment, account: Option<&Account>, broken: &mut Broken) {
    use Status::{Cancelled, Completed, Expired, Failed, PartialRefund, Pending, Refunded};
    let fate = account.map(|account| account.fate);
    let (status, amount) = (payment.status(), payment.terms().amount.get());
    let fits = match (payment.terms().kind.direction(), fate) {
        (Direction::Deposit, Some(Fate::Paid(units))) if units == amount => {
            matches!(status, Completed | PartialRefund | Refunded)
        }
        (Direction::Deposit, Some(Fate::Failed)) => matches!(status, Failed | Expired | Cancelled),
        (Direction::Deposit, _) => matches!(status, Expired | Cancelled),
        (Direction::Withdrawal, Some(Fate::Paid(_))) => status == Completed,
        (Direction::Withdrawal, Some(Fate::Returned)) => status == Refunded,
        (Direction::Withdrawal, Some(Fate::Failed)) => status == Failed,
        (Direction::Withdrawal, None) if lacks_recipient(payment) => matches!(status, Cancelled | Expired),
        (Direction::Withdrawal, None | Some(Fate::Open)) => {
            status == Cancelled || status == Pending && payment.terms().rail == DESK
        }
    };
    if !fits {
        broken.push(format!("{} is {}, and at the bank {fate:?}", payment.id(), status.as_str()));
    }
}

/// What waits for a person about a payment, about which none decided, has a reason; and what has one waits.
fn explained(contents: &Contents, payment: &Payment, account: Option<&Account>, broken: &mut Broken) {
    let amount = payment.terms().amount.get();
    let short = matches!(account.map(|account| account.fate), Some(Fate::Paid(units)) if units != amount);
    let receipts = contents.all::<Receipt>(Aggregate::RECEIPT).map(|(_, receipt)| receipt);
    let mine = receipts.filter(|receipt| receipt.payment_id.as_ref() == Some(payment.id()));
    let reasons: Vec<_> = mine.map(|receipt| receipt.reason).collect();
    let right = reasons.iter().all(|reason| *reason == ParkReason::AmountMismatch);
    if short == reasons.is_empty() || !right {
        broken.push(format!("{} has {reasons:?} parked, and is at the bank {account:?}", payment.id()));
    }
}

/// Every word that was acknowledged is stored, once, and what was parked can be seen.
fn heard(contents: &Contents, acknowledged: &[(&'static str, RailEvent)], broken: &mut Broken) {
    let mut stored: BTreeMap<(&str, &str), Vec<&ReceivedEvent>> = BTreeMap::new();
    for (_, heard) in contents.rows_of::<ReceivedEvent>() {
        stored.entry((&heard.rail, &heard.event.id)).or_default().push(heard);
    }
    for (name, heard) in stored.iter().filter(|(_, heard)| heard.len() > 1) {
        broken.push(format!("{name:?} was stored {} times", heard.len()));
    }
    for (rail, event) in acknowledged {
        if !stored.contains_key(&(*rail, event.id.as_str())) {
            broken.push(format!("{event:?} was acknowledged and is not stored"));
        }
    }
    let receipts: Vec<_> =
        contents.all::<Receipt>(Aggregate::RECEIPT).map(|(_, receipt)| receipt.event_id.as_str()).collect();
    for heard in stored.values().flatten().filter(|heard| heard.outcome == "parked") {
        if !receipts.contains(&heard.event.id.as_str()) {
            broken.push(format!("{:?} was parked and cannot be seen", heard.event));
        }
    }
}
