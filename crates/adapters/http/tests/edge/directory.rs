//! A directory of merchants in memory.

use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use quipu_kernel::{MerchantId, Page, Tenant, Timestamp};
use quipu_merchants::{
    ApiKeyRecord, ApiVersion, AuditFilter, AuditRecord, Beneficiary, BeneficiaryKind, Directory,
    DirectoryError, HmacCredential, KeyEnvelope, Merchant, MerchantChange, MerchantFilter, Operator, Period,
    Role, Route, RouteBook, StoreUnavailable,
};

#[derive(Default)]
pub(crate) struct Rows {
    pub(crate) merchants: Vec<Merchant>,
    pub(crate) keys: Vec<ApiKeyRecord>,
    pub(crate) credentials: Vec<HmacCredential>,
    pub(crate) routes: Vec<(MerchantId, Route)>,
    pub(crate) beneficiaries: Vec<Beneficiary>,
    pub(crate) operators: Vec<Operator>,
    pub(crate) audit: Vec<AuditRecord>,
    pub(crate) uses: Vec<(String, Timestamp)>,
}

#[derive(Default)]
pub(crate) struct FakeDirectory {
    rows: Mutex<Rows>,
    /// What look-ups of keys fail with.
    pub(crate) failure: Mutex<Option<StoreUnavailable>>,
}

impl FakeDirectory {
    pub(crate) fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().expect("no test panics with the lock")
    }

    fn merchant_of(&self, id: MerchantId) -> Result<Merchant, DirectoryError> {
        let rows = self.rows();
        rows.merchants.iter().find(|it| it.id == id).cloned().ok_or(DirectoryError::NotFound)
    }

    fn envelope<K>(&self, key: K, tenant: Tenant) -> KeyEnvelope<K> {
        KeyEnvelope { key, merchant: self.merchant_of(tenant.merchant()).expect("a merchant") }
    }

    fn key(
        &self,
        wanted: impl Fn(&ApiKeyRecord) -> bool,
    ) -> Result<Option<Arc<KeyEnvelope<ApiKeyRecord>>>, StoreUnavailable> {
        if let Some(failure) = self.failure.lock().expect("no test panics with the lock").clone() {
            return Err(failure);
        }
        let found = self.rows().keys.iter().find(|key| wanted(key)).cloned();
        Ok(found.map(|key| {
            let tenant = key.tenant;
            Arc::new(self.envelope(key, tenant))
        }))
    }
}

fn cut<T: Clone>(rows: impl DoubleEndedIterator<Item = T> + Clone, page: Page) -> (Vec<T>, u64) {
    let skipped = usize::try_from(page.offset()).expect("small");
    let cut = rows.clone().rev().skip(skipped).take(page.limit() as usize).collect();
    (cut, rows.count() as u64)
}

#[async_trait]
impl RouteBook for FakeDirectory {
    async fn routes(&self, merchant: MerchantId) -> Result<Arc<[Route]>, StoreUnavailable> {
        let rows = self.rows();
        let own = rows.routes.iter().filter(|(id, _)| *id == merchant);
        Ok(own.map(|(_, route)| route.clone()).collect())
    }

    async fn beneficiary(
        &self,
        tenant: Tenant,
        kind: BeneficiaryKind,
        id: i32,
    ) -> Result<Option<Beneficiary>, StoreUnavailable> {
        let rows = self.rows();
        let found =
            rows.beneficiaries.iter().find(|it| it.tenant == tenant && it.kind == kind && it.id == id);
        Ok(found.cloned())
    }
}

#[async_trait]
impl Directory for FakeDirectory {
    async fn add_merchant(
        &self,
        merchant: Merchant,
        routes: Vec<Route>,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        let mut rows = self.rows();
        rows.routes.extend(routes.into_iter().map(|route| (merchant.id, route)));
        rows.merchants.push(merchant);
        rows.audit.push(audit);
        Ok(())
    }

    async fn update_merchant(
        &self,
        change: MerchantChange,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        if self.merchant_of(change.after.id)? != change.before {
            return Err(DirectoryError::Stale);
        }
        let mut rows = self.rows();
        rows.merchants.retain(|it| it.id != change.after.id);
        rows.merchants.push(change.after);
        rows.audit.push(audit);
        Ok(())
    }

    async fn merchant(&self, id: MerchantId) -> Result<Option<Merchant>, StoreUnavailable> {
        Ok(self.merchant_of(id).ok())
    }

    async fn merchants(
        &self,
        filter: MerchantFilter,
        page: Page,
    ) -> Result<(Vec<Merchant>, u64), StoreUnavailable> {
        let rows = self.rows();
        let wanted = rows.merchants.iter().filter(|merchant| {
            filter.id.is_none_or(|id| id == merchant.id)
                && filter.status.is_none_or(|status| status == merchant.status)
                && filter.created.contains(merchant.created_at)
        });
        Ok(cut(wanted.cloned(), page))
    }

    async fn add_api_key(&self, key: ApiKeyRecord, audit: AuditRecord) -> Result<(), DirectoryError> {
        if self.merchant_of(key.tenant.merchant())?.api_version != ApiVersion::V1 {
            return Err(DirectoryError::Conflict(ApiKeyRecord::ONLY_V1));
        }
        let mut rows = self.rows();
        rows.keys.push(key);
        rows.audit.push(audit);
        Ok(())
    }

    async fn api_keys(&self, merchant: MerchantId) -> Result<Vec<ApiKeyRecord>, StoreUnavailable> {
        let rows = self.rows();
        Ok(rows.keys.iter().rev().filter(|key| key.tenant.merchant() == merchant).cloned().collect())
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
        key.ok_or(DirectoryError::NotFound)?.revoked_at.get_or_insert(at);
        rows.audit.push(audit);
        Ok(())
    }

