//! A node of the gateway: its use cases, and the calls that reach it. What it remembers dies with it.

use std::sync::Arc;

use quipu_commit::{Answer, IdempotencyKey, IdempotencyRecord, KeptAnswer, KeyOwner, Nonce, WorkInHand};
use quipu_kernel::{
    Amount, Clock as _, Currency, Environment, MerchantId, PaymentId, StoreError, Tenant, Timestamp,
};
use quipu_merchants::{Actor, AuditRecord, ReturnUrls};
use quipu_payments::{
    AdjustBalance, Adjustment, CancelError, CancelPayment, CancelReason, CreateError, CreatePayment,
    Creation, CreationPorts, CrossTenantReads as _, DecideError, DecidePayment, Draft, FillError,
    FillRecipient, KeyedRequest, ManualDecision, Payment, ProcessRailEvent, RailEvent, Rails, RaiseAlert,
    Receipt, ReceiptFilter, Recorded, RefundOrder, RefundPayment, RefusalForm, Resolution, ResolveReceipt,
    SettlePayment, SettlementPorts,
};
use serde_json::{Value, json};

use super::{
    bank::Bank,
    book::{Book, Told},
    engine::Alarm,
    fault::Fault,
    plan::{Way, Wish},
    rails::{BankRail, DeskRail},
    sim_store::{Reader, SimStore},
};
use crate::{chance::Random, routes::FixedRoutes};

/// Whether an outsider got an answer for good, or has to ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Done,
    Again,
}

/// What all nodes of a world share.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) store: SimStore,
    pub(crate) bank: Arc<Bank>,
    pub(crate) book: Arc<Book>,
    pub(crate) alarm: Alarm,
    pub(crate) entropy: Arc<Random>,
    pub(crate) directory: Arc<FixedRoutes>,
    pub(crate) fault: Option<Fault>,
}

pub(crate) struct Node {
    pub(crate) around: Surroundings,
    create: CreatePayment,
    pub(crate) settle: SettlePayment,
    pub(crate) alert: RaiseAlert,
    hear: Arc<ProcessRailEvent>,
    decide: DecidePayment,
    refund: RefundPayment,
    resolve: ResolveReceipt,
    cancel: CancelPayment,
    fill: FillRecipient,
    adjust: AdjustBalance,
}

/// The account into which withdrawals go.
const RECIPIENT: &str = "032180000118359719";

struct Form;

impl RefusalForm for Form {
    fn refused(&self, error: &CreateError) -> Answer {
        let status = if matches!(error, CreateError::OutcomeUnknown { .. }) { 504 } else { 400 };
        Answer { status, body: error.to_string() }
    }
}

/// Whether nobody knows what happened.
fn is_unknown(error: &StoreError) -> bool {
    matches!(error, StoreError::OutcomeUnknown(_))
}

pub(crate) fn tenant_of(merchant: usize) -> Tenant {
    Tenant::new(MerchantId(i64::try_from(merchant).unwrap_or(0) + 1), Environment::Test)
}

