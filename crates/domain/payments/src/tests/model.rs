//! Random histories of one deposit and one withdrawal, against a second, independently written model of status, money and
//! events.
//!
//! Every history follows from its seed, which is told where it fails. `QUIPU_SIMULATE=RUNS` runs that many, `QUIPU_SEED=N`
//! begins with another; `make simulate` does both.

use std::sync::Arc;

use quipu_commit::{Aggregate, Claimed, Queue};
use quipu_kernel::{Amount, Currency, PaymentId};
use quipu_merchants::{Actor, AuditRecord, Route};
use serde_json::json;

use super::world::{START, TENANT, World, amount, bank, deposit, minor, ready, with, withdrawal};
use crate::{
    CancelPayment, DecidePayment, HearRail, Issued, ManualDecision, Payment, PaymentReads, RailEvent,
    RailEventKind, Receipt, RefundOrder, RefundPayment, Resolution, ResolveReceipt, SettlePayment, Status,
};

/// Histories in an ordinary run.
const RUNS: u64 = 20_000;
/// Steps of one history.
const STEPS: u64 = 40;
const DEPOSITED: i64 = 1_000;
const WITHDRAWN: i64 = 500;
const FEE: i64 = 7;
const FUNDED: i64 = 10_000;
const EVERY_KIND: [RailEventKind; 3] = RailEventKind::ALL;

/// `SplitMix64`: small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// What may happen to a payment.
#[derive(Debug, Clone, Copy)]
enum Step {
    Cancel,
    Decide(ManualDecision),
    Refund(i64),
    /// Word of the rail: what, whether of the right amount, and under which of its names.
    Hear(RailEventKind, bool, u64),
    TimeOver,
    Resolve(Resolution),
}

fn any_step(dice: &mut Dice) -> Step {
    match dice.below(12) {
        0 => Step::Cancel,
        1..=3 => {
            let index = usize::try_from(dice.below(4)).expect("small");
            Step::Decide(ManualDecision::ALL[index])
        }
        4 | 5 => Step::Refund([1, 60, 400, DEPOSITED][usize::try_from(dice.below(4)).expect("small")]),
        6..=9 => {
            let kind = EVERY_KIND[usize::try_from(dice.below(3)).expect("small")];
            Step::Hear(kind, dice.below(4) > 0, dice.below(6))
        }
        10 => Step::TimeOver,
        _ if dice.below(2) == 0 => Step::Resolve(Resolution::Ignore),
        _ => Step::Resolve(Resolution::CompleteWithReceivedAmount),
    }
}

/// A payment as the model sees it.
#[derive(Debug, Clone)]
struct Model {
    is_deposit: bool,
    status: Status,
    version: i32,
    refunded: i64,
    received: Option<i64>,
    heard: Vec<String>,
    /// Parked and not resolved: whether it is money that could complete the payment.
    parked: Vec<bool>,
}

impl Model {
    fn new(is_deposit: bool) -> Self {
        let status = if is_deposit { Status::Processing } else { Status::Pending };
        Self { is_deposit, status, version: 1, refunded: 0, received: None, heard: vec![], parked: vec![] }
    }

    fn to(&mut self, status: Status) {
        self.status = status;
        self.version += 1;
        if !self.is_deposit && status == Status::Refunded {
            self.refunded = WITHDRAWN;
        }
    }

