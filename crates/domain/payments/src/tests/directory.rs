//! Routes and saved beneficiaries, as far as payments ask for them.

use std::sync::Arc;

use async_trait::async_trait;
use quipu_kernel::{MerchantId, StoreError, Tenant};
use quipu_merchants::{Beneficiary, BeneficiaryKind, Route, RouteBook};

use super::store::FakeStore;

type Read<T> = Result<T, StoreError>;

#[async_trait]
impl RouteBook for FakeStore {
    async fn routes(&self, _: MerchantId) -> Read<Arc<[Route]>> {
        Ok(Arc::clone(&self.rows().routes))
    }

    async fn beneficiary(&self, tenant: Tenant, kind: BeneficiaryKind, id: i32) -> Read<Option<Beneficiary>> {
        let rows = self.rows();
        let wanted = |saved: &&Beneficiary| {
            saved.details.tenant == tenant && saved.details.kind == kind && saved.id == id
        };
        Ok(rows.beneficiaries.iter().find(wanted).cloned())
    }
}