impl Node {
    pub(crate) fn new(around: &Surroundings) -> Self {
        let Surroundings { store, bank, alarm, entropy, directory, fault, .. } = around.clone();
        let clock = alarm.clock.clone();
        let (c, e) = (|| clock.clone(), || entropy.clone());
        let rails: Vec<Arc<dyn quipu_payments::Rail>> =
            vec![Arc::new(BankRail::new(bank, fault)), Arc::new(DeskRail)];
        let rails = Arc::new(Rails::new(rails));
        let of = |reader| store.read_by(reader);
        let (any, hearing) = (of(Reader::Anybody), of(Reader::Hear));
        let (refunds, cancels) = (of(Reader::Refund), of(Reader::Cancel));
        let hear = Arc::new(ProcessRailEvent::new(hearing.clone(), hearing, c(), e()));
        Self {
            around: around.clone(),
            create: CreatePayment::new(CreationPorts {
                commit: any.clone(),
                reads: any.clone(),
                route_book: directory.clone(),
                rails: rails.clone(),
                clock: c(),
                entropy: e(),
            })
            .with_reports_to(hear.clone()),
            fill: FillRecipient::new(any.clone(), any.clone(), directory.clone(), rails.clone(), c()),
            settle: SettlePayment::new(SettlementPorts {
                commit: any.clone(),
                queue: any.clone(),
                reads: any.clone(),
                rails,
                rail_events: hear.clone(),
                clock: c(),
                entropy: e(),
            }),
            alert: RaiseAlert::new(any.clone(), any.clone(), c()),
            decide: DecidePayment::new(any.clone(), any.clone(), c(), e()),
            refund: RefundPayment::new(refunds.clone(), refunds, c(), e()),
            resolve: ResolveReceipt::new(any.clone(), any.clone(), directory, c(), e()),
            cancel: CancelPayment::new(cancels.clone(), cancels, c(), e()),
            adjust: AdjustBalance::new(any, c()),
            hear,
        }
    }

    fn now(&self) -> Timestamp {
        self.around.alarm.clock.now()
    }

    fn line(&self, action: &str, subject: String) -> AuditRecord {
        let entropy = &*self.around.entropy;
        AuditRecord::new(entropy, self.now(), Actor::shell(), action, Some(MerchantId(1))).about(subject)
    }

    /// A merchant asks for a payment. `signature` names this sending of the request; a copy has the same.
    pub(crate) async fn create(&self, number: u64, wish: &Wish, signature: &str) -> Call {
        let nonce = wish.signed.then(|| Nonce {
            value: format!("nonce-{number}-{signature}"),
            expires_at: self.now().plus(std::time::Duration::from_mins(10)),
        });
        let burnt = nonce.as_ref().map(|nonce| nonce.value.clone());
        let creation = Creation {
            tenant: tenant_of(wish.merchant),
            draft: Draft::parse(&body(number, wish)),
            default_return_urls: ReturnUrls::default(),
            nonce,
        };
        let outcome = if wish.keyed {
            let key = format!("key-{number}").parse::<IdempotencyKey>().expect("printable");
            let asked = KeyedRequest { key, body_hash: format!("hash-{number}"), form: Arc::new(Form) };
            let answered = self.create.run_keyed(creation, asked).await;
            answered.map(|answered| answered.answer)
        } else {
            let made = self.create.run(creation).await;
            made.map(|payment| quipu_payments::creation_answer(&payment))
        };
        self.note_creation(number, wish.keyed, burnt, outcome)
    }

    fn note_creation(
        &self,
        number: u64,
        keyed: bool,
        nonce: Option<String>,
        outcome: Result<Answer, CreateError>,
    ) -> Call {
        let mut book = self.around.book.open();
        let known = book.wishes.entry(number).or_default();
        let accepted = !matches!(
            &outcome,
            Err(CreateError::NonceUsed
                | CreateError::ProviderSilent
                | CreateError::Store(_)
                | CreateError::OutcomeUnknown { .. })
        );
        if let Some(nonce) = nonce.filter(|_| accepted) {
            *known.nonces.entry(nonce).or_default() += 1;
        }
        match outcome {
            Ok(answer) if answer.status == 504 => return Call::Again,
            Ok(answer) => {
                let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
                let id = body["transaction_id"].as_str().and_then(|id| id.parse().ok());
                known.told.push(id.map_or_else(|| Told::Refused(answer.body.clone()), Told::Made));
                if keyed {
                    known.answers.push(answer);
                }
            }
            Err(CreateError::NonceUsed) => known.told.push(Told::Replayed),
            Err(CreateError::OutcomeUnknown { id, .. }) => {
                known.perhaps.insert(id);
                return Call::Again;
            }
            Err(CreateError::Store(StoreError::Failed(what))) => {
                book.complaints.push(format!("creation {number}: {what}"));
            }
            // Of a key in use another call is still at work; its answer counts.
            Err(CreateError::ProviderSilent | CreateError::Store(_) | CreateError::IdempotencyKeyInUse) => {
                return Call::Again;
            }
            Err(CreateError::DuplicateReference { holder }) => {
                // A repeated call may find what the first call had made.
                known.told.push(Told::Refused(format!("DUPLICATE {holder}")));
            }
            Err(error) => known.told.push(Told::Refused(error.to_string())),
        }
        Call::Done
    }

