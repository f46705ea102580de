//! Loading on PostgreSQL: one statement a table for all keys of the batch, each row told apart by its key's place.

use diesel::{
    pg::Pg,
    sql_types::{Array, BigInt, Integer, Text},
};
use diesel_async::{AsyncPgConnection, RunQueryDsl as _};
use quipu_kernel::{CustomerId, Tenant, Timestamp};

use super::{
    load::{balance_from, parsed},
    state::{KnownBalance, Standing, State, Wanted},
};
use crate::{error::Fault, statement::statement};

statement! { FindNonces on Pg => (BigInt, BigInt) {
    "SELECT wanted.place, found.expires_at FROM UNNEST (" merchants: Vec<i64> as Array<BigInt>,
    ", " values: Vec<&'a str> as Array<Text> ;
    ") WITH ORDINALITY AS wanted (merchant_id, value, place)
     JOIN nonces AS found ON found.merchant_id = wanted.merchant_id AND found.value = wanted.value"
} }

statement! { FindAnswers on Pg => (BigInt, BigInt) {
    "SELECT wanted.place, found.expires_at FROM UNNEST (" merchants: Vec<i64> as Array<BigInt>,
    ", " environments: Vec<&'a str> as Array<Text>, ", " audiences: Vec<&'a str> as Array<Text>,
    ", " keys: Vec<&'a str> as Array<Text> ;
    ") WITH ORDINALITY AS wanted (merchant_id, environment, audience, key, place)
     JOIN kept_answers AS found ON found.merchant_id = wanted.merchant_id AND found.environment = wanted.environment
        AND found.audience = wanted.audience AND found.key = wanted.key"
} }

statement! { LockPayments on Pg => (BigInt, Text, Integer) {
    "SELECT wanted.place, found.status, found.status_version FROM UNNEST (" merchants: Vec<i64> as Array<BigInt>,
    ", " environments: Vec<&'a str> as Array<Text>, ", " ids: Vec<&'a str> as Array<Text> ;
    ") WITH ORDINALITY AS wanted (merchant_id, environment, id, place)
     JOIN payments AS found ON found.merchant_id = wanted.merchant_id AND found.environment = wanted.environment
        AND found.id = wanted.id
     ORDER BY wanted.place FOR UPDATE OF found"
} }

statement! { FindHolders on Pg => (BigInt, Text) {
    "SELECT wanted.place, found.id FROM UNNEST (" merchants: Vec<i64> as Array<BigInt>,
    ", " environments: Vec<&'a str> as Array<Text>, ", " references: Vec<&'a str> as Array<Text> ;
    ") WITH ORDINALITY AS wanted (merchant_id, environment, merchant_reference, place)
     JOIN payments AS found ON found.merchant_id = wanted.merchant_id AND found.environment = wanted.environment
        AND found.merchant_reference = wanted.merchant_reference AND found.holds_reference"
} }

statement! { FindEmails on Pg => (BigInt, BigInt) {
    "SELECT wanted.place, found.id FROM UNNEST (" merchants: Vec<i64> as Array<BigInt>,
    ", " environments: Vec<&'a str> as Array<Text>, ", " keys: Vec<&'a str> as Array<Text> ;
    ") WITH ORDINALITY AS wanted (merchant_id, environment, key, place)
     JOIN customers AS found ON found.merchant_id = wanted.merchant_id AND found.environment = wanted.environment
        AND found.email_key = wanted.key"
} }

statement! { FindPhones on Pg => (BigInt, BigInt) {
    "SELECT wanted.place, found.id FROM UNNEST (" merchants: Vec<i64> as Array<BigInt>,
    ", " environments: Vec<&'a str> as Array<Text>, ", " keys: Vec<&'a str> as Array<Text> ;
    ") WITH ORDINALITY AS wanted (merchant_id, environment, key, place)
     CROSS JOIN LATERAL (SELECT id FROM customers
        WHERE merchant_id = wanted.merchant_id AND environment = wanted.environment AND phone_key = wanted.key
        ORDER BY id LIMIT 1) AS found"
} }

statement! { LockBalances on Pg => (BigInt, BigInt, BigInt, BigInt, BigInt, BigInt, BigInt) {
    "SELECT wanted.place, found.available, found.frozen, found.deposit, found.withdrawal, found.commission,
        found.adjustment FROM UNNEST (" merchants: Vec<i64> as Array<BigInt>,
    ", " environments: Vec<&'a str> as Array<Text>, ", " currencies: Vec<&'a str> as Array<Text> ;
    ") WITH ORDINALITY AS wanted (merchant_id, environment, currency, place)
     JOIN balances AS found ON found.merchant_id = wanted.merchant_id AND found.environment = wanted.environment
        AND found.currency = wanted.currency
     ORDER BY wanted.place FOR UPDATE OF found"
} }

/// The two columns that every key of a tenant begins with.
fn tenants<'a>(all: impl Iterator<Item = &'a Tenant>) -> (Vec<i64>, Vec<&'static str>) {
    all.map(|tenant| (tenant.merchant().0, tenant.environment().as_str())).unzip()
}

/// The key at a place that the database counted from 1.
fn at<K>(keys: &[K], place: i64) -> Result<&K, Fault> {
    let index = usize::try_from(place - 1).ok();
    index
        .and_then(|index| keys.get(index))
        .ok_or_else(|| Fault::Corrupt("a place beyond its list".to_owned()))
}

