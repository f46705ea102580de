//! The bank: what really happens to money, and how badly it is told.
//!
//! It keeps its word about one thing: a reference is one payment, however often it is named. Everything else
//! may go wrong: calls get lost before or after they took effect, answers take seconds, callbacks come twice,
//! late, in the wrong order or not at all.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use quipu_kernel::{Amount, Clock as _, Currency, PaymentId, Timestamp, locked};
use quipu_merchants::Direction;
use quipu_payments::{Arrival, Failure, Payment, RailEvent, RailEventKind, RailStatus, Submission};

use super::engine::Alarm;
use crate::chance::Dice;

/// What became of a payment at the bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing yet.
    Open,
    /// So much was paid.
    Paid(i64),
    /// It will not be paid.
    Failed,
    /// It was paid out and came back.
    Returned,
}

/// What the bank knows under one reference.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    /// The payment that it was asked for.
    pub(crate) payment: PaymentId,
    pub(crate) is_payout: bool,
    pub(crate) amount: i64,
    pub(crate) currency: Currency,
    pub(crate) fate: Fate,
    /// The rail over which it tells.
    pub(crate) rail: &'static str,
}

/// Something that the bank will do.
#[derive(Debug, Clone)]
pub(crate) enum Intent {
    /// Decide about a payout.
    Decide(String),
    /// Send a payout back.
    SendBack(String),
    /// Tell.
    Tell(&'static str, RailEvent),
}

#[derive(Default)]
pub(crate) struct Books {
    pub(crate) accounts: BTreeMap<String, Account>,
    /// What the gateway has acknowledged.
    pub(crate) acknowledged: Vec<(&'static str, RailEvent)>,
    intents: Vec<(Timestamp, Intent)>,
    told: u64,
}

pub(crate) struct Bank {
    books: Mutex<Books>,
    dice: Mutex<Dice>,
    alarm: Alarm,
    moody: Mutex<bool>,
}

impl Bank {
    pub(crate) fn new(seed: u64, alarm: Alarm, moody: bool) -> Self {
        let dice = Mutex::new(Dice::new(seed ^ 0xba2c));
        Self { books: Mutex::default(), dice, alarm, moody: Mutex::new(moody) }
    }

    pub(crate) fn books(&self) -> MutexGuard<'_, Books> {
        locked(&self.books)
    }

    /// From now on nothing goes wrong.
    pub(crate) fn calm_down(&self) {
        *locked(&self.moody) = false;
    }

    /// What it has decided to do since this was last asked.
    pub(crate) fn intents(&self) -> Vec<(Timestamp, Intent)> {
        std::mem::take(&mut self.books().intents)
    }

    /// A number below `bound`; the same good one where nothing goes wrong.
    fn mood(&self, bound: u64) -> u64 {
        if *locked(&self.moody) { locked(&self.dice).below(bound) } else { bound - 1 }
    }

    fn intend(&self, books: &mut Books, after: Duration, intent: Intent) {
        // To the minute, so that much happens at once.
        let at = self.alarm.clock.now().plus(after).millis();
        let at = Timestamp::from_millis(at.div_euclid(60_000) * 60_000 + 60_000);
        books.intents.push((at, intent));
    }

    async fn takes(&self, time: Duration) {
        self.alarm.rings(self.alarm.clock.now().plus(time)).await;
    }

    /// Opens an account for a payment, once; answers whether it is good.
    pub(crate) fn open(&self, rail: &'static str, reference: &str, payment: &Payment) -> Fate {
        let mut books = self.books();
        if let Some(known) = books.accounts.get(reference) {
            return known.fate;
        }
        let terms = payment.terms();
        let is_payout = terms.kind.direction() == Direction::Withdrawal;
        let account = Account {
            payment: payment.id().clone(),
            is_payout,
            amount: terms.amount.get(),
            currency: terms.currency,
            fate: Fate::Open,
            rail,
        };
        books.accounts.insert(reference.to_owned(), account);
        if is_payout {
            let after = Duration::from_mins(locked(&self.dice).below(180));
            self.intend(&mut books, after, Intent::Decide(reference.to_owned()));
        }
        Fate::Open
    }

    /// A payout is handed over.
    pub(crate) async fn submit(&self, reference: &str, payment: &Payment, rail: &'static str) -> Submission {
        let took = || match self.open(rail, reference, payment) {
            Fate::Failed => Submission::Rejected(refusal()),
            _ => Submission::Accepted { provider_reference: None },
        };
        match self.mood(9) {
            0 => Submission::NotSent,
            1 => Submission::Unknown,
            2 => {
                took();
                Submission::Unknown
            }
            3 => {
                self.takes(Duration::from_secs(3)).await;
                took()
            }
            4 => {
                let submission = took();
                self.takes(Duration::from_secs(8)).await;
                submission
            }
            5 => {
                if self.books().accounts.contains_key(reference) {
                    return took();
                }
                self.open(rail, reference, payment);
                self.settle(reference, Fate::Failed);
                Submission::Rejected(refusal())
            }
            _ => took(),
        }
    }