    pub(crate) async fn cancel(&self, tenant: Tenant, id: &PaymentId) -> Call {
        match self.cancel.run(tenant, id, CancelReason::default()).await {
            Ok(_) => drop(self.around.book.open().cancelled.insert(id.clone())),
            Err(CancelError::Store(StoreError::Failed(what))) => self.complain("cancel", &what),
            Err(CancelError::Store(_)) => return Call::Again,
            Err(_) => {}
        }
        Call::Done
    }

    /// The recipient of a withdrawal says where the money goes.
    pub(crate) async fn fill(&self, tenant: Tenant, id: &PaymentId) -> Call {
        let entered = [("bank_account".to_owned(), RECIPIENT.to_owned())].into();
        match self.fill.run(tenant, id, &entered).await {
            Ok(()) => drop(self.around.book.open().filled.insert(id.clone())),
            Err(FillError::Store(StoreError::Failed(what))) => self.complain("fill", &what),
            Err(FillError::Store(_)) => return Call::Again,
            Err(_) => {}
        }
        Call::Done
    }

    pub(crate) async fn refund(&self, id: &PaymentId, units: i64) -> Call {
        let Ok(amount) = Amount::new(units) else { return Call::Done };
        let order = RefundOrder { amount, reason: None, ticket_id: None };
        let record =
            |_: &Payment, _: &Payment, _: &_| self.line("payment.refund", format!("payment/{id}")).into();
        match self.refund.run(id, &order, &record).await {
            Ok(_) => self.around.book.open().refunded.push((id.clone(), units)),
            Err(DecideError::Store(StoreError::Failed(what))) => self.complain("refund", &what),
            // Without a key of his own nobody repeats what may have happened.
            Err(_) => {}
        }
        Call::Done
    }

    pub(crate) async fn decide(&self, id: &PaymentId, decision: ManualDecision) -> Call {
        self.around.book.open().decided.insert(id.clone());
        let record = |_: &Payment, _: &Payment| self.line("payment.decide", format!("payment/{id}")).into();
        match self.decide.run(id, decision, None, &record).await {
            Err(DecideError::Store(StoreError::Failed(what))) => self.complain("decide", &what),
            Err(DecideError::Store(_)) => return Call::Again,
            _ => {}
        }
        Call::Done
    }

    /// Resolves the oldest receipt that is open.
    pub(crate) async fn resolve(&self, resolution: Resolution) -> Call {
        let filter = ReceiptFilter { resolved: Some(false), ..ReceiptFilter::default() };
        let found = self.around.store.receipts(&filter, quipu_kernel::Page::default()).await;
        let Some(receipt) = found.ok().and_then(|(receipts, _)| receipts.into_iter().next_back()) else {
            return Call::Done;
        };
        if let Some(id) = &receipt.payment_id {
            self.around.book.open().decided.insert(id.clone());
        }
        let record = |_: &Receipt, _: &Receipt| self.line("receipt.resolve", "receipt".to_owned()).into();
        match self.resolve.run(&receipt.receipt_id, resolution, &record).await {
            Err(DecideError::Store(StoreError::Failed(what))) => self.complain("resolve", &what),
            Err(DecideError::Store(_)) => return Call::Again,
            _ => {}
        }
        Call::Done
    }