/// Everything `wanted`. The balances are locked first and then the payments, each in the order of their keys, as every
/// lane of every node does it.
pub(crate) async fn load(conn: &mut AsyncPgConnection, wanted: &Wanted) -> Result<State, Fault> {
    let mut state = State::default();
    lock_balances(conn, wanted, &mut state).await?;
    lock_payments(conn, wanted, &mut state).await?;
    find_once_only(conn, wanted, &mut state).await?;
    find_holders(conn, wanted, &mut state).await?;
    find_customers(conn, wanted, &mut state).await?;
    Ok(state)
}

async fn lock_balances(
    conn: &mut AsyncPgConnection,
    wanted: &Wanted,
    state: &mut State,
) -> Result<(), Fault> {
    if wanted.balances.is_empty() {
        return Ok(());
    }
    let keys: Vec<_> = wanted.balances.iter().collect();
    let (merchants, environments) = tenants(keys.iter().map(|(tenant, _)| tenant));
    let currencies = keys.iter().map(|(_, currency)| currency.as_str()).collect();
    let statement = LockBalances { merchants, environments, currencies };
    for row in statement.load::<(i64, i64, i64, i64, i64, i64, i64)>(conn).await? {
        let (tenant, currency) = at(&keys, row.0)?;
        let balance = balance_from(*currency, (row.1, row.2, row.3, row.4, row.5, row.6))?;
        state.balances.insert((*tenant, *currency), KnownBalance { balance, stored: true, touched: false });
    }
    Ok(())
}

async fn lock_payments(
    conn: &mut AsyncPgConnection,
    wanted: &Wanted,
    state: &mut State,
) -> Result<(), Fault> {
    if wanted.payments.is_empty() {
        return Ok(());
    }
    let keys: Vec<_> = wanted.payments.iter().collect();
    let (merchants, environments) = tenants(keys.iter().map(|(tenant, _)| tenant));
    let ids = keys.iter().map(|(_, id)| id.as_str()).collect();
    for (place, status, version) in
        (LockPayments { merchants, environments, ids }).load::<(i64, String, i32)>(conn).await?
    {
        let standing = Standing { status: parsed("a status", &status)?, version };
        state.payments.insert((*at(&keys, place)?).clone(), standing);
    }
    Ok(())
}

async fn find_once_only(
    conn: &mut AsyncPgConnection,
    wanted: &Wanted,
    state: &mut State,
) -> Result<(), Fault> {
    if !wanted.nonces.is_empty() {
        let keys: Vec<_> = wanted.nonces.iter().collect();
        let (merchants, values) = keys.iter().map(|(merchant, value)| (*merchant, value.as_str())).unzip();
        for (place, expires_at) in (FindNonces { merchants, values }).load::<(i64, i64)>(conn).await? {
            state.nonces.insert((*at(&keys, place)?).clone(), Timestamp::from_millis(expires_at));
        }
    }
    if !wanted.answers.is_empty() {
        let keys: Vec<_> = wanted.answers.iter().collect();
        let (merchants, environments) = tenants(keys.iter().map(|(tenant, ..)| tenant));
        let audiences = keys.iter().map(|(_, audience, _)| audience.as_str()).collect();
        let texts = keys.iter().map(|(.., key)| key.as_str()).collect();
        let statement = FindAnswers { merchants, environments, audiences, keys: texts };
        for (place, expires_at) in statement.load::<(i64, i64)>(conn).await? {
            state.answers.insert((*at(&keys, place)?).clone(), Timestamp::from_millis(expires_at));
        }
    }
    Ok(())
}

async fn find_holders(conn: &mut AsyncPgConnection, wanted: &Wanted, state: &mut State) -> Result<(), Fault> {
    if wanted.references.is_empty() {
        return Ok(());
    }
    let keys: Vec<_> = wanted.references.iter().collect();
    let (merchants, environments) = tenants(keys.iter().map(|(tenant, _)| tenant));
    let references = keys.iter().map(|(_, reference)| reference.as_str()).collect();
    let statement = FindHolders { merchants, environments, references };
    for (place, id) in statement.load::<(i64, String)>(conn).await? {
        state.references.insert((*at(&keys, place)?).clone(), parsed("a payment", &id)?);
    }
    Ok(())
}

async fn find_customers(
    conn: &mut AsyncPgConnection,
    wanted: &Wanted,
    state: &mut State,
) -> Result<(), Fault> {
    if !wanted.emails.is_empty() {
        let keys: Vec<_> = wanted.emails.iter().collect();
        let (merchants, environments) = tenants(keys.iter().map(|(tenant, _)| tenant));
        let texts = keys.iter().map(|(_, key)| key.as_str()).collect();
        let statement = FindEmails { merchants, environments, keys: texts };
        for (place, id) in statement.load::<(i64, i64)>(conn).await? {
            state.emails.insert((*at(&keys, place)?).clone(), CustomerId(id));
        }
    }
    if !wanted.phones.is_empty() {
        let keys: Vec<_> = wanted.phones.iter().collect();
        let (merchants, environments) = tenants(keys.iter().map(|(tenant, _)| tenant));
        let texts = keys.iter().map(|(_, key)| key.as_str()).collect();
        let statement = FindPhones { merchants, environments, keys: texts };
        for (place, id) in statement.load::<(i64, i64)>(conn).await? {
            state.phones.insert((*at(&keys, place)?).clone(), CustomerId(id));
        }
    }
    Ok(())
}
