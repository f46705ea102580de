//! A payment as the model sees it: written from the documents, and knowing nothing of the code.

use std::{collections::BTreeSet, iter};

use quipu_payments::{ManualDecision, RailEventKind, Resolution, Status};

use super::{
    DEPOSITED, FEE, WITHDRAWN,
    real::Seen,
    step::{Step, name_of},
};

/// A payment as the model sees it.
#[derive(Debug, Clone)]
pub(super) struct Model {
    is_deposit: bool,
    status: Status,
    version: i32,
    told: BTreeSet<(i32, String)>,
    refunded: i64,
    received: Option<i64>,
    heard: Vec<String>,
    /// Parked and not resolved: the name, and whether it is money that could complete the payment.
    parked: Vec<(String, bool)>,
}

impl Model {
    pub(super) fn new(is_deposit: bool) -> Self {
        let status = if is_deposit { Status::Processing } else { Status::Pending };
        let mut made = Self {
            is_deposit,
            status,
            version: 1,
            told: BTreeSet::new(),
            refunded: 0,
            received: None,
            heard: vec![],
            parked: vec![],
        };
        made.tell(iter::once("payment.created").chain((!is_deposit).then_some("payout.created")));
        made
    }

    /// These events tell of its version.
    fn tell<'e>(&mut self, events: impl Iterator<Item = &'e str>) {
        self.told.extend(events.map(|event| (self.version, event.to_owned())));
    }

    /// Its events, each with the version that it tells of.
    pub(super) const fn events(&self) -> &BTreeSet<(i32, String)> {
        &self.told
    }

    /// What is to be seen of it.
    pub(super) fn seen(&self) -> Seen {
        Seen { status: self.status, version: self.version, refunded: self.refunded, received: self.received }
    }

    /// The name of what has been parked the longest.
    pub(super) fn first_parked(&self) -> Option<String> {
        self.parked.first().map(|(name, _)| name.clone())
    }

    /// The names of all that is parked.
    pub(super) fn parked_names(&self) -> BTreeSet<String> {
        self.parked.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Its amount, in minor units.
    pub(super) const fn amount(&self) -> i64 {
        if self.is_deposit { DEPOSITED } else { WITHDRAWN }
    }

    /// What it adds to `available` and to `frozen`.
    pub(super) fn money(&self) -> (i64, i64) {
        let held = WITHDRAWN + FEE;
        match (self.is_deposit, self.status) {
            (true, Status::Completed | Status::PartialRefund | Status::Refunded) => {
                (self.received.unwrap_or(DEPOSITED) - FEE - self.refunded, 0)
            }
            (false, Status::Pending | Status::Processing) => (-held, held),
            (false, Status::Completed) => (-held, 0),
            (false, Status::Refunded) => (-FEE, 0),
            _ => (0, 0),
        }
    }

    /// What follows from a step.
    pub(super) fn take(&mut self, step: &Step) {
        use Status::{Cancelled, Completed, Expired, PartialRefund, Pending, Processing, Refunded};
        match step {
            Step::Cancel if !self.is_deposit && self.status == Pending => self.to(Cancelled),
            Step::Decide(decision) => self.decide(*decision),
            Step::Refund(part) if self.is_deposit && matches!(self.status, Completed | PartialRefund) => {
                let left = self.received.unwrap_or(DEPOSITED) - self.refunded;
                if *part <= left {
                    self.refunded += part;
                    self.to(if *part == left { Refunded } else { PartialRefund });
                }
            }
            Step::Hear(kind, right, name) => self.hear(*kind, *right, &name_of(*kind, *right, *name)),
            Step::TimeOver if self.is_deposit && self.status == Processing => self.to(Expired),
            Step::Resolve(resolution, Some(name)) => self.resolve(*resolution, name),
            _ => {}
        }
    }

    fn to(&mut self, status: Status) {
        self.status = status;
        self.version += 1;
        let (of_payment, of_payout) = match status {
            Status::Pending => panic!("nothing returns to its beginning"),
            Status::Processing => ("payment.processing", None),
            Status::Completed => ("payment.completed", Some("payout.completed")),
            Status::Failed | Status::Expired => ("payment.failed", Some("payout.failed")),
            Status::Cancelled => ("payment.cancelled", Some("payout.failed")),
            Status::PartialRefund | Status::Refunded => ("payment.refunded", Some("payout.failed")),
        };
        let of_payout = of_payout.filter(|_| !self.is_deposit);
        self.tell(iter::once(of_payment).chain(of_payout));
        if !self.is_deposit && status == Status::Refunded {
            self.refunded = WITHDRAWN;
        }
    }

    fn decide(&mut self, decision: ManualDecision) {
        use ManualDecision::{Complete, Fail, Return, Submit};
        use Status::{Cancelled, Completed, Expired, Failed, Pending, Processing, Refunded};
        match (self.is_deposit, decision, self.status) {
            (false, Submit, Pending) => self.to(Processing),
            (false, Complete, Pending) => {
                self.to(Processing);
                self.to(Completed);
            }
            (false, Complete, Processing) | (true, Complete, Processing | Expired | Cancelled) => {
                self.to(Completed);
            }
            (false, Fail, Pending | Processing) | (true, Fail, Processing) => self.to(Failed),
            (false, Return, Completed) => self.to(Refunded),
            _ => {}
        }
    }

    fn resolve(&mut self, resolution: Resolution, name: &str) {
        use Status::{Cancelled, Completed, Expired, Processing};
        let Some(place) = self.parked.iter().position(|(parked, _)| parked == name) else { return };
        let waits = matches!(self.status, Processing | Expired | Cancelled);
        match resolution {
            Resolution::Ignore => drop(self.parked.remove(place)),
            Resolution::CompleteWithReceivedAmount if self.is_deposit && waits && self.parked[place].1 => {
                self.parked.remove(place);
                self.received = Some(DEPOSITED - 1);
                self.to(Completed);
            }
            Resolution::CompleteWithReceivedAmount => {}
        }
    }

    #[expect(clippy::match_same_arms, reason = "a row stands for itself")]
    fn hear(&mut self, kind: RailEventKind, right: bool, name: &str) {
        use RailEventKind::{Completed as Done, Failed as Lost, Returned as Back};
        use Status::{Cancelled, Completed, Expired, Failed, PartialRefund, Pending, Processing, Refunded};
        if self.heard.iter().any(|heard| heard == name) {
            return;
        }
        self.heard.push(name.to_owned());
        let moves: &[Status] = match (self.is_deposit, kind, self.status) {
            (true, Done, Processing | Expired | Cancelled) => &[Completed],
            (true, Done, Completed | PartialRefund | Refunded) => &[],
            (true, Lost, Processing) => &[Failed],
            (true, Lost, Failed | Expired | Cancelled) => &[],
            (false, Done, Pending) => &[Processing, Completed],
            (false, Done, Processing) => &[Completed],
            (false, Done, Completed | Refunded) => &[],
            (false, Lost, Pending | Processing) => &[Failed],
            (false, Lost, Failed | Cancelled | Expired | Refunded) => &[],
            (false, Back, Processing) => &[Completed, Refunded],
            (false, Back, Completed) => &[Refunded],
            (false, Back, Refunded) => &[],
            _ => return self.parked.push((name.to_owned(), kind == Done)),
        };
        // Once a person has accepted another amount, that is what was booked.
        let told = if right { self.amount() } else { self.amount() - 1 };
        let fits = told == self.received.unwrap_or(self.amount());
        // The same part once more may be the rest.
        let is_the_rest = kind == Done && self.received.is_some();
        if !fits || is_the_rest {
            return self.parked.push((name.to_owned(), kind == Done));
        }
        for status in moves {
            self.to(*status);
        }
    }
}