    /// A person corrects a balance, under a key that holds whatever happens.
    pub(crate) async fn adjust(&self, number: u64, tenant: Tenant, currency: Currency, units: i64) -> Call {
        let key = format!("adjust-{number}").parse().expect("printable");
        let record = IdempotencyRecord {
            owner: KeyOwner::Operator,
            key,
            body_hash: String::new(),
            payment_id: None,
            answer: KeptAnswer::Given(Answer::success(String::new())),
            expires_at: self.now().plus(std::time::Duration::from_hours(24 * 365)),
        };
        let body = json!({
            "environment": tenant.environment(), "currency": currency, "amount": units, "reason": "a correction",
        });
        let Ok(adjustment) = Adjustment::parse(tenant.merchant(), &body) else { return Call::Done };
        let audit = self.line("balance.adjust", format!("adjustment/{number}"));
        let recorded = Recorded { audit, kept_answer: Some(record) };
        let known = (tenant, currency, units);
        match self.adjust.run(&adjustment, recorded).await {
            Ok(()) | Err(DecideError::IdempotencyKeyUsed) => {
                self.around.book.open().adjusted.insert(number, known);
            }
            Err(DecideError::Store(StoreError::Failed(what))) => self.complain("adjust", &what),
            Err(DecideError::Store(error)) => {
                if is_unknown(&error) {
                    self.around.book.open().adjusted_perhaps.insert(number, known);
                }
                return Call::Again;
            }
            Err(_) => {}
        }
        Call::Done
    }

    /// The bank calls back, until it is acknowledged.
    pub(crate) async fn hear(&self, rail: &'static str, event: &RailEvent) -> Call {
        let acknowledge = || self.around.bank.books().acknowledged.push((rail, event.clone()));
        let mut event = event.clone();
        match self.around.fault {
            Some(Fault::WordAcknowledgedTooEarly) => {
                acknowledge();
                if self.hear.run(rail, &event).await.is_err() {
                    return Call::Done;
                }
                return Call::Done;
            }
            Some(Fault::AmountUnchecked) if event.amount.is_some() => {
                let found = event.rail_reference.parse().ok();
                let found = found.and_then(|id| self.around.store.shared.memory.payment_of(&id));
                event.amount = found.map(|payment| payment.terms().amount).or(event.amount);
            }
            _ => {}
        }
        match self.hear.run(rail, &event).await {
            Ok(_) => {
                acknowledge();
                Call::Done
            }
            Err(_) => Call::Again,
        }
    }

    /// Takes on what a worker has claimed. What fails stays claimed until its lease ends.
    pub(crate) async fn attend(&self, work: &WorkInHand) {
        if let Err(error) = self.settle.attend(work).await {
            let told = error.to_string();
            if told.contains("meanwhile") || told.contains("missing") || told.contains("names") {
                self.complain("settle", &told);
            }
        }
    }

    fn complain(&self, of: &str, what: &str) {
        self.around.book.open().complaints.push(format!("{of}: {what}"));
    }
}

fn body(number: u64, wish: &Wish) -> Value {
    let (currency, method, kind) = match wish.way {
        Way::SpeiDeposit => ("MXN", "spei", "deposit"),
        Way::SpeiWithdrawal => ("MXN", "spei", "withdrawal"),
        Way::SpeiForm => ("MXN", "spei", "withdrawal_pp"),
        Way::Redirect => ("LKR", "redirectpay", "deposit"),
        Way::DeskDeposit => ("ARS", "bank_transfer", "deposit"),
        Way::DeskWithdrawal => ("ARS", "bank_transfer", "withdrawal"),
    };
    let mut body = json!({
        "amount": wish.amount, "currency": currency, "method": method, "type": kind,
        "merchant_reference": format!("order-{}", wish.reference), "external_id": number.to_string(),
        "customer": { "name": "Ana", "email": format!("customer-{}@example.com", wish.customer) },
    });
    if kind == "withdrawal" {
        body["payout"] = json!({ "recipient_name": "Ana", "bank_account": RECIPIENT });
    }
    if wish.hooked {
        body["webhook_url"] = json!(format!("https://shop.example/hook-{}", wish.customer));
        body["webhook_events"] = json!(["payment.created", "payment.completed", "payment.failed"]);
    }
    body
}
