//! The ports of the directory: the transaction of each call, and the look-ups that are cached.

use std::sync::Arc;

use async_trait::async_trait;
use quipu_kernel::{MerchantId, Page, Period, StoreError, Tenant, Timestamp};
use quipu_merchants::{
    ApiKeyRecord, AuditFilter, AuditRecord, Beneficiary, BeneficiaryKind, CallerBook, DirectoryError,
    HmacCredential, KeyEnvelope, Merchant, MerchantChange, MerchantFilter, Merchants, NewBeneficiary,
    Operator, Route, RouteBook, Routing, Staff,
};

use super::{audit, beneficiaries, credentials, keys, merchants, operators, routes};
use crate::{
    error::{Fault, Refused},
    postgres::lock_turns::Waiter,
    query::{Query, Reading},
    rows::stored::to_value,
    store::Store,
};

impl Store {
    /// A write together with its line in the audit log.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        audit: AuditRecord,
        query: impl Query<T, Refused<DirectoryError>> + Clone,
    ) -> Result<T, DirectoryError> {
        let whose = audit.merchant_id;
        let write = self.write(
            whose,
            query!(|conn| {
                let value = query(conn).await?;
                audit::write(conn, &audit).await?;
                Ok(value)
            }),
        );
        write.await
    }

    /// A write that may change nothing and answers whether it did. If it changed nothing, it writes no line
    /// in the audit log.
    async fn change_if_needed(
        &self,
        audit: AuditRecord,
        query: impl Query<bool, Refused<DirectoryError>> + Clone,
    ) -> Result<(), DirectoryError> {
        let whose = audit.merchant_id;
        let write = self.write(
            whose,
            query!(|conn| {
                if query(conn).await? {
                    audit::write(conn, &audit).await?;
                }
                Ok(())
            }),
        );
        write.await
    }

    /// Runs a write of what belongs to a merchant, if any, and has it forgotten before the caller is answered, even if
    /// the write seems to have failed.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        whose: Option<MerchantId>,
        query: impl Query<T, Refused<DirectoryError>> + Clone,
    ) -> Result<T, DirectoryError> {
        let outcome = self.inner.engine.write_for(whose.map(Waiter::Merchant), query).await;
        self.inner.hub.directory_written();
        outcome.map_err(Refused::into_error)
    }

    pub(super) async fn ask<T: Send + 'static>(&self, query: impl Query<T, Fault>) -> Result<T, StoreError> {
        Ok(self.inner.engine.read(query).await?)
    }

    async fn list<T: Send + 'static>(&self, query: impl Query<T, Fault>) -> Result<T, StoreError> {
        Ok(self.inner.engine.read_as(Reading::Page, query).await?)
    }
}

#[async_trait]
impl RouteBook for Store {
    async fn routes(&self, merchant: MerchantId) -> Result<Arc<[Route]>, StoreError> {
        let cache = &self.inner.cache;
        let found = cache.get_or_read(&cache.routes, &merchant, async {
            Ok(self.ask(query!(|conn| routes::of_merchant(conn, merchant).await)).await?.into())
        });
        found.await
    }

    async fn beneficiary(
        &self,
        tenant: Tenant,
        kind: BeneficiaryKind,
        id: i32,
    ) -> Result<Option<Beneficiary>, StoreError> {
        self.ask(query!(|conn| beneficiaries::find(conn, tenant, kind, id).await)).await
    }
}

#[async_trait]
impl CallerBook for Store {
    async fn api_key_by_hash(
        &self,
        hash: &str,
    ) -> Result<Option<Arc<KeyEnvelope<ApiKeyRecord>>>, StoreError> {
        let cache = &self.inner.cache;
        let found = cache.get_or_read(&cache.keys_by_hash, hash, async {
            let by = keys::By::Hash(hash.to_owned());
            Ok(self.ask(query!(|conn| keys::find(conn, by).await)).await?.map(Arc::new))
        });
        found.await
    }

    async fn api_key_by_id(
        &self,
        key_id: &str,
    ) -> Result<Option<Arc<KeyEnvelope<ApiKeyRecord>>>, StoreError> {
        let cache = &self.inner.cache;
        let found = cache.get_or_read(&cache.keys_by_id, key_id, async {
            let by = keys::By::Id(key_id.to_owned());
            Ok(self.ask(query!(|conn| keys::find(conn, by).await)).await?.map(Arc::new))
        });
        found.await
    }

    async fn credentials(
        &self,
        merchant: MerchantId,
    ) -> Result<Arc<[Arc<KeyEnvelope<HmacCredential>>]>, StoreError> {
        let cache = &self.inner.cache;
        let found = cache.get_or_read(&cache.credentials, &merchant, async {
            let found = self.ask(query!(|conn| credentials::of_merchant(conn, merchant).await)).await?;
            Ok(found.into_iter().map(Arc::new).collect())
        });
        found.await
    }

    async fn credential_by_id(
        &self,
        credential_id: &str,
    ) -> Result<Option<Arc<KeyEnvelope<HmacCredential>>>, StoreError> {
        let cache = &self.inner.cache;
        let found = cache.get_or_read(&cache.credentials_by_id, credential_id, async {
            let id = credential_id.to_owned();
            Ok(self.ask(query!(|conn| credentials::find(conn, &id).await)).await?.map(Arc::new))
        });
        found.await
    }

    async fn operator_by_hash(&self, hash: &str) -> Result<Option<Arc<Operator>>, StoreError> {
        let cache = &self.inner.cache;
        let found = cache.get_or_read(&cache.operators, hash, async {
            let hash = hash.to_owned();
            Ok(self.ask(query!(|conn| operators::by_hash(conn, &hash).await)).await?.map(Arc::new))
        });
        found.await
    }

