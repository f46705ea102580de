//! Payments and balances in the reference store.

use std::{
    future::pending,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use quipu_commit::{Aggregate, Changes, Commit, CommitError, Committed, IdempotencyKey, KeyOwner, Memory};
use quipu_kernel::{Currency, CustomerId, MerchantId, Page, PaymentId, StoreError, Tenant, Timestamp};
use quipu_ledger::{Balance, Chain, ChainHash, Chains, CheckReport, Head, LedgerReads, Sealed};
use quipu_merchants::Route;
use quipu_payments::{
    CallbackHeaders, Customer, IssuedInstructions, KeptKey, NotVerified, Payment, PaymentFilter,
    PaymentReads, Rail, RailStatus, Submission,
};

#[derive(Default)]
pub(crate) struct FakeBooks {
    pub(crate) memory: Memory,
    /// What every read of a balance answers, if anything.
    pub(crate) ledger_failure: Mutex<Option<StoreError>>,
    /// Whether reads of a balance never end.
    pub(crate) hangs: AtomicBool,
    /// How many reads of a balance have begun.
    pub(crate) asked: AtomicUsize,
    /// Whether creations had better be refused.
    pub(crate) pressed: AtomicBool,
}

#[async_trait]
impl Commit for FakeBooks {
    async fn commit(&self, changes: Changes) -> Result<Committed, CommitError> {
        self.memory.commit(changes).await
    }

    fn is_pressed(&self, _: MerchantId) -> bool {
        self.pressed.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl PaymentReads for FakeBooks {
    async fn payment(&self, tenant: Tenant, id: &PaymentId) -> Result<Option<Payment>, StoreError> {
        let contents = self.memory.contents();
        Ok(contents.saved::<Payment>(Aggregate::PAYMENT, tenant, id.as_str()).cloned())
    }

    async fn payments(
        &self,
        tenant: Tenant,
        filter: &PaymentFilter,
        page: Page,
    ) -> Result<(Vec<Payment>, u64), StoreError> {
        let contents = self.memory.contents();
        let all = contents.all::<Payment>(Aggregate::PAYMENT);
        let wanted = all.filter(|(owner, payment)| {
            *owner == tenant && filter.status.is_none_or(|it| it == payment.status())
        });
        let mut all: Vec<_> = wanted.map(|(_, payment)| payment.clone()).collect();
        all.reverse();
        let skipped = usize::try_from(page.offset()).expect("small");
        let cut = all.iter().skip(skipped).take(page.limit() as usize).cloned().collect();
        Ok((cut, all.len() as u64))
    }

    async fn customer(&self, _: Tenant, _: CustomerId) -> Result<Option<Customer>, StoreError> {
        Ok(None)
    }

    async fn kept_key(
        &self,
        tenant: Tenant,
        owner: KeyOwner,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<KeptKey>, StoreError> {
        let contents = self.memory.contents();
        let kept = contents.kept(&owner.answer_key(tenant, key), now);
        Ok(kept.map(|kept| KeptKey {
            body_hash: kept.record.body_hash.clone(),
            payment_id: kept.record.payment_id.clone(),
            answer: kept.answer.clone(),
        }))
    }
}

impl FakeBooks {
    fn check_ledger(&self) -> Result<(), StoreError> {
        self.ledger_failure.lock().expect("no test panics with the lock").clone().map_or(Ok(()), Err)
    }
}

#[async_trait]
impl LedgerReads for FakeBooks {
    async fn balance(&self, tenant: Tenant, currency: Currency) -> Result<Balance, StoreError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.hangs.load(Ordering::Relaxed) {
            pending::<()>().await;
        }
        self.check_ledger()?;
        Ok(self.memory.contents().balance(tenant, currency))
    }

    async fn balances(&self, tenant: Tenant) -> Result<Vec<Balance>, StoreError> {
        self.check_ledger()?;
        Ok(self.memory.contents().balances(tenant))
    }

    async fn check(&self) -> Result<CheckReport, StoreError> {
        Ok(CheckReport::default())
    }
}

/// Nothing is sealed here.
#[async_trait]
impl Chains for FakeBooks {
    async fn extend_chains(&self, _: Timestamp, _: Duration) -> Result<Sealed, StoreError> {
        Ok(Sealed::default())
    }

    async fn heads(&self, _: Option<MerchantId>, _: Page) -> Result<(Vec<Head>, u64), StoreError> {
        self.check_ledger()?;
        Ok((Vec::new(), 0))
    }

    async fn sealed(&self, _: Chain, _: u64) -> Result<Option<ChainHash>, StoreError> {
        Ok(None)
    }
}

/// A rail that takes everything, settles nothing, and has signed no callback.
pub(crate) struct PatientRail;

#[async_trait]
impl Rail for PatientRail {
    fn name(&self) -> &'static str {
        "simulator"
    }

    fn issue(&self, payment: &Payment, _: &Route) -> IssuedInstructions {
        // The customer of this name meets a rail that is broken beyond all ports.
        assert_ne!(payment.terms().customer.name.as_deref(), Some("Panic"), "told to panic: secret detail");
        IssuedInstructions::default()
    }

    async fn submit(&self, _: &Payment) -> Submission {
        Submission::Accepted { provider_reference: None }
    }

    async fn ask(&self, _: &Payment) -> RailStatus {
        RailStatus::WillReport
    }

    fn callback_name(&self) -> Option<&str> {
        Some("patient")
    }

    fn verify_callback(&self, headers: CallbackHeaders<'_>, _: &[u8]) -> Result<(), NotVerified> {
        Err(if headers.signature.is_some() { NotVerified::Invalid } else { NotVerified::Missing })
    }
}