    async fn api_key_by_hash(
        &self,
        hash: &str,
    ) -> Result<Option<Arc<KeyEnvelope<ApiKeyRecord>>>, StoreUnavailable> {
        self.key(|key| key.hash == hash)
    }

    async fn api_key_by_id(
        &self,
        key_id: &str,
    ) -> Result<Option<Arc<KeyEnvelope<ApiKeyRecord>>>, StoreUnavailable> {
        self.key(|key| key.key_id == key_id)
    }

    async fn note_api_keys_used(&self, uses: Vec<(String, Timestamp)>) -> Result<(), StoreUnavailable> {
        self.rows().uses.extend(uses);
        Ok(())
    }

    async fn add_credential(
        &self,
        credential: HmacCredential,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        let mut rows = self.rows();
        let active = rows
            .credentials
            .iter()
            .filter(|it| it.tenant == credential.tenant && it.revoked_at.is_none())
            .count();
        if active >= HmacCredential::MOST_ACTIVE {
            return Err(DirectoryError::LimitReached("at most two active credentials"));
        }
        rows.credentials.push(credential);
        rows.audit.push(audit);
        Ok(())
    }

    async fn credentials(
        &self,
        merchant: MerchantId,
    ) -> Result<Arc<[KeyEnvelope<HmacCredential>]>, StoreUnavailable> {
        let credentials = self.rows().credentials.clone();
        let own = credentials.into_iter().filter(|it| it.tenant.merchant() == merchant);
        Ok(own.map(|it| (it.tenant, it)).map(|(tenant, it)| self.envelope(it, tenant)).collect())
    }

    async fn credential_by_id(
        &self,
        credential_id: &str,
    ) -> Result<Option<Arc<KeyEnvelope<HmacCredential>>>, StoreUnavailable> {
        let found = self.rows().credentials.iter().find(|it| it.credential_id == credential_id).cloned();
        Ok(found.map(|it| {
            let tenant = it.tenant;
            Arc::new(self.envelope(it, tenant))
        }))
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
        found.ok_or(DirectoryError::NotFound)?.revoked_at.get_or_insert(at);
        rows.audit.push(audit);
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
        self.update_merchant(change, audit).await?;
        let mut rows = self.rows();
        let own = rows.keys.iter_mut().filter(|key| key.tenant.merchant() == id);
        own.for_each(|key| {
            key.revoked_at.get_or_insert(at);
        });
        rows.credentials.extend(issued);
        Ok(())
    }

    async fn replace_routes(
        &self,
        merchant: MerchantId,
        routes: Vec<Route>,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        self.merchant_of(merchant)?;
        let mut rows = self.rows();
        rows.routes.retain(|(id, _)| *id != merchant);
        rows.routes.extend(routes.into_iter().map(|route| (merchant, route)));
        rows.audit.push(audit);
        Ok(())
    }

    async fn add_beneficiary(
        &self,
        mut beneficiary: Beneficiary,
        audit: AuditRecord,
    ) -> Result<i32, DirectoryError> {
        let mut rows = self.rows();
        beneficiary.id = i32::try_from(rows.beneficiaries.len()).expect("few") + 1;
        let id = beneficiary.id;
        rows.beneficiaries.push(beneficiary);
        rows.audit.push(audit);
        Ok(id)
    }

    async fn beneficiaries(
        &self,
        merchant: MerchantId,
        created: Period,
        page: Page,
    ) -> Result<(Vec<Beneficiary>, u64), StoreUnavailable> {
        let rows = self.rows();
        let saved = rows.beneficiaries.iter();
        let wanted = saved.filter(|it| it.tenant.merchant() == merchant && created.contains(it.created_at));
        Ok(cut(wanted.cloned(), page))
    }

    async fn add_operator(&self, operator: Operator, audit: AuditRecord) -> Result<(), DirectoryError> {
        let mut rows = self.rows();
        rows.operators.push(operator);
        rows.audit.push(audit);
        Ok(())
    }

    async fn operators(&self, page: Page) -> Result<(Vec<Operator>, u64), StoreUnavailable> {
        Ok(cut(self.rows().operators.iter().cloned(), page))
    }

    async fn revoke_operator(
        &self,
        operator_id: &str,
        at: Timestamp,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        let mut rows = self.rows();
        let admins = rows.operators.iter().filter(|it| it.role == Role::Admin && it.is_active(at)).count();
        let found = rows.operators.iter_mut().find(|it| it.operator_id == operator_id);
        let found = found.ok_or(DirectoryError::NotFound)?;
        if found.role == Role::Admin && found.is_active(at) && admins == 1 {
            return Err(DirectoryError::Conflict("the last admin cannot be revoked"));
        }
        found.revoked_at.get_or_insert(at);
        rows.audit.push(audit);
        Ok(())
    }

    async fn operator_by_hash(&self, hash: &str) -> Result<Option<Arc<Operator>>, StoreUnavailable> {
        Ok(self.rows().operators.iter().find(|it| it.token_hash == hash).cloned().map(Arc::new))
    }

    async fn audit_log(
        &self,
        filter: AuditFilter,
        page: Page,
    ) -> Result<(Vec<AuditRecord>, u64), StoreUnavailable> {
        let rows = self.rows();
        let lines = rows.audit.iter().filter(|line| {
            filter.merchant.is_none_or(|id| line.merchant_id == Some(id.0)) && filter.at.contains(line.at)
        });
        Ok(cut(lines.cloned(), page))
    }
}
