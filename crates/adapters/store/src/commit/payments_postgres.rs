//! Writing payments on PostgreSQL, the widest of its bulk statements.

use diesel::{
    QueryResult,
    pg::Pg,
    sql_types::{Array, BigInt, Bool, Integer, Nullable, Text},
};
use diesel_async::{AsyncPgConnection, RunQueryDsl as _};
use quipu_kernel::{Amount, Timestamp};
use quipu_payments::Payment;

use super::{
    columns::{column, tenants},
    job::Job,
};
use crate::statement::statement;

statement! { InsertPayments on Pg {
    "INSERT INTO payments (merchant_id, environment, id, type, method, currency, amount, fee, merchant_reference,
        holds_reference, customer_id, status, status_version, rail, created_at, updated_at, expires_at, completed_at,
        refunded_amount, received_amount, late, due_at, due_action, webhook_url, document) SELECT UNNEST ("
    merchants: Vec<i64> as Array<BigInt>, "), UNNEST (" environments: Vec<&'a str> as Array<Text>,
    "), UNNEST (" ids: Vec<&'a str> as Array<Text>, "), UNNEST (" kinds: Vec<&'a str> as Array<Text>,
    "), UNNEST (" methods: Vec<&'a str> as Array<Text>, "), UNNEST (" currencies: Vec<&'a str> as Array<Text>,
    "), UNNEST (" amounts: Vec<i64> as Array<BigInt>, "), UNNEST (" fees: Vec<i64> as Array<BigInt>,
    "), UNNEST (" references: Vec<&'a str> as Array<Text>, "), UNNEST (" hold_reference: Vec<bool> as Array<Bool>,
    "), UNNEST (" customers: Vec<i64> as Array<BigInt>, "), UNNEST (" statuses: Vec<&'a str> as Array<Text>,
    "), UNNEST (" versions: Vec<i32> as Array<Integer>, "), UNNEST (" rails: Vec<&'a str> as Array<Text>,
    "), UNNEST (" created: Vec<i64> as Array<BigInt>, "), UNNEST (" updated: Vec<i64> as Array<BigInt>,
    "), UNNEST (" expire: Vec<Option<i64>> as Array<Nullable<BigInt>>,
    "), UNNEST (" completed: Vec<Option<i64>> as Array<Nullable<BigInt>>,
    "), UNNEST (" refunded: Vec<i64> as Array<BigInt>,
    "), UNNEST (" received: Vec<Option<i64>> as Array<Nullable<BigInt>>, "), UNNEST (" late: Vec<bool> as Array<Bool>,
    "), UNNEST (" due: Vec<Option<i64>> as Array<Nullable<BigInt>>,
    "), UNNEST (" actions: Vec<Option<&'a str>> as Array<Nullable<Text>>,
    "), UNNEST (" webhooks: Vec<Option<&'a str>> as Array<Nullable<Text>>,
    "), UNNEST (" documents: Vec<&'a str> as Array<Text> ; ")"
} }

statement! { UpdatePayments on Pg {
    "UPDATE payments AS old SET fee = new.fee, holds_reference = new.holds_reference, status = new.status,
        status_version = new.status_version, updated_at = new.updated_at, expires_at = new.expires_at,
        completed_at = new.completed_at, refunded_amount = new.refunded_amount,
        received_amount = new.received_amount, late = new.late, due_at = new.due_at, due_action = new.due_action,
        document = new.document
     FROM UNNEST (" merchants: Vec<i64> as Array<BigInt>, ", " environments: Vec<&'a str> as Array<Text>,
    ", " ids: Vec<&'a str> as Array<Text>, ", " fees: Vec<i64> as Array<BigInt>,
    ", " hold_reference: Vec<bool> as Array<Bool>, ", " statuses: Vec<&'a str> as Array<Text>,
    ", " versions: Vec<i32> as Array<Integer>, ", " updated: Vec<i64> as Array<BigInt>,
    ", " expire: Vec<Option<i64>> as Array<Nullable<BigInt>>,
    ", " completed: Vec<Option<i64>> as Array<Nullable<BigInt>>, ", " refunded: Vec<i64> as Array<BigInt>,
    ", " received: Vec<Option<i64>> as Array<Nullable<BigInt>>, ", " late: Vec<bool> as Array<Bool>,
    ", " due: Vec<Option<i64>> as Array<Nullable<BigInt>>,
    ", " actions: Vec<Option<&'a str>> as Array<Nullable<Text>>, ", " documents: Vec<&'a str> as Array<Text> ;
    ") AS new (merchant_id, environment, id, fee, holds_reference, status, status_version, updated_at, expires_at,
        completed_at, refunded_amount, received_amount, late, due_at, due_action, document)
     WHERE old.merchant_id = new.merchant_id AND old.environment = new.environment AND old.id = new.id"
} }

