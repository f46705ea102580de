//! A store in memory that judges as the port says.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::poll_fn,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
};

use async_trait::async_trait;
use quipu_kernel::{Currency, CustomerId, Minor, Page, PaymentId, Tenant, Timestamp};
use quipu_ledger::{Balance, CheckReport, LedgerReads, LedgerUnavailable, Transaction};
use quipu_merchants::{Beneficiary, Route, StoreUnavailable};
use quipu_webhooks::Event;

use super::world::failed;
use crate::{
    Audience, Changes, Commit, CommitError, Committed, Customer, IdempotencyKey, KeptAnswer, Payment,
    PaymentChange, PaymentFilter, PaymentReads, Refusal,
};

/// What is kept under a key: the hash of the body, status code and sealed body, and until when.
type Kept = (String, u16, String, Timestamp);

#[derive(Default)]
pub(super) struct Rows {
    pub(super) payments: BTreeMap<PaymentId, Payment>,
    pub(super) balances: BTreeMap<(Tenant, Currency), Balance>,
    pub(super) events: Vec<Event>,
    pub(super) nonces: BTreeSet<String>,
    pub(super) kept: BTreeMap<String, Kept>,
    pub(super) customers: BTreeMap<CustomerId, Customer>,
    pub(super) beneficiaries: Vec<Beneficiary>,
    pub(super) routes: Arc<[Route]>,
    pub(super) commits: Vec<Changes>,
}

#[derive(Default)]
pub(super) struct FakeStore {
    rows: Mutex<Rows>,
    /// While set, commits wait.
    pub(super) holds: AtomicBool,
    /// While set, everything fails.
    pub(super) fails: AtomicBool,
    /// The next commit finds that this has been committed just before it.
    intruder: Mutex<Option<Changes>>,
}

impl FakeStore {
    pub(super) fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().expect("no test panics with the lock")
    }

    pub(super) fn set_routes(&self, routes: Vec<Route>) {
        self.rows().routes = routes.into();
    }

    pub(super) fn add_payment(&self, payment: Payment) {
        self.rows().payments.insert(payment.id().clone(), payment);
    }

    pub(super) fn payment(&self, id: &PaymentId) -> Payment {
        self.rows().payments.get(id).expect("a payment").clone()
    }

    pub(super) fn adjust(&self, tenant: Tenant, currency: Currency, amount: Minor) {
        let mut rows = self.rows();
        let balance = rows.balances.entry((tenant, currency)).or_insert(Balance::zero(currency));
        *balance = balance.after(&Transaction::adjustment(currency, amount)).expect("in range");
    }

    pub(super) fn balance_of(&self, tenant: Tenant, currency: Currency) -> Balance {
        self.rows().balances.get(&(tenant, currency)).copied().unwrap_or(Balance::zero(currency))
    }

    pub(super) fn intrude(&self, changes: Changes) {
        *self.intruder.lock().expect("no test panics with the lock") = Some(changes);
    }

    fn check(&self) -> Result<(), StoreUnavailable> {
        if self.fails.load(Ordering::Relaxed) { failed() } else { Ok(()) }
    }
}

impl Rows {
    fn apply(&mut self, changes: Changes) -> Result<Committed, Refusal> {
        self.commits.push(changes.clone());
        if let Some(nonce) = &changes.nonce
            && !self.nonces.insert(nonce.value.clone())
        {
            return Err(Refusal::NonceUsed);
        }
        let key = changes.idempotency.as_ref().map(|record| record.key.as_str().to_owned());
        if key.as_ref().is_some_and(|key| self.kept.contains_key(key)) {
            return Err(Refusal::IdempotencyKeyUsed);
        }
        self.judge_payment(changes.payment.as_ref())?;
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
        self.balances = balances;
        self.events.extend(changes.events);
        let payment = changes.payment.map(|change| match change {
            PaymentChange::Created(payment) | PaymentChange::Moved { payment, .. } => payment,
        });
        if let Some(payment) = &payment {
            self.payments.insert(payment.id().clone(), (**payment).clone());
        }
        let mut answer = None;
        if let Some(record) = changes.idempotency {
            let (status, body) = match (&record.answer, &payment) {
                (KeptAnswer::FromPayment(form), Some(payment)) => {
                    let created = form.created(payment);
                    let sealed = (created.status, form.sealed(&created));
                    answer = Some(created);
                    sealed
                }
                (KeptAnswer::Sealed { status, body }, _) => (*status, body.clone()),
                (KeptAnswer::FromPayment(_), None) => panic!("an answer of no payment"),
            };
            self.kept
                .insert(record.key.as_str().to_owned(), (record.body_hash, status, body, record.expires_at));
        }
        Ok(Committed { payment, answer })
    }

