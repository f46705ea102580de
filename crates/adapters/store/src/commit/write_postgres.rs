//! Writing on PostgreSQL: one statement a table for the whole batch, its rows sent as one array a column.
//!
//! The arrays are unnested in the list of the `SELECT`, which hands their elements on row by row. In its `FROM` the
//! server would first copy each array into a table of its own, which costs as much as writing the rows themselves.

use diesel::{
    QueryResult,
    pg::Pg,
    sql_types::{Array, BigInt, Integer, Nullable, Text},
};
use diesel_async::{AsyncPgConnection, RunQueryDsl as _};
use quipu_kernel::{Currency, PaymentId, Tenant};
use quipu_payments::Changes;

use super::{
    columns::{column, tenants},
    job::Job,
    payments_postgres::{insert_payments, update_payments},
    state::KnownBalance,
    writes::{Write, Writes},
};
use crate::{audit_row::AuditRow, error::Fault, schema::audit_log, statement::statement};

statement! { BurnNonces on Pg {
    "INSERT INTO nonces (merchant_id, value, expires_at) SELECT UNNEST ("
    merchants: Vec<i64> as Array<BigInt>, "), UNNEST (" values: Vec<&'a str> as Array<Text>,
    "), UNNEST (" expire: Vec<i64> as Array<BigInt>,
    ") ON CONFLICT (merchant_id, value) DO UPDATE SET expires_at = excluded.expires_at
     WHERE nonces.expires_at <= " at: i64 as BigInt ; ""
} }

statement! { KeepAnswers on Pg {
    "INSERT INTO kept_answers (merchant_id, environment, audience, key, body_hash, payment_id, status, sealed_body,
        expires_at) SELECT UNNEST ("
    merchants: Vec<i64> as Array<BigInt>, "), UNNEST (" environments: Vec<&'a str> as Array<Text>,
    "), UNNEST (" audiences: Vec<&'a str> as Array<Text>, "), UNNEST (" keys: Vec<&'a str> as Array<Text>,
    "), UNNEST (" body_hashes: Vec<&'a str> as Array<Text>,
    "), UNNEST (" payment_ids: Vec<Option<&'a str>> as Array<Nullable<Text>>,
    "), UNNEST (" statuses: Vec<i32> as Array<Integer>, "), UNNEST (" sealed_bodies: Vec<&'a str> as Array<Text>,
    "), UNNEST (" expire: Vec<i64> as Array<BigInt>,
    ") ON CONFLICT (merchant_id, environment, audience, key) DO UPDATE SET body_hash = excluded.body_hash,
        payment_id = excluded.payment_id, status = excluded.status, sealed_body = excluded.sealed_body,
        expires_at = excluded.expires_at WHERE kept_answers.expires_at <= " at: i64 as BigInt ; ""
} }

