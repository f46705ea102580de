//! The reference directory: everything in memory, by the same rules as every other store. It is for tests,
//! and forgets everything when it is dropped.

mod callers;
mod staff;

use std::{
    cmp::Reverse,
    sync::{Arc, Mutex, MutexGuard},
};

use quipu_kernel::{MerchantId, Page, StoreError, Tenant, Timestamp, locked};

use quipu_merchants::{
    ApiKeyRecord, AuditRecord, Beneficiary, DirectoryError, HmacCredential, KeyEnvelope, Merchant,
    MerchantChange, Operator, Route,
};

/// The contents of a directory in memory.
#[derive(Debug, Default)]
pub struct DirectoryRows {
    /// Every merchant.
    pub merchants: Vec<Merchant>,
    /// Every API key.
    pub keys: Vec<ApiKeyRecord>,
    /// Every HMAC credential.
    pub credentials: Vec<HmacCredential>,
    /// Every route with its merchant.
    pub routes: Vec<(MerchantId, Route)>,
    /// Every saved beneficiary.
    pub beneficiaries: Vec<Beneficiary>,
    /// Every member of the operator's staff.
    pub operators: Vec<Operator>,
    /// Every line of the audit log.
    pub audit: Vec<AuditRecord>,
    /// The error with which every look-up of an API key fails, for tests of an outage.
    pub failure: Option<StoreError>,
}

/// The directory of merchants and staff in memory. Clones share their contents.
#[derive(Debug, Clone, Default)]
pub struct MemoryDirectory(Arc<Mutex<DirectoryRows>>);

/// A page of `rows`, by descending key and among equal keys the latest first, and the number of all rows.
fn cut<'a, T: Clone + 'a, K: Ord>(
    rows: impl Iterator<Item = &'a T>,
    page: Page,
    key: impl Fn(&T) -> K,
) -> (Vec<T>, u64) {
    let mut rows: Vec<_> = rows.cloned().collect();
    rows.reverse();
    rows.sort_by_key(|row| Reverse(key(row)));
    let total = rows.len() as u64;
    let skipped = usize::try_from(page.offset()).unwrap_or(usize::MAX);
    (rows.into_iter().skip(skipped).take(page.limit() as usize).collect(), total)
}

impl DirectoryRows {
    fn merchant(&self, id: MerchantId) -> Result<&Merchant, DirectoryError> {
        self.merchants.iter().find(|merchant| merchant.id == id).ok_or(DirectoryError::NotFound)
    }

    fn envelope<K>(&self, key: K, tenant: Tenant) -> Option<KeyEnvelope<K>> {
        let merchant = self.merchant(tenant.merchant()).ok()?.clone();
        Some(KeyEnvelope { key, merchant })
    }

    fn key(
        &self,
        wanted: impl Fn(&ApiKeyRecord) -> bool,
    ) -> Result<Option<Arc<KeyEnvelope<ApiKeyRecord>>>, StoreError> {
        if let Some(failure) = self.failure.clone() {
            return Err(failure);
        }
        let found = self.keys.iter().find(|key| wanted(key)).cloned();
        Ok(found.and_then(|key| self.envelope(key.clone(), key.tenant)).map(Arc::new))
    }

    fn routes_of(&self, merchant: MerchantId) -> Vec<Route> {
        let own = self.routes.iter().filter(|(id, _)| *id == merchant);
        let mut own: Vec<_> = own.map(|(_, route)| route.clone()).collect();
        own.sort_unstable_by_key(Route::key);
        own
    }

    fn set_routes(&mut self, merchant: MerchantId, routes: Vec<Route>) -> Result<(), DirectoryError> {
        let mut keys: Vec<_> = routes.iter().map(Route::key).collect();
        keys.sort_unstable();
        keys.dedup();
        if keys.len() < routes.len() {
            return Err(DirectoryError::Conflict("two routes have the same key"));
        }
        self.routes.retain(|(id, _)| *id != merchant);
        self.routes.extend(routes.into_iter().map(|route| (merchant, route)));
        Ok(())
    }

    fn update(&mut self, change: MerchantChange, audit: AuditRecord) -> Result<(), DirectoryError> {
        self.change(change)?;
        self.audit.push(audit);
        Ok(())
    }

    fn change(&mut self, change: MerchantChange) -> Result<(), DirectoryError> {
        if *self.merchant(change.before.id)? != change.before {
            return Err(DirectoryError::Stale);
        }
        self.merchants.retain(|merchant| merchant.id != change.after.id);
        self.merchants.push(change.after);
        Ok(())
    }
}

impl MemoryDirectory {
    /// The contents, locked while they are used.
    pub fn rows(&self) -> MutexGuard<'_, DirectoryRows> {
        locked(&self.0)
    }
}

/// Revokes unless that has happened before; answers whether this call did it.
fn revoke(revoked_at: &mut Option<Timestamp>, at: Timestamp) -> bool {
    let is_first = revoked_at.is_none();
    revoked_at.get_or_insert(at);
    is_first
}
