//! Loading on PostgreSQL: one statement a table for all keys of the batch, each row told apart by its key's place.

use std::{collections::HashMap, hash::Hash};

use diesel::{
    pg::Pg,
    sql_types::{Array, BigInt, Integer, Text},
};
use diesel_async::{AsyncPgConnection, RunQueryDsl as _, SimpleAsyncConnection as _};
use quipu_kernel::{Currency, CustomerId, PaymentId, Tenant, Timestamp};

use super::state::{AnswerKey, KnownBalance, Standing, State, Wanted};
use crate::{
    error::Fault,
    statement::statement,
    stored::{balance_from, parsed},
};

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

/// Begins the transaction and loads everything `wanted`, all of it sent at once. The balances are locked first and then the
/// payments, each in the order of their keys, as every lane of every node does it.
pub(crate) async fn begin(conn: &AsyncPgConnection, wanted: &Wanted) -> Result<State, Fault> {
    let mut session = conn;
    let (begun, balances, payments, nonces, answers, references, emails, phones) = tokio::join!(
        biased;
        session.batch_execute("BEGIN"),
        lock_balances(conn, wanted),
        lock_payments(conn, wanted),
        find_nonces(conn, wanted),
        find_answers(conn, wanted),
        find_holders(conn, wanted),
        find_emails(conn, wanted),
        find_phones(conn, wanted),
    );
    begun?;
    Ok(State {
        balances: balances?,
        payments: payments?,
        nonces: nonces?,
        answers: answers?,
        references: references?,
        emails: emails?,
        phones: phones?,
    })
}

async fn lock_balances(
    conn: &AsyncPgConnection,
    wanted: &Wanted,
) -> Result<HashMap<(Tenant, Currency), KnownBalance>, Fault> {
    if wanted.balances.is_empty() {
        return Ok(HashMap::new());
    }
    let keys: Vec<_> = wanted.balances.iter().collect();
    let (merchants, environments) = tenants(keys.iter().map(|(tenant, _)| tenant));
    let currencies = keys.iter().map(|(_, currency)| currency.as_str()).collect();
    let statement = LockBalances { merchants, environments, currencies };
    let rows = statement.load::<(i64, i64, i64, i64, i64, i64, i64)>(&mut &*conn).await?;
    let known = rows.into_iter().map(|row| {
        let (tenant, currency) = at(&keys, row.0)?;
        let balance = balance_from(*currency, (row.1, row.2, row.3, row.4, row.5, row.6))?;
        Ok(((*tenant, *currency), KnownBalance { balance, stored: true, touched: false }))
    });
    known.collect()
}

async fn lock_payments(
    conn: &AsyncPgConnection,
    wanted: &Wanted,
) -> Result<HashMap<(Tenant, PaymentId), Standing>, Fault> {
    if wanted.payments.is_empty() {
        return Ok(HashMap::new());
    }
    let keys: Vec<_> = wanted.payments.iter().collect();
    let (merchants, environments) = tenants(keys.iter().map(|(tenant, _)| tenant));
    let ids = keys.iter().map(|(_, id)| id.as_str()).collect();
    let statement = LockPayments { merchants, environments, ids };
    let rows = statement.load::<(i64, String, i32)>(&mut &*conn).await?;
    let standings = rows.into_iter().map(|(place, status, version)| {
        let standing = Standing { status: parsed("a status", &status)?, version };
        Ok(((*at(&keys, place)?).clone(), standing))
    });
    standings.collect()
}

async fn find_nonces(
    conn: &AsyncPgConnection,
    wanted: &Wanted,
) -> Result<HashMap<(i64, String), Timestamp>, Fault> {
    if wanted.nonces.is_empty() {
        return Ok(HashMap::new());
    }
    let keys: Vec<_> = wanted.nonces.iter().collect();
    let (merchants, values) = keys.iter().map(|(merchant, value)| (*merchant, value.as_str())).unzip();
    let rows = (FindNonces { merchants, values }).load::<(i64, i64)>(&mut &*conn).await?;
    by_key(&keys, rows, Timestamp::from_millis)
}

async fn find_answers(
    conn: &AsyncPgConnection,
    wanted: &Wanted,
) -> Result<HashMap<AnswerKey, Timestamp>, Fault> {
    if wanted.answers.is_empty() {
        return Ok(HashMap::new());
    }
    let keys: Vec<_> = wanted.answers.iter().collect();
    let (merchants, environments) = tenants(keys.iter().map(|(tenant, ..)| tenant));
    let audiences = keys.iter().map(|(_, audience, _)| audience.as_str()).collect();
    let texts = keys.iter().map(|(.., key)| key.as_str()).collect();
    let statement = FindAnswers { merchants, environments, audiences, keys: texts };
    by_key(&keys, statement.load::<(i64, i64)>(&mut &*conn).await?, Timestamp::from_millis)
}

async fn find_holders(
    conn: &AsyncPgConnection,
    wanted: &Wanted,
) -> Result<HashMap<(Tenant, String), PaymentId>, Fault> {
    if wanted.references.is_empty() {
        return Ok(HashMap::new());
    }
    let keys: Vec<_> = wanted.references.iter().collect();
    let (merchants, environments) = tenants(keys.iter().map(|(tenant, _)| tenant));
    let references = keys.iter().map(|(_, reference)| reference.as_str()).collect();
    let statement = FindHolders { merchants, environments, references };
    let rows = statement.load::<(i64, String)>(&mut &*conn).await?;
    let holders = rows.into_iter();
    holders.map(|(place, id)| Ok(((*at(&keys, place)?).clone(), parsed("a payment", &id)?))).collect()
}

async fn find_emails(
    conn: &AsyncPgConnection,
    wanted: &Wanted,
) -> Result<HashMap<(Tenant, String), CustomerId>, Fault> {
    if wanted.emails.is_empty() {
        return Ok(HashMap::new());
    }
    let keys: Vec<_> = wanted.emails.iter().collect();
    let (merchants, environments) = tenants(keys.iter().map(|(tenant, _)| tenant));
    let texts = keys.iter().map(|(_, key)| key.as_str()).collect();
    let statement = FindEmails { merchants, environments, keys: texts };
    by_key(&keys, statement.load::<(i64, i64)>(&mut &*conn).await?, CustomerId)
}

async fn find_phones(
    conn: &AsyncPgConnection,
    wanted: &Wanted,
) -> Result<HashMap<(Tenant, String), CustomerId>, Fault> {
    if wanted.phones.is_empty() {
        return Ok(HashMap::new());
    }
    let keys: Vec<_> = wanted.phones.iter().collect();
    let (merchants, environments) = tenants(keys.iter().map(|(tenant, _)| tenant));
    let texts = keys.iter().map(|(_, key)| key.as_str()).collect();
    let statement = FindPhones { merchants, environments, keys: texts };
    by_key(&keys, statement.load::<(i64, i64)>(&mut &*conn).await?, CustomerId)
}

/// What was found, under the keys that it was looked for by.
fn by_key<K: Clone + Eq + Hash, V>(
    keys: &[&K],
    rows: Vec<(i64, i64)>,
    value: impl Fn(i64) -> V,
) -> Result<HashMap<K, V>, Fault> {
    rows.into_iter().map(|(place, found)| Ok(((*at(keys, place)?).clone(), value(found)))).collect()
}