statement! { InsertCustomers on Pg {
    "INSERT INTO customers (merchant_id, environment, id, email, phone, name, email_key, phone_key, created_at)
     SELECT UNNEST ("
    merchants: Vec<i64> as Array<BigInt>, "), UNNEST (" environments: Vec<&'a str> as Array<Text>,
    "), UNNEST (" ids: Vec<i64> as Array<BigInt>, "), UNNEST (" emails: Vec<Option<&'a str>> as Array<Nullable<Text>>,
    "), UNNEST (" phones: Vec<Option<&'a str>> as Array<Nullable<Text>>,
    "), UNNEST (" names: Vec<Option<&'a str>> as Array<Nullable<Text>>,
    "), UNNEST (" email_keys: Vec<Option<String>> as Array<Nullable<Text>>,
    "), UNNEST (" phone_keys: Vec<Option<String>> as Array<Nullable<Text>>,
    "), UNNEST (" created: Vec<i64> as Array<BigInt> ; ")"
} }

statement! { AddToCounts on Pg {
    "INSERT INTO payment_counts (merchant_id, environment, status, type, method, currency, count)
     SELECT UNNEST ("
    merchants: Vec<i64> as Array<BigInt>, "), UNNEST (" environments: Vec<&'a str> as Array<Text>,
    "), UNNEST (" statuses: Vec<&'a str> as Array<Text>, "), UNNEST (" kinds: Vec<&'a str> as Array<Text>,
    "), UNNEST (" methods: Vec<&'a str> as Array<Text>, "), UNNEST (" currencies: Vec<&'a str> as Array<Text>,
    "), UNNEST (" by: Vec<i64> as Array<BigInt> ;
    ") ON CONFLICT (merchant_id, environment, status, type, method, currency)
     DO UPDATE SET count = payment_counts.count + excluded.count"
} }

statement! { InsertBalances on Pg {
    "INSERT INTO balances (merchant_id, environment, currency, available, frozen, deposit, withdrawal, commission,
        adjustment) SELECT UNNEST ("
    merchants: Vec<i64> as Array<BigInt>, "), UNNEST (" environments: Vec<&'a str> as Array<Text>,
    "), UNNEST (" currencies: Vec<&'a str> as Array<Text>, "), UNNEST (" available: Vec<i64> as Array<BigInt>,
    "), UNNEST (" frozen: Vec<i64> as Array<BigInt>, "), UNNEST (" deposit: Vec<i64> as Array<BigInt>,
    "), UNNEST (" withdrawal: Vec<i64> as Array<BigInt>, "), UNNEST (" commission: Vec<i64> as Array<BigInt>,
    "), UNNEST (" adjustment: Vec<i64> as Array<BigInt> ; ")"
} }

statement! { UpdateBalances on Pg {
    "UPDATE balances AS old SET available = new.available, frozen = new.frozen, deposit = new.deposit,
        withdrawal = new.withdrawal, commission = new.commission, adjustment = new.adjustment
     FROM UNNEST (" merchants: Vec<i64> as Array<BigInt>,
    ", " environments: Vec<&'a str> as Array<Text>, ", " currencies: Vec<&'a str> as Array<Text>,
    ", " available: Vec<i64> as Array<BigInt>, ", " frozen: Vec<i64> as Array<BigInt>,
    ", " deposit: Vec<i64> as Array<BigInt>, ", " withdrawal: Vec<i64> as Array<BigInt>,
    ", " commission: Vec<i64> as Array<BigInt>, ", " adjustment: Vec<i64> as Array<BigInt> ;
    ") AS new (merchant_id, environment, currency, available, frozen, deposit, withdrawal, commission, adjustment)
     WHERE old.merchant_id = new.merchant_id AND old.environment = new.environment AND old.currency = new.currency"
} }

statement! { InsertEntries on Pg {
    "INSERT INTO entries (merchant_id, environment, transaction_id, line, currency, account, amount, reason, payment_id,
        created_at) SELECT UNNEST ("
    merchants: Vec<i64> as Array<BigInt>, "), UNNEST (" environments: Vec<&'a str> as Array<Text>,
    "), UNNEST (" transaction_ids: Vec<&'a str> as Array<Text>, "), UNNEST (" lines: Vec<i32> as Array<Integer>,
    "), UNNEST (" currencies: Vec<String> as Array<Text>, "), UNNEST (" accounts: Vec<&'a str> as Array<Text>,
    "), UNNEST (" amounts: Vec<i64> as Array<BigInt>, "), UNNEST (" reasons: Vec<&'a str> as Array<Text>,
    "), UNNEST (" payment_ids: Vec<Option<&'a str>> as Array<Nullable<Text>>,
    "), UNNEST (" created: Vec<i64> as Array<BigInt> ; ")"
} }

statement! { InsertEvents on Pg {
    "INSERT INTO events (merchant_id, environment, id, payment_id, type, status_version, previous_status, status, payload,
        created_at) SELECT UNNEST ("
    merchants: Vec<i64> as Array<BigInt>, "), UNNEST (" environments: Vec<&'a str> as Array<Text>,
    "), UNNEST (" ids: Vec<&'a str> as Array<Text>,
    "), UNNEST (" payment_ids: Vec<Option<&'a str>> as Array<Nullable<Text>>,
    "), UNNEST (" names: Vec<&'a str> as Array<Text>,
    "), UNNEST (" versions: Vec<Option<i32>> as Array<Nullable<Integer>>,
    "), UNNEST (" previous: Vec<Option<&'a str>> as Array<Nullable<Text>>,
    "), UNNEST (" statuses: Vec<Option<&'a str>> as Array<Nullable<Text>>,
    "), UNNEST (" payloads: Vec<&'a str> as Array<Text>, "), UNNEST (" created: Vec<i64> as Array<BigInt> ; ")"
} }

/// Writes everything. The statements are sent one behind the other without waiting for each answer, and the server runs
/// them in that order: payments that free their references before those that take them.
pub(crate) async fn write(conn: &AsyncPgConnection, jobs: &[Job], writes: &Writes) -> Result<(), Fault> {
    let chosen = |write| column(&writes.payments_to(write), |index| &jobs[*index]);
    let (updated, inserted) = (chosen(Write::Update), chosen(Write::Insert));
    let accepted = column(&writes.accepted, |index| &jobs[*index]);
    let (nonces, answers, customers, moved, made, counted, balances, entries, events) = tokio::join!(
        biased;
        burn_nonces(conn, jobs, writes),
        keep_answers(conn, jobs, writes),
        insert_customers(conn, jobs, writes),
        update_payments(conn, &updated),
        insert_payments(conn, &inserted),
        add_to_counts(conn, writes),
        write_balances(conn, writes),
        insert_entries(conn, &accepted),
        insert_events(conn, &accepted),
    );
    // The first error is the one that matters; in an aborted transaction all that follows fails too.
    nonces.and(answers)?;
    customers.and(moved).and(made).and(counted).and(balances).and(entries).and(events)?;
    for record in accepted.iter().filter_map(|job| job.changes.audit.as_ref()) {
        let row = AuditRow::of(record);
        diesel::insert_into(audit_log::table).values(&row).execute(&mut &*conn).await?;
    }
    Ok(())
}

/// The earliest time at which any of these was decided. What had not expired by then may be in use still; whether it is
/// for the one change concerned shows when that is tried alone.
fn earliest<'a>(all: impl Iterator<Item = &'a Changes>) -> i64 {
    all.map(|changes| changes.at.millis()).min().unwrap_or(i64::MIN)
}

async fn burn_nonces(conn: &AsyncPgConnection, jobs: &[Job], writes: &Writes) -> Result<(), Fault> {
    let changes = writes.nonces.iter().map(|index| &jobs[*index].changes);
    let rows: Vec<_> = changes.filter_map(|changes| Some((changes, changes.nonce.as_ref()?))).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let burnt = BurnNonces {
        merchants: column(&rows, |(changes, _)| changes.tenant.merchant().0),
        values: column(&rows, |(_, nonce)| nonce.value.as_str()),
        expire: column(&rows, |(_, nonce)| nonce.expires_at.millis()),
        at: earliest(rows.iter().map(|(changes, _)| *changes)),
    };
    // One that another node was first with stays as that node wrote it.
    if burnt.execute(&mut &*conn).await? == rows.len() { Ok(()) } else { Err(Fault::Overtaken) }
}

async fn keep_answers(conn: &AsyncPgConnection, jobs: &[Job], writes: &Writes) -> Result<(), Fault> {
    let rows = writes.answers.iter().map(|row| (row, &jobs[row.job].changes));
    let rows = rows.filter_map(|(row, changes)| Some((row, changes, changes.idempotency.as_ref()?)));
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return Ok(());
    }
    let (merchants, environments) = tenants(&rows, |(_, changes, _)| changes.tenant);
    let kept = KeepAnswers {
        merchants,
        environments,
        audiences: column(&rows, |(.., record)| record.audience.as_str()),
        keys: column(&rows, |(.., record)| record.key.as_str()),
        body_hashes: column(&rows, |(.., record)| record.body_hash.as_str()),
        payment_ids: column(&rows, |(.., record)| record.payment_id.as_ref().map(PaymentId::as_str)),
        statuses: column(&rows, |(row, ..)| row.status.into()),
        sealed_bodies: column(&rows, |(row, ..)| row.sealed.as_str()),
        expire: column(&rows, |(.., record)| record.expires_at.millis()),
        at: earliest(rows.iter().map(|(_, changes, _)| *changes)),
    };
    if kept.execute(&mut &*conn).await? == rows.len() { Ok(()) } else { Err(Fault::Overtaken) }
}

async fn insert_customers(conn: &AsyncPgConnection, jobs: &[Job], writes: &Writes) -> QueryResult<()> {
    let rows = column(&writes.customers, |(index, customer)| (&jobs[*index].changes, customer));
    if rows.is_empty() {
        return Ok(());
    }
    let (merchants, environments) = tenants(&rows, |(changes, _)| changes.tenant);
    let statement = InsertCustomers {
        merchants,
        environments,
        ids: column(&rows, |(_, customer)| customer.id.0),
        emails: column(&rows, |(_, customer)| customer.email.as_deref()),
        phones: column(&rows, |(_, customer)| customer.phone.as_deref()),
        names: column(&rows, |(_, customer)| customer.name.as_deref()),
        email_keys: column(&rows, |(_, customer)| customer.email_key()),
        phone_keys: column(&rows, |(_, customer)| customer.phone_key()),
        created: column(&rows, |(changes, _)| changes.at.millis()),
    };
    statement.execute(&mut &*conn).await.map(drop)
}

async fn add_to_counts(conn: &AsyncPgConnection, writes: &Writes) -> QueryResult<()> {
    let rows: Vec<_> = writes.counts.iter().collect();
    if rows.is_empty() {
        return Ok(());
    }
    let (merchants, environments) = tenants(&rows, |(key, _)| key.0);
    let statement = AddToCounts {
        merchants,
        environments,
        statuses: column(&rows, |(key, _)| key.1.as_str()),
        kinds: column(&rows, |(key, _)| key.2.as_str()),
        methods: column(&rows, |(key, _)| key.3.as_str()),
        currencies: column(&rows, |(key, _)| key.4.as_str()),
        by: column(&rows, |(_, by)| **by),
    };
    statement.execute(&mut &*conn).await.map(drop)
}

/// Balances that had a row were locked and are updated. A first row is inserted and never merged: should another node
/// have inserted it meanwhile, this batch was judged on a balance that is no longer so.
async fn write_balances(conn: &AsyncPgConnection, writes: &Writes) -> QueryResult<()> {
    let of_kind = |stored: bool| -> Vec<&(Tenant, Currency, KnownBalance)> {
        writes.balances.iter().filter(|(.., known)| known.stored == stored).collect()
    };
    macro_rules! put {
        ($statement:ident, $rows:expr) => {
            let rows = $rows;
            if !rows.is_empty() {
                let (merchants, environments) = tenants(&rows, |row| row.0);
                let statement = $statement {
                    merchants,
                    environments,
                    currencies: column(&rows, |row| row.1.as_str()),
                    available: column(&rows, |row| row.2.balance.available.get()),
                    frozen: column(&rows, |row| row.2.balance.frozen.get()),
                    deposit: column(&rows, |row| row.2.balance.deposit.get()),
                    withdrawal: column(&rows, |row| row.2.balance.withdrawal.get()),
                    commission: column(&rows, |row| row.2.balance.commission.get()),
                    adjustment: column(&rows, |row| row.2.balance.adjustment.get()),
                };
                statement.execute(&mut &*conn).await?;
            }
        };
    }
    put!(UpdateBalances, of_kind(true));
    put!(InsertBalances, of_kind(false));
    Ok(())
}

async fn insert_entries(conn: &AsyncPgConnection, accepted: &[&Job]) -> QueryResult<()> {
    let mut rows = Vec::with_capacity(accepted.len() * 2);
    for job in accepted {
        for (transaction, id) in job.changes.transactions.iter().zip(&job.transaction_ids) {
            rows.extend(
                (1..).zip(transaction.entries()).map(|(line, entry)| (*job, transaction, id, line, entry)),
            );
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    let (merchants, environments) = tenants(&rows, |row| row.0.changes.tenant);
    let statement = InsertEntries {
        merchants,
        environments,
        transaction_ids: column(&rows, |row| row.2.as_str()),
        lines: column(&rows, |row| row.3),
        currencies: column(&rows, |row| String::from(row.1.currency())),
        accounts: column(&rows, |row| row.4.account.as_str()),
        amounts: column(&rows, |row| row.4.amount.get()),
        reasons: column(&rows, |row| row.1.reason().as_str()),
        payment_ids: column(&rows, |row| row.0.payment_id().map(PaymentId::as_str)),
        created: column(&rows, |row| row.0.changes.at.millis()),
    };
    statement.execute(&mut &*conn).await.map(drop)
}

async fn insert_events(conn: &AsyncPgConnection, accepted: &[&Job]) -> QueryResult<()> {
    let events = accepted.iter().flat_map(|job| job.changes.events.iter().map(|event| (&job.changes, event)));
    let rows: Vec<_> = events.collect();
    if rows.is_empty() {
        return Ok(());
    }
    let (merchants, environments) = tenants(&rows, |(changes, _)| changes.tenant);
    let statement = InsertEvents {
        merchants,
        environments,
        ids: column(&rows, |(_, event)| event.id.as_str()),
        payment_ids: column(&rows, |(_, event)| event.payment_id.as_ref().map(PaymentId::as_str)),
        names: column(&rows, |(_, event)| event.name.as_str()),
        versions: column(&rows, |(_, event)| event.status.map(|status| status.version)),
        previous: column(&rows, |(_, event)| event.status.and_then(|status| status.previous)),
        statuses: column(&rows, |(_, event)| event.status.map(|status| status.status)),
        payloads: column(&rows, |(_, event)| event.payload.as_str()),
        created: column(&rows, |(_, event)| event.at.millis()),
    };
    statement.execute(&mut &*conn).await.map(drop)
}