/// The jobs' payments with their documents.
fn payments<'a>(jobs: &[&'a Job]) -> Vec<(&'a Payment, &'a str)> {
    jobs.iter().filter_map(|job| Some((job.payment()?, job.document.as_str()))).collect()
}

/// Writes new payments.
pub(super) async fn insert_payments(conn: &AsyncPgConnection, jobs: &[&Job]) -> QueryResult<()> {
    let rows = payments(jobs);
    if rows.is_empty() {
        return Ok(());
    }
    let (merchants, environments) = tenants(&rows, |(payment, _)| payment.terms().tenant);
    let statement = InsertPayments {
        merchants,
        environments,
        ids: column(&rows, |(payment, _)| payment.id().as_str()),
        kinds: column(&rows, |(payment, _)| payment.terms().kind.as_str()),
        methods: column(&rows, |(payment, _)| payment.terms().method.as_str()),
        currencies: column(&rows, |(payment, _)| payment.terms().currency.as_str()),
        amounts: column(&rows, |(payment, _)| payment.terms().amount.get()),
        fees: column(&rows, |(payment, _)| payment.state().fee.get()),
        references: column(&rows, |(payment, _)| payment.terms().merchant_reference.as_str()),
        hold_reference: column(&rows, |(payment, _)| payment.holds_reference()),
        customers: column(&rows, |(payment, _)| payment.terms().customer.id.0),
        statuses: column(&rows, |(payment, _)| payment.status().as_str()),
        versions: column(&rows, |(payment, _)| payment.state().version),
        rails: column(&rows, |(payment, _)| payment.terms().rail.as_str()),
        created: column(&rows, |(payment, _)| payment.terms().created_at.millis()),
        updated: column(&rows, |(payment, _)| payment.state().updated_at.millis()),
        expire: column(&rows, |(payment, _)| payment.terms().expires_at.map(Timestamp::millis)),
        completed: column(&rows, |(payment, _)| payment.state().completed_at.map(Timestamp::millis)),
        refunded: column(&rows, |(payment, _)| payment.state().refunded_amount.get()),
        received: column(&rows, |(payment, _)| payment.state().received_amount.map(Amount::get)),
        late: column(&rows, |(payment, _)| payment.state().late),
        due: column(&rows, |(payment, _)| payment.state().due.map(|due| due.at.millis())),
        actions: column(&rows, |(payment, _)| payment.state().due.map(|due| due.action.as_str())),
        webhooks: column(&rows, |(payment, _)| payment.terms().webhook.as_ref().map(|it| it.url.as_str())),
        documents: column(&rows, |(_, document)| *document),
    };
    statement.execute(&mut &*conn).await.map(drop)
}

/// Writes what changed of payments that were there before; the batch has them locked.
pub(super) async fn update_payments(conn: &AsyncPgConnection, jobs: &[&Job]) -> QueryResult<()> {
    let rows = payments(jobs);
    if rows.is_empty() {
        return Ok(());
    }
    let (merchants, environments) = tenants(&rows, |(payment, _)| payment.terms().tenant);
    let statement = UpdatePayments {
        merchants,
        environments,
        ids: column(&rows, |(payment, _)| payment.id().as_str()),
        fees: column(&rows, |(payment, _)| payment.state().fee.get()),
        hold_reference: column(&rows, |(payment, _)| payment.holds_reference()),
        statuses: column(&rows, |(payment, _)| payment.status().as_str()),
        versions: column(&rows, |(payment, _)| payment.state().version),
        updated: column(&rows, |(payment, _)| payment.state().updated_at.millis()),
        expire: column(&rows, |(payment, _)| payment.terms().expires_at.map(Timestamp::millis)),
        completed: column(&rows, |(payment, _)| payment.state().completed_at.map(Timestamp::millis)),
        refunded: column(&rows, |(payment, _)| payment.state().refunded_amount.get()),
        received: column(&rows, |(payment, _)| payment.state().received_amount.map(Amount::get)),
        late: column(&rows, |(payment, _)| payment.state().late),
        due: column(&rows, |(payment, _)| payment.state().due.map(|due| due.at.millis())),
        actions: column(&rows, |(payment, _)| payment.state().due.map(|due| due.action.as_str())),
        documents: column(&rows, |(_, document)| *document),
    };
    statement.execute(&mut &*conn).await.map(drop)
}
