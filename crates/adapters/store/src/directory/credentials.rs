//! v2 credentials.

use diesel::{ExpressionMethods as _, Insertable, QueryDsl as _, Queryable};
use quipu_kernel::{MerchantId, Timestamp};
use quipu_merchants::{DirectoryError, HmacCredential, KeyEnvelope};

use super::{
    merchants,
    revoke::{revoke, revoke_all},
};
use crate::{
    connection::{Connection, execute, first, load},
    error::{Fault, Refused},
    rows::stored::{from_json, tenant_of, to_json},
    schema::hmac_credentials as credentials,
};

/// A credential's row, column by column.
#[derive(Debug, Queryable, Insertable)]
#[diesel(table_name = credentials, treat_none_as_default_value = false)]
struct CredentialRow {
    credential_id: String,
    merchant_id: i64,
    environment: String,
    sealed_secret: String,
    rate_limits: String,
    revoked_at: Option<i64>,
    created_at: i64,
}

impl CredentialRow {
    fn of(credential: HmacCredential) -> Result<Self, Fault> {
        Ok(Self {
            credential_id: credential.credential_id,
            merchant_id: credential.tenant.merchant().0,
            environment: credential.tenant.environment().as_str().to_owned(),
            sealed_secret: credential.sealed_secret,
            rate_limits: to_json(&credential.rate_limits)?,
            revoked_at: credential.revoked_at.map(Timestamp::millis),
            created_at: credential.created_at.millis(),
        })
    }

    fn into_credential(self) -> Result<HmacCredential, Fault> {
        Ok(HmacCredential {
            credential_id: self.credential_id,
            tenant: tenant_of(self.merchant_id, &self.environment)?,
            sealed_secret: self.sealed_secret,
            rate_limits: from_json("a credential's limits", &self.rate_limits)?,
            revoked_at: self.revoked_at.map(Timestamp::from_millis),
            created_at: Timestamp::from_millis(self.created_at),
        })
    }
}

/// Adds a credential, unless its tenant has the greatest number of active ones. The merchant is locked, so
/// that the count is right however many are added at the same time.
pub(super) async fn add(
    conn: &mut Connection,
    credential: HmacCredential,
) -> Result<(), Refused<DirectoryError>> {
    merchants::lock(conn, credential.tenant.merchant()).await?;
    let active = credentials::table
        .filter(credentials::merchant_id.eq(credential.tenant.merchant().0))
        .filter(credentials::environment.eq(credential.tenant.environment().as_str()))
        .filter(credentials::revoked_at.is_null())
        .count();
    let active = first!(conn, i64, active)?.unwrap_or(0);
    if active >= i64::try_from(HmacCredential::MOST_ACTIVE).unwrap_or(i64::MAX) {
        return Err(Refused::Rule(DirectoryError::LimitReached(
            "a merchant has at most two active credentials in each environment",
        )));
    }
    insert(conn, credential).await
}

/// Adds a credential to a merchant that is locked already.
pub(super) async fn insert(
    conn: &mut Connection,
    credential: HmacCredential,
) -> Result<(), Refused<DirectoryError>> {
    let row = CredentialRow::of(credential)?;
    execute!(conn, diesel::insert_into(credentials::table).values(&row))?;
    Ok(())
}

/// All credentials of a merchant, newest first.
pub(super) async fn of_merchant(
    conn: &mut Connection,
    merchant: MerchantId,
) -> Result<Vec<KeyEnvelope<HmacCredential>>, Fault> {
    let Some(merchant) = merchants::find(conn, merchant).await? else { return Ok(Vec::new()) };
    let query = credentials::table
        .filter(credentials::merchant_id.eq(merchant.id.0))
        .order((credentials::created_at.desc(), credentials::credential_id.desc()));
    let rows = load!(conn, CredentialRow, query)?;
    let envelope =
        |row: CredentialRow| Ok(KeyEnvelope { key: row.into_credential()?, merchant: merchant.clone() });
    rows.into_iter().map(envelope).collect()
}

/// The credential with this identifier, with its merchant.
pub(super) async fn find(
    conn: &mut Connection,
    credential_id: &str,
) -> Result<Option<KeyEnvelope<HmacCredential>>, Fault> {
    let query = credentials::table.filter(credentials::credential_id.eq(credential_id));
    let Some(row) = first!(conn, CredentialRow, query)? else { return Ok(None) };
    let merchant = merchants::find(conn, MerchantId(row.merchant_id)).await?;
    merchant.map(|merchant| Ok(KeyEnvelope { key: row.into_credential()?, merchant })).transpose()
}

/// Revokes a credential; answers whether it was active until now.
pub(super) async fn revoke(
    conn: &mut Connection,
    merchant: MerchantId,
    credential_id: &str,
    at: Timestamp,
) -> Result<bool, Refused<DirectoryError>> {
    merchants::lock(conn, merchant).await?;
    revoke!(conn, credentials, credentials::credential_id, credential_id, merchant, at)
}

/// Revokes every active credential of a merchant that is locked already; answers their identifiers.
pub(super) async fn revoke_all(
    conn: &mut Connection,
    merchant: MerchantId,
    at: Timestamp,
) -> Result<Vec<String>, Fault> {
    revoke_all!(conn, credentials, credentials::credential_id, merchant, at)
}
