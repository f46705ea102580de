//! The directory of merchants as far as payments ask it: routes, the same for everybody.

use std::sync::Arc;

use async_trait::async_trait;
use quipu_kernel::{MerchantId, Minor, Page, Tenant, Timestamp};
use quipu_merchants::{
    ApiKeyRecord, AuditFilter, AuditRecord, Beneficiary, BeneficiaryKind, Directory, DirectoryError,
    HmacCredential, KeyEnvelope, Merchant, MerchantChange, MerchantFilter, Method, Operator, Period, Route,
    StoreUnavailable,
};

use crate::rail::{BANK, DESK};

type Written = Result<(), DirectoryError>;
type Read<T> = Result<T, StoreUnavailable>;

const NOT_ASKED: &str = "payments do not ask for this";

/// Routes, the same for everybody.
pub struct FixedDirectory(Arc<[Route]>);

impl FixedDirectory {
    /// The routes of a new merchant, at this fee for each payment.
    pub fn with_fee(fee: Minor) -> Self {
        let mut routes = Route::of_new_merchant();
        for route in &mut routes {
            route.fee_fixed = fee;
        }
        Self(routes.into())
    }
}

impl FixedDirectory {
    /// The routes of a world: pesos of Mexico and redirects go over a bank, pesos of Argentina through people's hands.
    pub(crate) fn of_world(fee_bps: u16, fee_fixed: i64) -> Self {
        let mut routes = Route::of_new_merchant();
        for route in &mut routes {
            let by_hand = route.method == Method::BankTransfer;
            (if by_hand { DESK } else { BANK }).clone_into(&mut route.rail);
            route.fee_bps = fee_bps;
            route.fee_fixed = Minor::new(fee_fixed).unwrap_or(Minor::ZERO);
        }
        Self(routes.into())
    }
}

#[async_trait]
impl Directory for FixedDirectory {
    async fn routes(&self, _: MerchantId) -> Read<Arc<[Route]>> {
        Ok(Arc::clone(&self.0))
    }

    async fn beneficiary(&self, _: Tenant, _: BeneficiaryKind, _: i32) -> Read<Option<Beneficiary>> {
        Ok(None)
    }

    async fn add_merchant(&self, _: Merchant, _: Vec<Route>, _: AuditRecord) -> Written {
        unreachable!("{NOT_ASKED}")
    }

    async fn update_merchant(&self, _: MerchantChange, _: AuditRecord) -> Written {
        unreachable!("{NOT_ASKED}")
    }

    async fn merchant(&self, _: MerchantId) -> Read<Option<Merchant>> {
        unreachable!("{NOT_ASKED}")
    }

    async fn merchants(&self, _: MerchantFilter, _: Page) -> Read<(Vec<Merchant>, u64)> {
        unreachable!("{NOT_ASKED}")
    }

    async fn add_api_key(&self, _: ApiKeyRecord, _: AuditRecord) -> Written {
        unreachable!("{NOT_ASKED}")
    }

    async fn api_keys(&self, _: MerchantId) -> Read<Vec<ApiKeyRecord>> {
        unreachable!("{NOT_ASKED}")
    }

    async fn revoke_api_key(&self, _: MerchantId, _: &str, _: Timestamp, _: AuditRecord) -> Written {
        unreachable!("{NOT_ASKED}")
    }

    async fn api_key_by_hash(&self, _: &str) -> Read<Option<Arc<KeyEnvelope<ApiKeyRecord>>>> {
        unreachable!("{NOT_ASKED}")
    }

    async fn api_key_by_id(&self, _: &str) -> Read<Option<Arc<KeyEnvelope<ApiKeyRecord>>>> {
        unreachable!("{NOT_ASKED}")
    }

    async fn note_api_keys_used(&self, _: Vec<(String, Timestamp)>) -> Read<()> {
        unreachable!("{NOT_ASKED}")
    }

    async fn add_credential(&self, _: HmacCredential, _: AuditRecord) -> Written {
        unreachable!("{NOT_ASKED}")
    }

    async fn credentials(&self, _: MerchantId) -> Read<Arc<[KeyEnvelope<HmacCredential>]>> {
        unreachable!("{NOT_ASKED}")
    }

    async fn credential_by_id(&self, _: &str) -> Read<Option<Arc<KeyEnvelope<HmacCredential>>>> {
        unreachable!("{NOT_ASKED}")
    }

    async fn revoke_credential(&self, _: MerchantId, _: &str, _: Timestamp, _: AuditRecord) -> Written {
        unreachable!("{NOT_ASKED}")
    }

    async fn switch_version(
        &self,
        _: MerchantChange,
        _: Vec<HmacCredential>,
        _: Timestamp,
        _: AuditRecord,
    ) -> Written {
        unreachable!("{NOT_ASKED}")
    }

    async fn replace_routes(&self, _: MerchantId, _: Vec<Route>, _: AuditRecord) -> Written {
        unreachable!("{NOT_ASKED}")
    }

    async fn add_beneficiary(&self, _: Beneficiary, _: AuditRecord) -> Result<i32, DirectoryError> {
        unreachable!("{NOT_ASKED}")
    }

    async fn beneficiaries(&self, _: MerchantId, _: Period, _: Page) -> Read<(Vec<Beneficiary>, u64)> {
        unreachable!("{NOT_ASKED}")
    }

    async fn add_operator(&self, _: Operator, _: AuditRecord) -> Written {
        unreachable!("{NOT_ASKED}")
    }

    async fn operators(&self, _: Page) -> Read<(Vec<Operator>, u64)> {
        unreachable!("{NOT_ASKED}")
    }

    async fn revoke_operator(&self, _: &str, _: Timestamp, _: AuditRecord) -> Written {
        unreachable!("{NOT_ASKED}")
    }

    async fn operator_by_hash(&self, _: &str) -> Read<Option<Arc<Operator>>> {
        unreachable!("{NOT_ASKED}")
    }

    async fn audit_log(&self, _: AuditFilter, _: Page) -> Read<(Vec<AuditRecord>, u64)> {
        unreachable!("{NOT_ASKED}")
    }
}
