//! Routes and beneficiaries, the operator's staff and the audit log.

use std::sync::Arc;

use async_trait::async_trait;
use quipu_kernel::{MerchantId, Page, Period, StoreError, Tenant, Timestamp};
use serde_json::json;

use super::{MemoryDirectory, cut, revoke};
use quipu_merchants::{
    AuditFilter, AuditRecord, Beneficiary, BeneficiaryKind, DirectoryError, NewBeneficiary, Operator, Role,
    Route, RouteBook, Routing, Staff,
};

#[async_trait]
impl RouteBook for MemoryDirectory {
    async fn routes(&self, merchant: MerchantId) -> Result<Arc<[Route]>, StoreError> {
        Ok(self.rows().routes_of(merchant).into())
    }

    async fn beneficiary(
        &self,
        tenant: Tenant,
        kind: BeneficiaryKind,
        id: i32,
    ) -> Result<Option<Beneficiary>, StoreError> {
        let rows = self.rows();
        let mut all = rows.beneficiaries.iter();
        Ok(all.find(|it| it.details.tenant == tenant && it.details.kind == kind && it.id == id).cloned())
    }
}

#[async_trait]
impl Routing for MemoryDirectory {
    async fn replace_routes(
        &self,
        merchant: MerchantId,
        routes: Vec<Route>,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        let mut rows = self.rows();
        rows.merchant(merchant)?;
        let replaced = rows.routes_of(merchant);
        rows.set_routes(merchant, routes)?;
        rows.audit.push(AuditRecord { before: json!(replaced), ..audit });
        Ok(())
    }

    async fn add_beneficiary(
        &self,
        details: NewBeneficiary,
        audit: AuditRecord,
    ) -> Result<Beneficiary, DirectoryError> {
        let mut rows = self.rows();
        rows.merchant(details.tenant.merchant())?;
        let last = rows.beneficiaries.iter().map(|it| it.id).max().unwrap_or(0);
        let id = last.checked_add(1).ok_or(DirectoryError::LimitReached("all numbers are used up"))?;
        let beneficiary = Beneficiary { id, details };
        rows.beneficiaries.push(beneficiary.clone());
        rows.audit.push(audit.with("ibanAccountId", id.to_string()));
        Ok(beneficiary)
    }

    async fn beneficiaries(
        &self,
        merchant: MerchantId,
        created: Period,
        page: Page,
    ) -> Result<(Vec<Beneficiary>, u64), StoreError> {
        let rows = self.rows();
        let wanted = rows.beneficiaries.iter().filter(|Beneficiary { details, .. }| {
            details.tenant.merchant() == merchant && created.contains(details.created_at)
        });
        Ok(cut(wanted, page, |it| (it.details.created_at, it.details.tenant.environment().as_str(), it.id)))
    }
}

#[async_trait]
impl Staff for MemoryDirectory {
    async fn add_operator(&self, operator: Operator, audit: AuditRecord) -> Result<(), DirectoryError> {
        let mut rows = self.rows();
        rows.operators.push(operator);
        rows.audit.push(audit);
        Ok(())
    }

    async fn operators(&self, created: Period, page: Page) -> Result<(Vec<Operator>, u64), StoreError> {
        let rows = self.rows();
        let found = rows.operators.iter().filter(|it| created.contains(it.created_at));
        Ok(cut(found, page, |it| it.created_at))
    }

    async fn revoke_operator(
        &self,
        operator_id: &str,
        at: Timestamp,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError> {
        let mut rows = self.rows();
        let is_admin = |it: &Operator| it.role == Role::Admin && it.is_active(at);
        let place = rows.operators.iter().position(|it| it.operator_id == operator_id);
        let place = place.ok_or(DirectoryError::NotFound)?;
        let staying = |it: &&Operator| is_admin(it) && it.outlasts(&rows.operators[place]);
        let others = rows.operators.iter().filter(staying).filter(|it| it.operator_id != operator_id).count();
        let found = &mut rows.operators[place];
        if is_admin(found) && others == 0 {
            return Err(DirectoryError::Conflict(
                "the last admin cannot be revoked: no other admin's token lasts as long",
            ));
        }
        if revoke(&mut found.revoked_at, at) {
            rows.audit.push(audit);
        }
        Ok(())
    }

    async fn audit_log(
        &self,
        filter: AuditFilter,
        page: Page,
    ) -> Result<(Vec<AuditRecord>, u64), StoreError> {
        let rows = self.rows();
        let lines = rows.audit.iter().filter(|line| {
            filter.merchant.is_none_or(|id| line.merchant_id == Some(id)) && filter.at.contains(line.at)
        });
        Ok(cut(lines, page, |line| line.at))
    }
}
