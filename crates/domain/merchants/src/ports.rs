//! The ports that a store implements for this crate.

use std::sync::Arc;

use async_trait::async_trait;
use quipu_kernel::{MerchantId, Page, Period, StoreError, Tenant, Timestamp};

use crate::{
    api_key::{ApiKeyRecord, KeyEnvelope},
    audit::AuditRecord,
    beneficiary::{Beneficiary, BeneficiaryKind, NewBeneficiary},
    credential::HmacCredential,
    error::DirectoryError,
    listing::{AuditFilter, MerchantFilter},
    merchant::{Merchant, MerchantChange},
    operator::Operator,
    route::Route,
};

/// What payments read: a merchant's routes and saved beneficiaries. These reads see everything that was
/// written through the [`Directory`].
#[async_trait]
pub trait RouteBook: Send + Sync {
    /// All routes of a merchant, in the order of their keys.
    async fn routes(&self, merchant: MerchantId) -> Result<Arc<[Route]>, StoreError>;

    /// The saved beneficiary with this tenant, kind and number.
    async fn beneficiary(
        &self,
        tenant: Tenant,
        kind: BeneficiaryKind,
        id: i32,
    ) -> Result<Option<Beneficiary>, StoreError>;
}

/// The look-ups that find the caller of a request; every call makes them. They may be answered from memory: a
/// read sees every write that this node acknowledged before the read began, and writes of other nodes after
/// two seconds at most.
#[async_trait]
pub trait CallerBook: Send + Sync {
    /// The key with this hash, revoked and expired ones included, with its merchant.
    async fn api_key_by_hash(&self, hash: &str)
    -> Result<Option<Arc<KeyEnvelope<ApiKeyRecord>>>, StoreError>;

    /// The key with this identifier, with its merchant: the key with which a bearer token was made.
    async fn api_key_by_id(&self, key_id: &str)
    -> Result<Option<Arc<KeyEnvelope<ApiKeyRecord>>>, StoreError>;

    /// All credentials of a merchant, newest first, revoked ones included.
    async fn credentials(
        &self,
        merchant: MerchantId,
    ) -> Result<Arc<[Arc<KeyEnvelope<HmacCredential>>]>, StoreError>;

    /// The credential with this identifier, with its merchant: the credential with which a bearer token was
    /// made.
    async fn credential_by_id(
        &self,
        credential_id: &str,
    ) -> Result<Option<Arc<KeyEnvelope<HmacCredential>>>, StoreError>;

    /// The member of staff with this token hash, revoked ones included.
    async fn operator_by_hash(&self, hash: &str) -> Result<Option<Arc<Operator>>, StoreError>;

    /// The merchant with this number; for code that asks often.
    async fn remembered_merchant(&self, id: MerchantId) -> Result<Option<Arc<Merchant>>, StoreError>;

    /// Notes when keys were last used. An earlier time than the stored one changes nothing.
    async fn note_api_keys_used(&self, uses: Vec<(String, Timestamp)>) -> Result<(), StoreError>;
}

