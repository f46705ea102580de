//! The real thing: the use cases over the ports of some store.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use quipu_commit::{Changes, Commit, Queue, WorkInHand, WorkQueue};
use quipu_kernel::{Amount, Clock as _, Minor, Page, PaymentId, Tenant};
use quipu_ledger::{Account, Balance, LedgerReads, Transaction};
use quipu_merchants::{Actor, AuditRecord, ReturnUrls};
use quipu_payments::{
    CancelPayment, CancelReason, CreatePayment, Creation, CreationPorts, CrossTenantReads, DecidePayment,
    Draft, Payment, PaymentReads, ProcessRailEvent, RailEvent, RailEventKind, Rails, Receipt, ReceiptFilter,
    RefundOrder, RefundPayment, ResolveReceipt, SettlePayment, SettlementPorts, Status,
};
use serde_json::{Value, json};

use super::{
    DEPOSITED, FEE, FUNDED, MXN, WITHDRAWN,
    model::Model,
    step::{Step, name_of},
};
use crate::{chance::Random, clock::HandClock, rail::SilentRail, routes::FixedRoutes};

/// What the use cases need of a store.
#[derive(Clone)]
pub struct Ports {
    /// The write path.
    pub commit: Arc<dyn Commit>,
    /// Work that is due later.
    pub queue: Arc<dyn WorkQueue>,
    /// What merchants read.
    pub payments: Arc<dyn PaymentReads>,
    /// What rails and the operator read.
    pub all_payments: Arc<dyn CrossTenantReads>,
    /// Balances.
    pub ledger: Arc<dyn LedgerReads>,
}

impl Ports {
    /// The ports of a store.
    pub fn of<S: Commit + WorkQueue + PaymentReads + CrossTenantReads + LedgerReads + Clone + 'static>(
        store: &S,
    ) -> Self {
        let store = Arc::new(store.clone());
        Self {
            commit: store.clone(),
            queue: store.clone(),
            payments: store.clone(),
            all_payments: store.clone(),
            ledger: store,
        }
    }
}

/// What is seen of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) status: Status,
    pub(super) version: i32,
    pub(super) refunded: i64,
    pub(super) received: Option<i64>,
}

/// The use cases over the ports of some store.
pub(super) struct Real {
    tenant: Tenant,
    ports: Ports,
    clock: Arc<HandClock>,
    entropy: Arc<Random>,
    create: CreatePayment,
    settle: SettlePayment,
    hear: Arc<ProcessRailEvent>,
    decide: DecidePayment,
    refund: RefundPayment,
    resolve: ResolveReceipt,
    cancel: CancelPayment,
}

impl Real {
    pub(super) fn new(ports: Ports, tenant: Tenant, seed: u64) -> Self {
        let clock = Arc::new(HandClock::default());
        let entropy = Arc::new(Random::new(seed));
        let directory = Arc::new(FixedRoutes::with_fee(minor(FEE)));
        let rails = Arc::new(Rails::new(vec![Arc::new(SilentRail)]));
        let Ports { commit, queue, payments, all_payments, .. } = ports.clone();
        let (c, e) = (|| clock.clone(), || entropy.clone());
        let hear = Arc::new(ProcessRailEvent::new(commit.clone(), all_payments.clone(), c(), e()));
        Self {
            create: CreatePayment::new(CreationPorts {
                commit: commit.clone(),
                reads: payments.clone(),
                route_book: directory.clone(),
                rails: rails.clone(),
                clock: c(),
                entropy: e(),
            }),
            settle: SettlePayment::new(SettlementPorts {
                commit: commit.clone(),
                queue,
                reads: payments.clone(),
                rails,
                rail_events: hear.clone(),
                clock: c(),
                entropy: e(),
            }),
            decide: DecidePayment::new(commit.clone(), all_payments.clone(), c(), e()),
            refund: RefundPayment::new(commit.clone(), all_payments.clone(), c(), e()),
            resolve: ResolveReceipt::new(commit.clone(), all_payments, directory, c(), e()),
            cancel: CancelPayment::new(commit, payments, c(), e()),
            hear,
            tenant,
            ports,
            clock: clock.clone(),
            entropy: entropy.clone(),
        }
    }

    /// Time goes on, so that what is parked has an order.
    pub(super) fn tick(&self) {
        self.clock.advance(Duration::from_millis(1));
    }

    /// Puts money at the merchant's disposal.
    pub(super) async fn fund(&self) {
        let mut changes = Changes::new(self.tenant, self.clock.now());
        changes.transactions.push(Transaction::adjustment(MXN, minor(FUNDED)));
        let told = json!({ "amount": FUNDED });
        let about = format!("balance/{}/{MXN}", self.tenant);
        changes.add(self.line("balance.adjust").about(about).changing(Value::Null, told));
        self.ports.commit.commit(changes).await.expect("funded");
    }

    pub(super) async fn deposit(&self) -> PaymentId {
        self.created(&json!({
            "amount": DEPOSITED, "currency": "MXN", "method": "spei", "type": "deposit",
            "merchant_reference": "order-1", "customer": { "name": "Ana", "email": "ana@example.com" },
        }))
        .await
    }

    pub(super) async fn withdrawal(&self) -> PaymentId {
        self.created(&json!({
            "amount": WITHDRAWN, "currency": "MXN", "method": "spei", "type": "withdrawal",
            "merchant_reference": "out-1", "customer": { "name": "Ana", "email": "ana@example.com" },
            "payout": { "bank_account": "032180000118359719" },
        }))
        .await
    }