    /// What it adds to `available` and to `frozen`.
    fn money(&self) -> (i64, i64) {
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

    fn take(&mut self, step: Step) {
        use Status::{Cancelled, Completed, Expired, PartialRefund, Pending, Processing, Refunded};
        match step {
            Step::Cancel if !self.is_deposit && self.status == Pending => self.to(Cancelled),
            Step::Decide(decision) => self.decide(decision),
            Step::Refund(part) if self.is_deposit && matches!(self.status, Completed | PartialRefund) => {
                let left = self.received.unwrap_or(DEPOSITED) - self.refunded;
                if part <= left {
                    self.refunded += part;
                    self.to(if part == left { Refunded } else { PartialRefund });
                }
            }
            Step::Hear(kind, right, name) => self.hear(kind, right, &name_of(kind, right, name)),
            Step::TimeOver if self.is_deposit && self.status == Processing => self.to(Expired),
            Step::Resolve(Resolution::Ignore) if !self.parked.is_empty() => drop(self.parked.remove(0)),
            Step::Resolve(Resolution::CompleteWithReceivedAmount) => {
                let waits = matches!(self.status, Processing | Expired | Cancelled);
                if self.is_deposit && waits && self.parked.first() == Some(&true) {
                    self.parked.remove(0);
                    self.received = Some(DEPOSITED - 1);
                    self.to(Completed);
                }
            }
            _ => {}
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
            (true, Lost, Failed | Expired | Cancelled) => return,
            (false, Done, Pending) => &[Processing, Completed],
            (false, Done, Processing) => &[Completed],
            (false, Done, Completed | Refunded) => &[],
            (false, Lost, Pending | Processing) => &[Failed],
            (false, Lost, Failed | Cancelled | Expired | Refunded) => return,
            (false, Back, Processing) => &[Completed, Refunded],
            (false, Back, Completed) => &[Refunded],
            (false, Back, Refunded | Failed) => &[],
            _ => return self.parked.push(kind == Done),
        };
        // What a person accepted is an amount that the bank may repeat.
        let told = if right { self.amount() } else { self.amount() - 1 };
        let fits = told == self.amount() || Some(told) == self.received;
        if kind != Lost && !fits {
            return self.parked.push(kind == Done);
        }
        for status in moves {
            self.to(*status);
        }
    }

    const fn amount(&self) -> i64 {
        if self.is_deposit { DEPOSITED } else { WITHDRAWN }
    }
}

fn name_of(kind: RailEventKind, right: bool, name: u64) -> String {
    format!("{}-{right}-{name}", kind.as_str())
}

/// The real thing.
struct Real {
    world: World,
    settle: SettlePayment,
    hear: Arc<HearRail>,
    decide: DecidePayment,
    refund: RefundPayment,
    resolve: ResolveReceipt,
    cancel: CancelPayment,
}

impl Real {
    fn new() -> Self {
        let mut rail = bank();
        rail.expect_issue().returning(|_, _| Issued::default());
        let world = World::with_rail(rail);
        let mut routes = Route::of_new_merchant();
        for route in &mut routes {
            route.fee_fixed = minor(FEE);
        }
        world.store.set_routes(routes);
        world.fund(Currency::MXN, FUNDED);
        let (store, clock, entropy) = (world.store.clone(), world.clock.clone(), world.entropy.clone());
        let hear = Arc::new(HearRail::new(store.clone(), store.clone(), clock.clone(), entropy.clone()));
        let rails = world.rails.clone();
        let settle = SettlePayment::new(
            store.clone(),
            store.clone(),
            rails,
            hear.clone(),
            clock.clone(),
            entropy.clone(),
        );
        let decide = DecidePayment::new(store.clone(), store.clone(), clock.clone(), entropy.clone());
        let refund = RefundPayment::new(store.clone(), store.clone(), clock.clone(), entropy.clone());
        let resolve =
            ResolveReceipt::new(store.clone(), store.clone(), store.clone(), clock.clone(), entropy.clone());
        let cancel = CancelPayment::new(store.clone(), store, clock, entropy);
        Self { world, settle, hear, decide, refund, resolve, cancel }
    }

    fn line(&self) -> AuditRecord {
        let merchant = TENANT.merchant();
        AuditRecord::new(&*self.world.entropy, START, Actor::shell(), "test", merchant)
    }

