//! Merchants with their keys and credentials, and the look-ups that find the caller of a request.

use std::{cmp::Reverse, sync::Arc};

use async_trait::async_trait;
use quipu_kernel::{MerchantId, Page, StoreError, Timestamp};

use super::{MemoryDirectory, cut, revoke};
use quipu_merchants::{
    ApiKeyRecord, ApiVersion, AuditRecord, CallerBook, DirectoryError, HmacCredential, KeyEnvelope, Merchant,
    MerchantChange, MerchantFilter, Merchants, Operator, Route,
};

#[async_trait]
impl CallerBook for MemoryDirectory {
    async fn api_key_by_hash(
        &self,
        hash: &str,
    ) -> Result<Option<Arc<KeyEnvelope<ApiKeyRecord>>>, StoreError> {
        self.rows().key(|key| key.hash == hash)
    }

    async fn api_key_by_id(
        &self,
        key_id: &str,
    ) -> Result<Option<Arc<KeyEnvelope<ApiKeyRecord>>>, StoreError> {
        self.rows().key(|key| key.key_id == key_id)
    }

    async fn credentials(
        &self,
        merchant: MerchantId,
    ) -> Result<Arc<[Arc<KeyEnvelope<HmacCredential>>]>, StoreError> {
        let rows = self.rows();
        let own = rows.credentials.iter().filter(|it| it.tenant.merchant() == merchant);
        let mut own: Vec<_> =
            own.filter_map(|it| rows.envelope(it.clone(), it.tenant)).map(Arc::new).collect();
        own.sort_by_key(|it| Reverse((it.key.created_at, it.key.credential_id.clone())));
        Ok(own.into())
    }

    async fn credential_by_id(
        &self,
        credential_id: &str,
    ) -> Result<Option<Arc<KeyEnvelope<HmacCredential>>>, StoreError> {
        let rows = self.rows();
        let found = rows.credentials.iter().find(|it| it.credential_id == credential_id);
        Ok(found.and_then(|it| rows.envelope(it.clone(), it.tenant)).map(Arc::new))
    }

    async fn operator_by_hash(&self, hash: &str) -> Result<Option<Arc<Operator>>, StoreError> {
        Ok(self.rows().operators.iter().find(|it| it.token_hash == hash).cloned().map(Arc::new))
    }

    async fn remembered_merchant(&self, id: MerchantId) -> Result<Option<Arc<Merchant>>, StoreError> {
        Ok(self.merchant(id).await?.map(Arc::new))
    }

    async fn note_api_keys_used(&self, uses: Vec<(String, Timestamp)>) -> Result<(), StoreError> {
        let mut rows = self.rows();
        for (key_id, at) in uses {
            if let Some(key) = rows.keys.iter_mut().find(|key| key.key_id == key_id) {
                key.last_used_at = key.last_used_at.max(Some(at));
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Merchants for MemoryDirectory {
    async fn add_merchant(
        &self,
        merchant: Merchant,
        routes: Vec<Route>,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        let mut rows = self.rows();
        if rows.merchant(merchant.id).is_ok() {
            return Err(DirectoryError::Conflict("the merchant's number is taken"));
        }
        rows.set_routes(merchant.id, routes)?;
        rows.merchants.push(merchant);
        rows.audit.push(audit);
        Ok(())
    }

    async fn update_merchant(
        &self,
        change: MerchantChange,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        self.rows().update(change, audit)
    }

    async fn merchant(&self, id: MerchantId) -> Result<Option<Merchant>, StoreError> {
        Ok(self.rows().merchant(id).ok().cloned())
    }

    async fn merchants(
        &self,
        filter: MerchantFilter,
        page: Page,
    ) -> Result<(Vec<Merchant>, u64), StoreError> {
        let rows = self.rows();
        let wanted = rows.merchants.iter().filter(|merchant| {
            filter.id.is_none_or(|id| id == merchant.id)
                && filter.status.is_none_or(|status| status == merchant.status)
                && filter.created.contains(merchant.created_at)
        });
        Ok(cut(wanted, page, |merchant| (merchant.created_at, merchant.id)))
    }

    async fn add_api_key(&self, key: ApiKeyRecord, audit: AuditRecord) -> Result<(), DirectoryError> {
        let mut rows = self.rows();
        if rows.merchant(key.tenant.merchant())?.api_version != ApiVersion::V1 {
            return Err(DirectoryError::Conflict(ApiKeyRecord::ONLY_V1));
        }
        rows.keys.push(key);
        rows.audit.push(audit);
        Ok(())
    }

    async fn api_keys(&self, merchant: MerchantId) -> Result<Vec<ApiKeyRecord>, StoreError> {
        let rows = self.rows();
        let own = rows.keys.iter().filter(|key| key.tenant.merchant() == merchant);
        let mut own: Vec<_> = own.cloned().collect();
        own.sort_by_key(|key| Reverse((key.created_at, key.key_id.clone())));
        Ok(own)
    }

    async fn revoke_api_key(
        &self,
        merchant: MerchantId,
        key_id: &str,
        at: Timestamp,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        let mut rows = self.rows();
        let mut keys = rows.keys.iter_mut();
        let key = keys.find(|key| key.key_id == key_id && key.tenant.merchant() == merchant);
        if revoke(&mut key.ok_or(DirectoryError::NotFound)?.revoked_at, at) {
            rows.audit.push(audit);
        }
        Ok(())
    }

    async fn add_credential(
        &self,
        credential: HmacCredential,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        let mut rows = self.rows();
        rows.merchant(credential.tenant.merchant())?;
        let active = rows.credentials.iter().filter(|it| it.tenant == credential.tenant);
        if active.filter(|it| it.revoked_at.is_none()).count() >= HmacCredential::MOST_ACTIVE {
            return Err(DirectoryError::LimitReached(
                "a merchant has at most two active credentials in each environment",
            ));
        }
        rows.credentials.push(credential);
        rows.audit.push(audit);
        Ok(())
    }

    async fn revoke_credential(
        &self,
        merchant: MerchantId,
        credential_id: &str,
        at: Timestamp,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        let mut rows = self.rows();
        let mut all = rows.credentials.iter_mut();
        let found = all.find(|it| it.credential_id == credential_id && it.tenant.merchant() == merchant);
        if revoke(&mut found.ok_or(DirectoryError::NotFound)?.revoked_at, at) {
            rows.audit.push(audit);
        }
        Ok(())
    }

    async fn switch_version(
        &self,
        change: MerchantChange,
        issued: Vec<HmacCredential>,
        at: Timestamp,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        let id = change.after.id;
        let mut rows = self.rows();
        let (mut keys, mut credentials) = (Vec::new(), Vec::new());
        rows.change(change)?;
        for key in rows.keys.iter_mut().filter(|key| key.tenant.merchant() == id) {
            if revoke(&mut key.revoked_at, at) {
                keys.push(key.key_id.clone());
            }
        }
        for credential in rows.credentials.iter_mut().filter(|it| it.tenant.merchant() == id) {
            if revoke(&mut credential.revoked_at, at) {
                credentials.push(credential.credential_id.clone());
            }
        }
        rows.audit.push(audit.of_switch(keys, credentials, &issued));
        rows.credentials.extend(issued);
        Ok(())
    }
}
