//! Payments by their keys, for several callers in one statement.

use std::collections::HashMap;

use diesel::{
    QueryDsl as _, RunQueryDsl as _,
    pg::Pg,
    sql_types::{Array, BigInt, Text},
};
use futures_util::future::BoxFuture;
use quipu_kernel::{PaymentId, Tenant};
use quipu_payments::Payment;

use crate::{
    connection::Connection,
    error::Fault,
    rows::payment::{PaymentRow, payment_columns},
    schema::payments,
    statement::statement,
};

statement! { FindPayments on Pg => payments::SqlType {
    concat!("SELECT ", payment_columns!(), " FROM UNNEST (") => merchants: Vec<i64> as Array<BigInt>,
    ", " => environments: Vec<&'a str> as Array<Text>, ", " => ids: Vec<&'a str> as Array<Text> ;
    ") AS wanted (merchant_id, environment, id)
     JOIN payments ON payments.merchant_id = wanted.merchant_id AND payments.environment = wanted.environment
        AND payments.id = wanted.id"
} }

type Key = (Tenant, PaymentId);

/// Payments by their keys.
pub(crate) fn look_up(
    conn: &mut Connection,
    keys: Vec<Key>,
) -> BoxFuture<'_, Result<HashMap<Key, Payment>, Fault>> {
    Box::pin(async move {
        let rows = match conn {
            Connection::Sqlite(conn) => {
                let mut rows = Vec::with_capacity(keys.len());
                for (tenant, id) in &keys {
                    let key = (tenant.merchant().0, tenant.environment().as_str(), id.as_str());
                    let found = payments::table.find(key).load(conn)?;
                    rows.extend(found);
                }
                rows
            }
            Connection::Postgres(conn) => {
                let statement = FindPayments {
                    merchants: keys.iter().map(|(tenant, _)| tenant.merchant().0).collect(),
                    environments: keys.iter().map(|(tenant, _)| tenant.environment().as_str()).collect(),
                    ids: keys.iter().map(|(_, id)| id.as_str()).collect(),
                };
                diesel_async::RunQueryDsl::load::<PaymentRow>(statement, &mut ***conn).await?
            }
        };
        let payments = rows.into_iter().map(PaymentRow::into_payment);
        payments.map(|payment| payment.map(|p| ((p.terms().tenant, p.id().clone()), p))).collect()
    })
}