    /// Takes a step; what is refused is refused, and the model says whether it should have been.
    fn take(&self, id: &PaymentId, units: i64, step: Step) {
        match step {
            Step::Cancel => drop(ready(self.cancel.run(TENANT, id, None))),
            Step::Decide(decision) => {
                let record = |_: &Payment, _: &Payment| (self.line(), None);
                drop(ready(self.decide.run(id, decision, None, &record)));
            }
            Step::Refund(part) => {
                let order = RefundOrder { amount: amount(part), reason: None, ticket_id: None };
                let record = |_: &Payment, _: &Payment, _: &_| (self.line(), None);
                drop(ready(self.refund.run(id, &order, &record)));
            }
            Step::Hear(kind, right, name) => {
                let event = RailEvent {
                    id: format!("{id} {}", name_of(kind, right, name)),
                    kind,
                    rail_reference: id.as_str().to_owned(),
                    amount: Amount::new(if right { units } else { units - 1 }).ok(),
                    currency: Some(Currency::MXN),
                    occurred_at: None,
                    code: None,
                    message: None,
                };
                ready(self.hear.run("simulator", &event)).expect("heard");
            }
            Step::TimeOver => {
                let claim = Claimed {
                    queue: Queue::SETTLEMENT,
                    tenant: TENANT,
                    subject: id.as_str().to_owned(),
                    action: "expire".to_owned(),
                    due: START,
                    attempts: 1,
                    turn: 1,
                };
                ready(self.settle.attend(&claim)).expect("attended");
            }
            Step::Resolve(resolution) => {
                let Some(receipt) = self.first_parked(id) else { return };
                let record = |_: &Receipt, _: &Receipt| (self.line(), None);
                drop(ready(self.resolve.run(&receipt, resolution, &record)));
            }
        }
    }

    /// The eldest receipt of a payment that nobody has decided about.
    fn first_parked(&self, id: &PaymentId) -> Option<String> {
        let contents = self.world.store.contents();
        let all = contents.all::<Receipt>(Aggregate::RECEIPT).map(|(_, receipt)| receipt);
        let open =
            all.filter(|receipt| receipt.payment_id.as_ref() == Some(id) && receipt.resolution.is_none());
        // The clock stands, so the order of time is that of the rows in which they were heard.
        let heard: Vec<_> =
            contents.rows_of::<crate::HeardEvent>().map(|(_, heard)| &heard.event.id).collect();
        let place = |receipt: &&Receipt| heard.iter().position(|name| **name == receipt.event_id);
        open.min_by_key(place).map(|receipt| receipt.receipt_id.clone())
    }

    fn payment(&self, id: &PaymentId) -> Payment {
        ready(PaymentReads::payment(&*self.world.store, TENANT, id)).expect("read").expect("a payment")
    }
}

/// One history. Panics where model and code disagree.
fn run(seed: u64) {
    let mut dice = Dice(seed);
    let real = Real::new();
    let body = with(deposit(), &json!({ "amount": DEPOSITED }));
    let paid_in = real.world.created(&body).id().clone();
    let body = with(withdrawal(), &json!({ "amount": WITHDRAWN }));
    let paid_out = real.world.created(&body).id().clone();
    let mut models = [(paid_in, Model::new(true)), (paid_out, Model::new(false))];
    for number in 0..dice.below(STEPS) {
        let chosen = usize::try_from(dice.below(2)).expect("small");
        let step = any_step(&mut dice);
        let (id, model) = &mut models[chosen];
        let before = model.clone();
        model.take(step);
        real.take(id, model.amount(), step);
        let payment = real.payment(id);
        let state = payment.state();
        let told = (state.status, state.version, state.refunded_amount.get());
        let expected = (model.status, model.version, model.refunded);
        assert_eq!(told, expected, "seed {seed}, step {number}: {step:?} on {before:?}");
    }
    let (mut available, mut frozen) = (FUNDED, 0);
    for (id, model) in &models {
        let (free, held) = model.money();
        (available, frozen) = (available + free, frozen + held);
        let rows = real.world.store.rows();
        let of_payment = rows.events.iter().filter(|event| event.payment_id.as_ref() == Some(id));
        let steps = of_payment.filter(|event| event.name.as_str().starts_with("payment.")).count();
        assert_eq!(i32::try_from(steps), Ok(model.version), "seed {seed}: an event for each version");
    }
    let balance = real.world.store.balance_of(TENANT, Currency::MXN);
    assert_eq!((balance.available.get(), balance.frozen.get()), (available, frozen), "seed {seed}");
    assert!(balance.is_balanced(), "seed {seed}");
}

#[test]
fn random_histories_agree_with_the_model() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("QUIPU_SEED").unwrap_or(1);
    let runs = number("QUIPU_SIMULATE").unwrap_or(RUNS);
    for seed in first..first.saturating_add(runs) {
        run(seed);
    }
}