    /// Instructions are asked for; answers whether they are given, refused, or nothing is heard.
    pub(crate) async fn instruct(&self, rail: &'static str, payment: &Payment) -> Option<bool> {
        let reference = payment.id().as_str();
        let took = || Some(self.open(rail, reference, payment) != Fate::Failed);
        match self.mood(9) {
            0 => None,
            1 => {
                took();
                None
            }
            2 => {
                self.takes(Duration::from_secs(5)).await;
                took()
            }
            3 => {
                let given = took();
                self.takes(Duration::from_secs(5)).await;
                given
            }
            4 => {
                if self.books().accounts.contains_key(reference) {
                    return took();
                }
                self.open(rail, reference, payment);
                self.settle(reference, Fate::Failed);
                Some(false)
            }
            _ => took(),
        }
    }

    /// It is asked how a payment stands.
    pub(crate) async fn ask(&self, reference: &str) -> RailStatus {
        match self.mood(6) {
            0 => return RailStatus::Silent,
            1 => self.takes(Duration::from_secs(4)).await,
            _ => {}
        }
        let books = self.books();
        let Some(account) = books.accounts.get(reference) else { return RailStatus::NotFound };
        let arrival = |units| {
            let amount = Amount::new(units);
            let arrival = |amount| Arrival { amount, currency: account.currency, provider_reference: None };
            amount.map_or(RailStatus::Silent, |amount| RailStatus::Completed(arrival(amount)))
        };
        match account.fate {
            Fate::Open => RailStatus::Pending,
            Fate::Paid(units) => arrival(units),
            Fate::Returned => arrival(account.amount),
            Fate::Failed => RailStatus::Failed(refusal()),
        }
    }

    /// A payer pays into an account, or is declined; where there is no account, or it is closed, nothing happens.
    pub(crate) fn pay(&self, reference: &str, units: Option<i64>) {
        let is_open = self.books().accounts.get(reference).is_some_and(|account| account.fate == Fate::Open);
        if is_open {
            self.settle(reference, units.map_or(Fate::Failed, Fate::Paid));
            self.tell_of(reference, 0);
        }
    }

    /// Carries out what was intended for a payout.
    pub(crate) fn decide(&self, reference: &str) {
        let is_open = self.books().accounts.get(reference).is_some_and(|account| account.fate == Fate::Open);
        if !is_open {
            return;
        }
        if locked(&self.dice).one_in(6) {
            self.settle(reference, Fate::Failed);
            return self.tell_of(reference, 3);
        }
        let amount = self.books().accounts.get(reference).map_or(0, |account| account.amount);
        self.settle(reference, Fate::Paid(amount));
        let comes_back = locked(&self.dice).one_in(5);
        let overtakes = comes_back && self.mood(3) == 0;
        if comes_back {
            let after = if overtakes { 0 } else { 1_500 };
            let intent = Intent::SendBack(reference.to_owned());
            let mut books = self.books();
            self.intend(&mut books, Duration::from_mins(after), intent);
        }
        self.tell_of(reference, if overtakes { 600 } else { 0 });
    }

    /// A payout comes back.
    pub(crate) fn send_back(&self, reference: &str) {
        self.settle(reference, Fate::Returned);
        self.tell_of(reference, 0);
    }

    fn settle(&self, reference: &str, fate: Fate) {
        if let Some(account) = self.books().accounts.get_mut(reference) {
            account.fate = fate;
        }
    }

    /// Tells how an account stands: once, twice or, of what can be asked for, not at all; and later by so many minutes.
    fn tell_of(&self, reference: &str, late: u64) {
        let mut books = self.books();
        let Some(account) = books.accounts.get(reference).cloned() else { return };
        let (kind, units) = match account.fate {
            Fate::Open => return,
            Fate::Paid(units) => (RailEventKind::Completed, Some(units)),
            Fate::Failed => (RailEventKind::Failed, None),
            Fate::Returned => (RailEventKind::Returned, Some(account.amount)),
        };
        books.told += 1;
        let event = RailEvent {
            id: format!("evt-{}", books.told),
            kind,
            rail_reference: reference.to_owned(),
            amount: units.and_then(|units| Amount::new(units).ok()),
            currency: units.map(|_| account.currency),
            occurred_at: None,
            provider_reference: None,
            code: None,
            message: None,
        };
        // A payout is asked about until its outcome is known; a deposit that has ended is not.
        let is_asked_about = account.is_payout && account.fate != Fate::Returned;
        let times = match self.mood(6) {
            0 if is_asked_about => 0,
            1 | 2 => 2,
            _ => 1,
        };
        for _ in 0..times {
            let later = late + if self.mood(3) == 0 { 30 } else { 0 };
            let intent = Intent::Tell(account.rail, event.clone());
            self.intend(&mut books, Duration::from_mins(later), intent);
        }
    }
}

fn refusal() -> Failure {
    Failure { code: "REFUSED".to_owned(), message: "the bank refused".to_owned() }
}