    async fn created(&self, body: &Value) -> PaymentId {
        let creation = Creation {
            tenant: self.tenant,
            draft: Draft::parse(body),
            default_return_urls: ReturnUrls::default(),
            nonce: None,
        };
        self.create.run(creation).await.expect("created").id().clone()
    }

    fn line(&self, action: &str) -> AuditRecord {
        let now = self.clock.now();
        AuditRecord::new(&*self.entropy, now, Actor::shell(), action, Some(self.tenant.merchant()))
    }

    /// Takes a step; what is refused is refused, and the model says whether it should have been.
    pub(super) async fn take(&self, id: &PaymentId, model: &Model, step: &Step) {
        match step {
            Step::Cancel => drop(self.cancel.run(self.tenant, id, CancelReason::default()).await),
            Step::Decide(decision) => {
                let line = || self.line("payment.decide").about(format!("payment/{id}"));
                let record = |_: &Payment, _: &Payment| line().into();
                drop(self.decide.run(id, *decision, None, &record).await);
            }
            Step::Refund(part) => {
                let order = RefundOrder { amount: amount(*part), reason: None, ticket_id: None };
                let line = || self.line("payment.refund").about(format!("payment/{id}"));
                let record = |_: &Payment, _: &Payment, _: &_| line().into();
                drop(self.refund.run(id, &order, &record).await);
            }
            Step::Hear(kind, right, name) => {
                let event = word(id, model.amount(), *kind, *right, *name);
                self.hear.run(SilentRail::NAME, &event).await.expect("heard");
            }
            Step::TimeOver => {
                let claim = WorkInHand {
                    queue: Queue::SETTLEMENT,
                    tenant: self.tenant,
                    subject: id.as_str().to_owned(),
                    action: "expire".to_owned(),
                    due: self.clock.now(),
                    attempts: 1,
                    turn: 1,
                };
                self.settle.attend(&claim).await.expect("attended");
            }
            Step::Resolve(resolution, name) => {
                let Some(name) = name else { return };
                let receipts = self.open_receipts(id).await;
                let event = format!("{id} {name}");
                let Some(receipt) = receipts.iter().find(|receipt| receipt.event_id == event) else { return };
                let record = |_: &Receipt, _: &Receipt| self.line("receipt.resolve").into();
                drop(self.resolve.run(&receipt.receipt_id, *resolution, &record).await);
            }
        }
    }

    async fn open_receipts(&self, id: &PaymentId) -> Vec<Receipt> {
        let filter =
            ReceiptFilter { payment_id: Some(id.clone()), resolved: Some(false), ..ReceiptFilter::default() };
        let page = Page::new(Page::MAX_LIMIT, 0).expect("a page");
        self.ports.all_payments.receipts(&filter, page).await.expect("read").0
    }

    /// The names of what is parked about a payment.
    pub(super) async fn parked(&self, id: &PaymentId) -> BTreeSet<String> {
        let prefix = format!("{id} ");
        let receipts = self.open_receipts(id).await.into_iter();
        receipts.map(|receipt| receipt.event_id.trim_start_matches(&prefix).to_owned()).collect()
    }

    pub(super) async fn seen(&self, id: &PaymentId) -> Seen {
        let payment = self.payment(id).await;
        let state = payment.state();
        Seen {
            status: state.status,
            version: state.version,
            refunded: state.refunded_amount.get(),
            received: state.received_amount.map(Amount::get),
        }
    }

    async fn payment(&self, id: &PaymentId) -> Payment {
        self.ports.payments.payment(self.tenant, id).await.expect("read").expect("a payment")
    }

    /// The events of a payment, each with the version that it tells of.
    pub(super) async fn events_of(&self, id: &PaymentId) -> BTreeSet<(i32, String)> {
        let timeline = self.ports.all_payments.timeline(&self.payment(id).await).await.expect("read");
        let count = timeline.events.len();
        let events = timeline.events.into_iter().map(|event| (event.status_version.unwrap_or(0), event.kind));
        let events: BTreeSet<_> = events.collect();
        assert_eq!(events.len(), count, "none twice: {events:?}");
        events
    }

    /// What a payment's entries add to `available` and to `frozen`.
    pub(super) async fn money_of(&self, id: &PaymentId) -> (i64, i64) {
        let timeline = self.ports.all_payments.timeline(&self.payment(id).await).await.expect("read");
        let sum = |account: Account| {
            let mine = timeline.entries.iter().filter(|entry| entry.account == account.as_str());
            mine.map(|entry| entry.amount.get()).sum()
        };
        (sum(Account::Available), sum(Account::Frozen))
    }

    pub(super) async fn balance(&self) -> Balance {
        self.ports.ledger.balance(self.tenant, MXN).await.expect("read")
    }
}

/// Word of a rail about a payment of so many units.
fn word(id: &PaymentId, units: i64, kind: RailEventKind, right: bool, name: u64) -> RailEvent {
    RailEvent {
        id: format!("{id} {}", name_of(kind, right, name)),
        kind,
        rail_reference: id.as_str().to_owned(),
        amount: Amount::new(if right { units } else { units - 1 }).ok(),
        currency: Some(MXN),
        occurred_at: None,
        provider_reference: None,
        code: None,
        message: None,
    }
}

fn minor(units: i64) -> Minor {
    Minor::new(units).expect("in range")
}

fn amount(units: i64) -> Amount {
    Amount::new(units).expect("in range")
}
