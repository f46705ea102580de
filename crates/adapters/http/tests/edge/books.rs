//! Payments and balances in memory, judged by the ledger's own rules.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

use async_trait::async_trait;
use quipu_kernel::{Currency, CustomerId, Page, PaymentId, Tenant, Timestamp};
use quipu_ledger::{Balance, CheckReport, LedgerReads, LedgerUnavailable};
use quipu_merchants::{Route, StoreUnavailable};
use quipu_payments::{
    Audience, Changes, Commit, CommitError, Committed, Customer, IdempotencyKey, Issued, KeptAnswer, Payment,
    PaymentChange, PaymentFilter, PaymentReads, Rail, RailStatus, Refusal, Submission,
};

#[derive(Default)]
struct Rows {
    payments: BTreeMap<PaymentId, Payment>,
    balances: BTreeMap<(Tenant, Currency), Balance>,
    nonces: BTreeSet<String>,
    kept: BTreeMap<(Tenant, Audience, String), (String, u16, String)>,
}

#[derive(Default)]
pub(crate) struct FakeBooks {
    rows: Mutex<Rows>,
    /// What every read of a balance answers, if anything.
    pub(crate) ledger_failure: Mutex<Option<LedgerUnavailable>>,
}

impl Rows {
    fn apply(&mut self, changes: Changes) -> Result<Committed, Refusal> {
        if let Some(nonce) = changes.nonce
            && !self.nonces.insert(nonce.value)
        {
            return Err(Refusal::NonceUsed);
        }
        let key = changes.idempotency.as_ref();
        let key = key.map(|record| (changes.tenant, record.audience, record.key.as_str().to_owned()));
        if key.is_some_and(|key| self.kept.contains_key(&key)) {
            return Err(Refusal::IdempotencyKeyUsed);
        }
        let mut balances = self.balances.clone();
        for transaction in &changes.transactions {
            let currency = transaction.currency();
            let balance = balances.entry((changes.tenant, currency)).or_insert(Balance::zero(currency));
            *balance = balance.after(transaction)?;
        }
        if let Some(foreseen) = &changes.foreseen {
            let key = (changes.tenant, foreseen.currency());
            balances.get(&key).copied().unwrap_or(Balance::zero(key.1)).after(foreseen)?;
        }
        let payment = changes.payment.map(|change| match change {
            PaymentChange::Created(payment) | PaymentChange::Moved { payment, .. } => payment,
        });
        if let Some(payment) = &payment {
            let holder = self.payments.values().find(|other| {
                other.holds_reference()
                    && other.id() != payment.id()
                    && other.terms().merchant_reference == payment.terms().merchant_reference
            });
            if let Some(holder) = holder {
                return Err(Refusal::ReferenceTaken { holder: holder.id().clone() });
            }
            self.payments.insert(payment.id().clone(), (**payment).clone());
        }
        self.balances = balances;
        let mut answer = None;
        if let Some(record) = changes.idempotency {
            let (status, sealed) = match (&record.answer, &payment) {
                (KeptAnswer::FromPayment(form), Some(payment)) => {
                    let created = form.created(payment);
                    let kept = (created.status, form.sealed(&created));
                    answer = Some(created);
                    kept
                }
                (KeptAnswer::Sealed { status, body }, _) => (*status, body.clone()),
                (KeptAnswer::FromPayment(_), None) => panic!("an answer of no payment"),
            };
            let key = (changes.tenant, record.audience, record.key.as_str().to_owned());
            self.kept.insert(key, (record.body_hash, status, sealed));
        }
        Ok(Committed { payment, answer })
    }
}

impl FakeBooks {
    /// Everything that is kept under idempotency keys, as it is kept.
    pub(crate) fn kept(&self) -> Vec<String> {
        let rows = self.rows.lock().expect("no test panics with the lock");
        rows.kept.values().map(|(_, _, sealed)| sealed.clone()).collect()
    }
}

#[async_trait]
impl Commit for FakeBooks {
    async fn commit(&self, changes: Changes) -> Result<Committed, CommitError> {
        Ok(self.rows.lock().expect("no test panics with the lock").apply(changes)?)
    }
}

#[async_trait]
impl PaymentReads for FakeBooks {
    async fn payment(&self, tenant: Tenant, id: &PaymentId) -> Result<Option<Payment>, StoreUnavailable> {
        let rows = self.rows.lock().expect("no test panics with the lock");
        Ok(rows.payments.get(id).filter(|payment| payment.terms().tenant == tenant).cloned())
    }

    async fn payments(
        &self,
        tenant: Tenant,
        filter: &PaymentFilter,
        page: Page,
    ) -> Result<(Vec<Payment>, u64), StoreUnavailable> {
        let rows = self.rows.lock().expect("no test panics with the lock");
        let wanted = |payment: &&Payment| {
            payment.terms().tenant == tenant && filter.status.is_none_or(|it| it == payment.status())
        };
        let all: Vec<_> = rows.payments.values().rev().filter(wanted).cloned().collect();
        let skipped = usize::try_from(page.offset()).expect("small");
        let cut = all.iter().skip(skipped).take(page.limit() as usize).cloned().collect();
        Ok((cut, all.len() as u64))
    }

    async fn customer(&self, _: Tenant, _: CustomerId) -> Result<Option<Customer>, StoreUnavailable> {
        Ok(None)
    }

    async fn kept_answer(
        &self,
        tenant: Tenant,
        audience: Audience,
        key: &IdempotencyKey,
        _: Timestamp,
    ) -> Result<Option<(String, u16, String)>, StoreUnavailable> {
        let rows = self.rows.lock().expect("no test panics with the lock");
        Ok(rows.kept.get(&(tenant, audience, key.as_str().to_owned())).cloned())
    }
}

impl FakeBooks {
    fn check_ledger(&self) -> Result<(), LedgerUnavailable> {
        self.ledger_failure.lock().expect("no test panics with the lock").clone().map_or(Ok(()), Err)
    }
}

#[async_trait]
impl LedgerReads for FakeBooks {
    async fn balance(&self, tenant: Tenant, currency: Currency) -> Result<Balance, LedgerUnavailable> {
        self.check_ledger()?;
        let rows = self.rows.lock().expect("no test panics with the lock");
        Ok(rows.balances.get(&(tenant, currency)).copied().unwrap_or(Balance::zero(currency)))
    }

    async fn balances(&self, tenant: Tenant) -> Result<Vec<Balance>, LedgerUnavailable> {
        self.check_ledger()?;
        let rows = self.rows.lock().expect("no test panics with the lock");
        Ok(rows.balances.iter().filter(|((owner, _), _)| *owner == tenant).map(|(_, it)| *it).collect())
    }

    async fn check(&self) -> Result<CheckReport, LedgerUnavailable> {
        Ok(CheckReport::default())
    }
}

/// A rail that takes everything and settles nothing.
pub(crate) struct PatientRail;

#[async_trait]
impl Rail for PatientRail {
    fn name(&self) -> &'static str {
        "simulator"
    }

    fn issue(&self, payment: &Payment, _: &Route) -> Issued {
        // The customer of this name meets a rail that is broken beyond all ports.
        assert_ne!(payment.terms().customer.name.as_deref(), Some("Panic"), "told to panic: secret detail");
        Issued::default()
    }

    async fn submit(&self, payment: &Payment) -> Submission {
        Submission::Taken(payment.terms().created_at)
    }

    async fn ask(&self, _: &Payment) -> RailStatus {
        RailStatus::Pending(None)
    }
}
