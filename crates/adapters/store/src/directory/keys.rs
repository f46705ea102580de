//! API keys.

use diesel::{
    ExpressionMethods as _, Insertable, QueryDsl as _, Queryable,
    pg::Pg,
    sql_types::{Array, BigInt, Text},
};
use quipu_kernel::{MerchantId, Timestamp};
use quipu_merchants::{ApiKeyRecord, ApiVersion, DirectoryError, KeyEnvelope, Scopes};

use super::{
    merchants,
    revoke::{revoke, revoke_all},
};
use crate::{
    connection::{Connection, execute, first, load},
    error::{Fault, Refused},
    rows::stored::{from_json, tenant_of, to_json},
    schema::api_keys,
    statement::statement,
};

/// A key's row, column by column.
#[derive(Debug, Queryable, Insertable)]
#[diesel(table_name = api_keys, treat_none_as_default_value = false)]
struct KeyRow {
    key_id: String,
    merchant_id: i64,
    environment: String,
    name: String,
    hash: String,
    last_four: String,
    scopes: String,
    rate_limits: String,
    expires_at: Option<i64>,
    revoked_at: Option<i64>,
    last_used_at: Option<i64>,
    created_at: i64,
}

impl KeyRow {
    fn of(key: ApiKeyRecord) -> Result<Self, Fault> {
        Ok(Self {
            key_id: key.key_id,
            merchant_id: key.tenant.merchant().0,
            environment: key.tenant.environment().as_str().to_owned(),
            name: key.name,
            hash: key.hash,
            last_four: key.last_four,
            scopes: key.scopes.to_text(),
            rate_limits: to_json(&key.rate_limits)?,
            expires_at: key.expires_at.map(Timestamp::millis),
            revoked_at: key.revoked_at.map(Timestamp::millis),
            last_used_at: key.last_used_at.map(Timestamp::millis),
            created_at: key.created_at.millis(),
        })
    }

    fn into_key(self) -> Result<ApiKeyRecord, Fault> {
        Ok(ApiKeyRecord {
            key_id: self.key_id,
            tenant: tenant_of(self.merchant_id, &self.environment)?,
            name: self.name,
            hash: self.hash,
            last_four: self.last_four,
            scopes: Scopes::parse(&self.scopes).map_err(|error| Fault::Corrupt(error.to_string()))?,
            rate_limits: from_json("a key's limits", &self.rate_limits)?,
            expires_at: self.expires_at.map(Timestamp::from_millis),
            revoked_at: self.revoked_at.map(Timestamp::from_millis),
            last_used_at: self.last_used_at.map(Timestamp::from_millis),
            created_at: Timestamp::from_millis(self.created_at),
        })
    }
}

/// Adds a key to a merchant of v1.
pub(super) async fn add(conn: &mut Connection, key: ApiKeyRecord) -> Result<(), Refused<DirectoryError>> {
    merchants::lock(conn, key.tenant.merchant()).await?;
    let merchant =
        merchants::find(conn, key.tenant.merchant()).await?.ok_or(Refused::Rule(DirectoryError::NotFound))?;
    if merchant.api_version != ApiVersion::V1 {
        return Err(Refused::Rule(DirectoryError::Conflict(ApiKeyRecord::ONLY_V1)));
    }
    let row = KeyRow::of(key)?;
    execute!(conn, diesel::insert_into(api_keys::table).values(&row))?;
    Ok(())
}

/// All keys of a merchant, newest first.
pub(super) async fn of_merchant(
    conn: &mut Connection,
    merchant: MerchantId,
) -> Result<Vec<ApiKeyRecord>, Fault> {
    let query = api_keys::table
        .filter(api_keys::merchant_id.eq(merchant.0))
        .order((api_keys::created_at.desc(), api_keys::key_id.desc()));
    load!(conn, KeyRow, query)?.into_iter().map(KeyRow::into_key).collect()
}

/// The column by which a key is found.
#[derive(Debug)]
pub(super) enum By {
    Hash(String),
    Id(String),
}

/// The key that is looked for, with its merchant.
pub(super) async fn find(conn: &mut Connection, by: By) -> Result<Option<KeyEnvelope<ApiKeyRecord>>, Fault> {
    let row = match by {
        By::Hash(hash) => first!(conn, KeyRow, api_keys::table.filter(api_keys::hash.eq(&hash)))?,
        By::Id(id) => first!(conn, KeyRow, api_keys::table.filter(api_keys::key_id.eq(&id)))?,
    };
    let Some(row) = row else { return Ok(None) };
    let merchant = merchants::find(conn, MerchantId(row.merchant_id)).await?;
    merchant.map(|merchant| Ok(KeyEnvelope { key: row.into_key()?, merchant })).transpose()
}

/// Revokes a key; answers whether it was active until now.
pub(super) async fn revoke(
    conn: &mut Connection,
    merchant: MerchantId,
    key_id: &str,
    at: Timestamp,
) -> Result<bool, Refused<DirectoryError>> {
    merchants::lock(conn, merchant).await?;
    revoke!(conn, api_keys, api_keys::key_id, key_id, merchant, at)
}

/// Revokes every active key of a merchant that is locked already; answers their identifiers.
pub(super) async fn revoke_all(
    conn: &mut Connection,
    merchant: MerchantId,
    at: Timestamp,
) -> Result<Vec<String>, Fault> {
    revoke_all!(conn, api_keys, api_keys::key_id, merchant, at)
}

// In one round trip, however many keys there are. A row that somebody has locked is left out, or one merchant's lock
// would hold up the uses of all.
statement! { NoteUses on Pg {
    "UPDATE api_keys SET last_used_at = used.at FROM (SELECT key_id, noted.at FROM UNNEST ("
    => ids: Vec<&'a str> as Array<Text>, ", " => times: Vec<i64> as Array<BigInt> ;
    ") AS noted (key_id, at) JOIN api_keys USING (key_id) WHERE last_used_at IS NULL OR last_used_at < noted.at
     ORDER BY key_id FOR UPDATE OF api_keys SKIP LOCKED) AS used WHERE api_keys.key_id = used.key_id"
} }

/// Notes when keys were last used.
pub(super) async fn note_used(conn: &mut Connection, uses: Vec<(String, Timestamp)>) -> Result<(), Fault> {
    if let Connection::Postgres(conn) = conn {
        use diesel_async::RunQueryDsl as _;
        let (ids, times) = uses.iter().map(|(key_id, at)| (key_id.as_str(), at.millis())).unzip();
        NoteUses { ids, times }.execute(&mut ***conn).await?;
        return Ok(());
    }
    for (key_id, at) in &uses {
        let older =
            api_keys::table.filter(api_keys::key_id.eq(key_id)).filter(diesel::BoolExpressionMethods::or(
                api_keys::last_used_at.is_null(),
                diesel::NullableExpressionMethods::assume_not_null(api_keys::last_used_at).lt(at.millis()),
            ));
        execute!(conn, diesel::update(older).set(api_keys::last_used_at.eq(at.millis())))?;
    }
    Ok(())
}
