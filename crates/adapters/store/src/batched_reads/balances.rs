//! Balances by their keys, for several callers in one statement.

use std::collections::HashMap;

use diesel::{
    QueryDsl as _,
    pg::Pg,
    sql_types::{Array, BigInt, Text},
};
use futures_util::future::BoxFuture;
use quipu_kernel::{Currency, Tenant};
use quipu_ledger::Balance;

use crate::{
    connection::{Connection, first},
    error::Fault,
    rows::stored::{Totals, at, balance_from, totals},
    schema::balances,
    statement::statement,
};

statement! { FindBalances on Pg => (BigInt, (BigInt, BigInt, BigInt, BigInt, BigInt, BigInt)) {
    "SELECT wanted.place, found.available, found.frozen, found.deposit, found.withdrawal, found.commission,
        found.adjustment FROM UNNEST (" => merchants: Vec<i64> as Array<BigInt>,
    ", " => environments: Vec<&'a str> as Array<Text>, ", " => currencies: Vec<&'a str> as Array<Text> ;
    ") WITH ORDINALITY AS wanted (merchant_id, environment, currency, place)
     JOIN balances AS found ON found.merchant_id = wanted.merchant_id AND found.environment = wanted.environment
        AND found.currency = wanted.currency"
} }

type Key = (Tenant, Currency);

/// Balances by their keys.
pub(crate) fn look_up(
    conn: &mut Connection,
    keys: Vec<Key>,
) -> BoxFuture<'_, Result<HashMap<Key, Balance>, Fault>> {
    Box::pin(async move {
        let mut found = HashMap::with_capacity(keys.len());
        if let Connection::Postgres(conn) = conn {
            let statement = FindBalances {
                merchants: keys.iter().map(|(tenant, _)| tenant.merchant().0).collect(),
                environments: keys.iter().map(|(tenant, _)| tenant.environment().as_str()).collect(),
                currencies: keys.iter().map(|(_, currency)| currency.as_str()).collect(),
            };
            let rows = diesel_async::RunQueryDsl::load::<(i64, Totals)>(statement, &mut ***conn).await?;
            for (place, totals) in rows {
                let key = at(&keys, place)?;
                found.insert(*key, balance_from(key.1, totals)?);
            }
            return Ok(found);
        }
        for (tenant, currency) in &keys {
            let key = (tenant.merchant().0, tenant.environment().as_str(), currency.as_str());
            let row = first!(conn, Totals, balances::table.find(key).select(totals!()))?;
            if let Some(totals) = row {
                found.insert((*tenant, *currency), balance_from(*currency, totals)?);
            }
        }
        Ok(found)
    })
}