/// Merchants with their API keys and HMAC credentials. Every write takes the [`AuditRecord`] that tells of it
/// and commits both or neither.
#[async_trait]
pub trait Merchants: Send + Sync {
    /// Adds a merchant with its first routes. Refused with `Conflict` if its number is taken.
    async fn add_merchant(
        &self,
        merchant: Merchant,
        routes: Vec<Route>,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError>;

    /// Changes a merchant's name, status, return URLs and webhook secrets. Refused with `NotFound`, or with
    /// `Stale` if the stored merchant is no longer the one before the change.
    async fn update_merchant(&self, change: MerchantChange, audit: AuditRecord)
    -> Result<(), DirectoryError>;

    /// The merchant with this number.
    async fn merchant(&self, id: MerchantId) -> Result<Option<Merchant>, StoreError>;

    /// A page of merchants, newest first, and the number of all that pass the filter.
    async fn merchants(&self, filter: MerchantFilter, page: Page)
    -> Result<(Vec<Merchant>, u64), StoreError>;

    /// Adds an API key. Refused with `NotFound` if there is no such merchant, and with `Conflict` if it is on v2, whose
    /// calls are signed.
    async fn add_api_key(&self, key: ApiKeyRecord, audit: AuditRecord) -> Result<(), DirectoryError>;

    /// All keys of a merchant, newest first, revoked ones included.
    async fn api_keys(&self, merchant: MerchantId) -> Result<Vec<ApiKeyRecord>, StoreError>;

    /// Revokes a key of this merchant at `at`; revoking it again changes nothing. Refused with `NotFound`.
    async fn revoke_api_key(
        &self,
        merchant: MerchantId,
        key_id: &str,
        at: Timestamp,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError>;

    /// Adds a v2 credential. Refused with `LimitReached` beyond [`HmacCredential::MOST_ACTIVE`] active ones of the
    /// tenant, however many are added at once, and with `NotFound` if there is no such merchant.
    async fn add_credential(
        &self,
        credential: HmacCredential,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError>;

    /// Revokes a credential of this merchant; revoking it again changes nothing. Refused with `NotFound`.
    async fn revoke_credential(
        &self,
        merchant: MerchantId,
        credential_id: &str,
        at: Timestamp,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError>;

    /// Moves a merchant to v2, or back to v1, in one commit: the version changes, every active API key and
    /// credential is revoked at `at`, and `issued` (empty for v1) is added. The store adds them to
    /// `audit.after` ([`AuditRecord::of_switch`]). Refused like [`Merchants::update_merchant`].
    async fn switch_version(
        &self,
        change: MerchantChange,
        issued: Vec<HmacCredential>,
        at: Timestamp,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError>;
}

/// The writes of staff to a [`RouteBook`]. Every write takes the [`AuditRecord`] that tells of it and commits
/// both or neither.
#[async_trait]
pub trait Routing: RouteBook {
    /// Replaces all routes of a merchant. `audit.before` becomes the routes that were actually replaced, even
    /// if somebody else replaces them at the same time. Refused with `NotFound`.
    async fn replace_routes(
        &self,
        merchant: MerchantId,
        routes: Vec<Route>,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError>;

    /// Saves a beneficiary under the next number that no beneficiary has. The store adds the number to
    /// `audit.after` as `ibanAccountId`. Refused with `NotFound`, or with `LimitReached` when the numbers are
    /// used up.
    async fn add_beneficiary(
        &self,
        beneficiary: NewBeneficiary,
        audit: AuditRecord,
    ) -> Result<Beneficiary, DirectoryError>;

    /// A page of a merchant's beneficiaries of both environments that were saved in a period, newest first,
    /// and the number of all of them.
    async fn beneficiaries(
        &self,
        merchant: MerchantId,
        created: Period,
        page: Page,
    ) -> Result<(Vec<Beneficiary>, u64), StoreError>;
}

/// The operator's staff, and the log of what they changed. Every write takes the [`AuditRecord`] that tells
/// of it and commits both or neither.
#[async_trait]
pub trait Staff: Send + Sync {
    /// Adds a member of staff.
    async fn add_operator(&self, operator: Operator, audit: AuditRecord) -> Result<(), DirectoryError>;

    /// A page of the members of staff who were added in a period, newest first, including revoked ones, and the
    /// number of all of them.
    async fn operators(&self, created: Period, page: Page) -> Result<(Vec<Operator>, u64), StoreError>;

    /// Revokes a member of staff's token at `at`; revoking it again changes nothing. Refused with `NotFound`, and
    /// with `Conflict` for an active admin unless another one is active at `at` whose token ends no earlier, however
    /// many are revoked at once: the last who can let others in stays.
    async fn revoke_operator(
        &self,
        operator_id: &str,
        at: Timestamp,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError>;

    /// A page of the audit log, newest first, and how many lines pass the filter in all.
    async fn audit_log(&self, filter: AuditFilter, page: Page)
    -> Result<(Vec<AuditRecord>, u64), StoreError>;
}

/// Everything that the operator's verbs change: merchants with their keys, routes and beneficiaries, and staff.
pub trait Directory: Merchants + Routing + Staff {}

impl<D: Merchants + Routing + Staff + ?Sized> Directory for D {}