    fn judge_payment(&self, change: Option<&PaymentChange>) -> Result<(), Refusal> {
        match change {
            Some(PaymentChange::Created(payment)) => {
                let same = |other: &&Payment| {
                    let terms = other.terms();
                    other.holds_reference()
                        && terms.tenant == payment.terms().tenant
                        && terms.merchant_reference == payment.terms().merchant_reference
                };
                let holder = self.payments.values().find(same).map(|holder| holder.id().clone());
                holder.map_or(Ok(()), |holder| Err(Refusal::ReferenceTaken { holder }))
            }
            Some(PaymentChange::Moved { from, from_version, payment }) => {
                let stands = self.payments.get(payment.id());
                let as_found =
                    |stands: &Payment| stands.status() == *from && stands.state().version == *from_version;
                if stands.is_some_and(as_found) { Ok(()) } else { Err(Refusal::Stale) }
            }
            None => Ok(()),
        }
    }
}

#[async_trait]
impl Commit for FakeStore {
    async fn commit(&self, changes: Changes) -> Result<Committed, CommitError> {
        let held = || self.holds.load(Ordering::Relaxed);
        poll_fn(|_| if held() { Poll::Pending } else { Poll::Ready(()) }).await;
        self.check()?;
        let intruder = self.intruder.lock().expect("no test panics with the lock").take();
        if let Some(intruder) = intruder {
            self.rows().apply(intruder).expect("the intruder comes first");
        }
        Ok(self.rows().apply(changes)?)
    }
}

#[async_trait]
impl PaymentReads for FakeStore {
    async fn payment(&self, tenant: Tenant, id: &PaymentId) -> Result<Option<Payment>, StoreUnavailable> {
        self.check()?;
        let rows = self.rows();
        Ok(rows.payments.get(id).filter(|payment| payment.terms().tenant == tenant).cloned())
    }

    async fn payments(
        &self,
        _: Tenant,
        _: &PaymentFilter,
        _: Page,
    ) -> Result<(Vec<Payment>, u64), StoreUnavailable> {
        unreachable!("no use case lists payments")
    }

    async fn customer(&self, _: Tenant, id: CustomerId) -> Result<Option<Customer>, StoreUnavailable> {
        self.check()?;
        Ok(self.rows().customers.get(&id).cloned())
    }

    async fn kept_answer(
        &self,
        _: Tenant,
        audience: Audience,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<(String, u16, String)>, StoreUnavailable> {
        self.check()?;
        assert_eq!(audience, Audience::Merchant);
        let rows = self.rows();
        let kept = rows.kept.get(key.as_str()).filter(|kept| kept.3 > now);
        Ok(kept.map(|(hash, status, body, _)| (hash.clone(), *status, body.clone())))
    }
}

#[async_trait]
impl LedgerReads for FakeStore {
    async fn balance(&self, tenant: Tenant, currency: Currency) -> Result<Balance, LedgerUnavailable> {
        Ok(self.balance_of(tenant, currency))
    }

    async fn balances(&self, _: Tenant) -> Result<Vec<Balance>, LedgerUnavailable> {
        unreachable!("no use case lists balances")
    }

    async fn check(&self) -> Result<CheckReport, LedgerUnavailable> {
        unreachable!("no use case verifies the ledger")
    }
}