    async fn remembered_merchant(&self, id: MerchantId) -> Result<Option<Arc<Merchant>>, StoreError> {
        let cache = &self.inner.cache;
        let found =
            cache.get_or_read(&cache.merchants, &id, async { Ok(self.merchant(id).await?.map(Arc::new)) });
        found.await
    }

    async fn note_api_keys_used(&self, uses: Vec<(String, Timestamp)>) -> Result<(), StoreError> {
        let noted = self.inner.engine.write(query!(|conn| keys::note_used(conn, uses).await));
        noted.await.map_err(|fault: Fault| fault.into())
    }
}

#[async_trait]
impl Merchants for Store {
    async fn add_merchant(
        &self,
        merchant: Merchant,
        routes: Vec<Route>,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        let outcome = self.change(
            audit,
            query!(|conn| {
                let id = merchant.id;
                merchants::add(conn, merchant).await?;
                routes::insert(conn, id, &routes).await
            }),
        );
        outcome.await
    }

    async fn update_merchant(
        &self,
        change: MerchantChange,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        self.change(audit, query!(|conn| merchants::update(conn, change).await)).await
    }

    async fn merchant(&self, id: MerchantId) -> Result<Option<Merchant>, StoreError> {
        self.ask(query!(|conn| merchants::find(conn, id).await)).await
    }

    async fn merchants(
        &self,
        filter: MerchantFilter,
        page: Page,
    ) -> Result<(Vec<Merchant>, u64), StoreError> {
        self.list(query!(|conn| merchants::page(conn, filter, page).await)).await
    }

    async fn add_api_key(&self, key: ApiKeyRecord, audit: AuditRecord) -> Result<(), DirectoryError> {
        self.change(audit, query!(|conn| keys::add(conn, key).await)).await
    }

    async fn api_keys(&self, merchant: MerchantId) -> Result<Vec<ApiKeyRecord>, StoreError> {
        self.ask(query!(|conn| keys::of_merchant(conn, merchant).await)).await
    }

    async fn revoke_api_key(
        &self,
        merchant: MerchantId,
        key_id: &str,
        at: Timestamp,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        let key_id = key_id.to_owned();
        self.change_if_needed(audit, query!(|conn| keys::revoke(conn, merchant, &key_id, at).await)).await
    }

    async fn add_credential(
        &self,
        credential: HmacCredential,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        self.change(audit, query!(|conn| credentials::add(conn, credential).await)).await
    }

    async fn revoke_credential(
        &self,
        merchant: MerchantId,
        credential_id: &str,
        at: Timestamp,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        let id = credential_id.to_owned();
        self.change_if_needed(audit, query!(|conn| credentials::revoke(conn, merchant, &id, at).await)).await
    }

    async fn switch_version(
        &self,
        change: MerchantChange,
        issued: Vec<HmacCredential>,
        at: Timestamp,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        let write = self.write(
            Some(change.after.id),
            query!(|conn| {
                let id = change.after.id;
                // The row of the merchant is locked by its update, and everything below belongs to it.
                merchants::update(conn, change).await?;
                let ended_keys = keys::revoke_all(conn, id, at).await?;
                let ended_credentials = credentials::revoke_all(conn, id, at).await?;
                audit::write(conn, &audit.of_switch(ended_keys, ended_credentials, &issued)).await?;
                for credential in issued {
                    credentials::insert(conn, credential).await?;
                }
                Ok(())
            }),
        );
        write.await
    }
}

#[async_trait]
impl Routing for Store {
    async fn replace_routes(
        &self,
        merchant: MerchantId,
        routes: Vec<Route>,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        let write = self.write(
            Some(merchant),
            query!(|conn| {
                let before = routes::replace(conn, merchant, &routes).await?;
                let audit = AuditRecord { before: to_value(&before)?, ..audit };
                audit::write_newest(conn, merchant, audit).await?;
                Ok(())
            }),
        );
        write.await
    }

    async fn add_beneficiary(
        &self,
        beneficiary: NewBeneficiary,
        audit: AuditRecord,
    ) -> Result<Beneficiary, DirectoryError> {
        let write = self.write(
            Some(beneficiary.tenant.merchant()),
            query!(|conn| {
                let saved = beneficiaries::add(conn, beneficiary).await?;
                audit::write(conn, &audit.with("ibanAccountId", saved.id.to_string())).await?;
                Ok(saved)
            }),
        );
        write.await
    }

    async fn beneficiaries(
        &self,
        merchant: MerchantId,
        created: Period,
        page: Page,
    ) -> Result<(Vec<Beneficiary>, u64), StoreError> {
        self.list(query!(|conn| beneficiaries::page(conn, merchant, created, page).await)).await
    }
}

#[async_trait]
impl Staff for Store {
    async fn add_operator(&self, operator: Operator, audit: AuditRecord) -> Result<(), DirectoryError> {
        self.change(audit, query!(|conn| operators::add(conn, operator).await)).await
    }

    async fn operators(&self, created: Period, page: Page) -> Result<(Vec<Operator>, u64), StoreError> {
        self.list(query!(|conn| operators::page(conn, created, page).await)).await
    }

    async fn revoke_operator(
        &self,
        operator_id: &str,
        at: Timestamp,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        let id = operator_id.to_owned();
        self.change_if_needed(audit, query!(|conn| operators::revoke(conn, &id, at).await)).await
    }

    async fn audit_log(
        &self,
        filter: AuditFilter,
        page: Page,
    ) -> Result<(Vec<AuditRecord>, u64), StoreError> {
        self.list(query!(|conn| audit::page(conn, filter, page).await)).await
    }
}
