//! Pages kept in memory.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard},
};

use async_trait::async_trait;
use quipu_kernel::{MerchantId, PaymentId, StoreError, Tenant};
use quipu_merchants::{AuditRecord, DirectoryError, MerchantPage, PageStore};

type Kept = (MerchantPage, Option<Vec<u8>>);

#[derive(Default)]
pub(crate) struct FakePages(Mutex<HashMap<MerchantId, Kept>>);

impl FakePages {
    fn kept(&self) -> MutexGuard<'_, HashMap<MerchantId, Kept>> {
        self.0.lock().expect("no test panics with the lock")
    }
}

#[async_trait]
impl PageStore for FakePages {
    async fn payment_of(&self, _hash: &str) -> Result<Option<(Tenant, PaymentId)>, StoreError> {
        Ok(None)
    }

    async fn merchant_page(&self, merchant: MerchantId) -> Result<Option<MerchantPage>, StoreError> {
        Ok(self.kept().get(&merchant).map(|(page, _)| page.clone()))
    }

    async fn set_merchant_page(
        &self,
        merchant: MerchantId,
        page: Option<Kept>,
        _audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        match page {
            Some(page) => self.kept().insert(merchant, page),
            None => self.kept().remove(&merchant),
        };
        Ok(())
    }

    async fn logo(&self, hash: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let found = |(page, picture): &Kept| (page.logo.as_deref() == Some(hash)).then(|| picture.clone());
        Ok(self.kept().values().find_map(found).flatten())
    }

    async fn page_key(&self, offered: &str) -> Result<String, StoreError> {
        Ok(offered.to_owned())
    }
}
