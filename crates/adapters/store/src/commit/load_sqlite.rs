//! Loading on SQLite: one cached statement for each key, which costs a few microseconds and no round trip.
//!
//! None of them has a `LIMIT`: SQLite would look at its bound value and prepare the statement anew each time.

use diesel::{
    ExpressionMethods as _, OptionalExtension as _, QueryDsl as _, RunQueryDsl as _, SqliteConnection,
    dsl::min,
};
use quipu_kernel::{CustomerId, Timestamp};

use super::state::{KnownBalance, Standing, State, Wanted};
use crate::{
    connection::BeginWriting,
    error::Fault,
    schema::{balances, customers, kept_answers, nonces, payments},
    stored::{Totals, balance_from, parsed, totals},
};

/// Begins the transaction and loads everything `wanted`. It holds the database's only write lock, so that nothing needs
/// locking.
pub(crate) fn begin(conn: &mut SqliteConnection, wanted: &Wanted) -> Result<State, Fault> {
    BeginWriting.execute(conn)?;
    let mut state = State::default();
    for key in &wanted.nonces {
        let row = nonces::table.find((key.0, &key.1)).select(nonces::expires_at);
        if let Some(expires_at) = row.get_result::<i64>(conn).optional()? {
            state.nonces.insert(key.clone(), Timestamp::from_millis(expires_at));
        }
    }
    for key in &wanted.answers {
        let (tenant, audience, text) = key;
        let row = kept_answers::table
            .find((tenant.merchant().0, tenant.environment().as_str(), audience.as_str(), text))
            .select(kept_answers::expires_at);
        if let Some(expires_at) = row.get_result::<i64>(conn).optional()? {
            state.answers.insert(key.clone(), Timestamp::from_millis(expires_at));
        }
    }
    load_payments(conn, wanted, &mut state)?;
    load_customers(conn, wanted, &mut state)?;
    for (tenant, currency) in &wanted.balances {
        let row = balances::table
            .find((tenant.merchant().0, tenant.environment().as_str(), currency.as_str()))
            .select(totals!());
        if let Some(totals) = row.get_result::<Totals>(conn).optional()? {
            let balance = balance_from(*currency, totals)?;
            let known = KnownBalance { balance, stored: true, touched: false };
            state.balances.insert((*tenant, *currency), known);
        }
    }
    Ok(state)
}

fn load_payments(conn: &mut SqliteConnection, wanted: &Wanted, state: &mut State) -> Result<(), Fault> {
    for (tenant, id) in &wanted.payments {
        let row = payments::table
            .find((tenant.merchant().0, tenant.environment().as_str(), id.as_str()))
            .select((payments::status, payments::status_version));
        if let Some((status, version)) = row.get_result::<(String, i32)>(conn).optional()? {
            let standing = Standing { status: parsed("a status", &status)?, version };
            state.payments.insert((*tenant, id.clone()), standing);
        }
    }
    for (tenant, reference) in &wanted.references {
        let row = payments::table
            .filter(payments::merchant_id.eq(tenant.merchant().0))
            .filter(payments::environment.eq(tenant.environment().as_str()))
            .filter(payments::merchant_reference.eq(reference))
            .filter(payments::holds_reference)
            .select(payments::id);
        if let Some(id) = row.get_result::<String>(conn).optional()? {
            state.references.insert((*tenant, reference.clone()), parsed("a payment", &id)?);
        }
    }
    Ok(())
}

fn load_customers(conn: &mut SqliteConnection, wanted: &Wanted, state: &mut State) -> Result<(), Fault> {
    for (tenant, email) in &wanted.emails {
        let row = customers::table
            .filter(customers::merchant_id.eq(tenant.merchant().0))
            .filter(customers::environment.eq(tenant.environment().as_str()))
            .filter(customers::email_key.eq(email))
            .select(customers::id);
        if let Some(id) = row.get_result::<i64>(conn).optional()? {
            state.emails.insert((*tenant, email.clone()), CustomerId(id));
        }
    }
    for (tenant, phone) in &wanted.phones {
        let row = customers::table
            .filter(customers::merchant_id.eq(tenant.merchant().0))
            .filter(customers::environment.eq(tenant.environment().as_str()))
            .filter(customers::phone_key.eq(phone))
            .select(min(customers::id));
        if let Some(id) = row.get_result::<Option<i64>>(conn)? {
            state.phones.insert((*tenant, phone.clone()), CustomerId(id));
        }
    }
    Ok(())
}
