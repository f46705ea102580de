//! Writing on SQLite: cached statements, one row each, inside the writer's one transaction.

use diesel::{
    QueryResult, RunQueryDsl as _, SqliteConnection,
    sql_types::{BigInt, Bool, Integer, Nullable, Text},
    sqlite::Sqlite,
};
use quipu_kernel::Timestamp;

use super::{
    job::Job,
    writes::{Write, Writes},
};
use crate::{audit_row::AuditRow, error::Fault, schema::audit_log, statement::statement};

statement! { BurnNonce on Sqlite {
    "INSERT INTO nonces (merchant_id, value, expires_at) VALUES (" merchant: i64 as BigInt,
    ", " value: &'a str as Text, ", " expires_at: i64 as BigInt,
    ") ON CONFLICT (merchant_id, value) DO UPDATE SET expires_at = excluded.expires_at WHERE expires_at <= "
    at: i64 as BigInt ; ""
} }

statement! { KeepAnswer on Sqlite {
    "INSERT INTO kept_answers (merchant_id, environment, audience, key, body_hash, payment_id, status, sealed_body,
        expires_at) VALUES (" merchant: i64 as BigInt, ", " environment: &'a str as Text,
    ", " audience: &'a str as Text, ", " key: &'a str as Text, ", " body_hash: &'a str as Text,
    ", " payment_id: Option<&'a str> as Nullable<Text>, ", " status: i32 as Integer,
    ", " sealed_body: &'a str as Text, ", " expires_at: i64 as BigInt,
    ") ON CONFLICT (merchant_id, environment, audience, key) DO UPDATE SET body_hash = excluded.body_hash,
        payment_id = excluded.payment_id, status = excluded.status, sealed_body = excluded.sealed_body,
        expires_at = excluded.expires_at WHERE expires_at <= " at: i64 as BigInt ; ""
} }

statement! { InsertCustomer on Sqlite {
    "INSERT INTO customers (merchant_id, environment, id, email, phone, name, email_key, phone_key, created_at)
        VALUES (" merchant: i64 as BigInt, ", " environment: &'a str as Text, ", " id: i64 as BigInt,
    ", " email: Option<&'a str> as Nullable<Text>, ", " phone: Option<&'a str> as Nullable<Text>,
    ", " name: Option<&'a str> as Nullable<Text>, ", " email_key: Option<String> as Nullable<Text>,
    ", " phone_key: Option<String> as Nullable<Text>, ", " created_at: i64 as BigInt ; ")"
} }

statement! { InsertPayment on Sqlite {
    "INSERT INTO payments (merchant_id, environment, id, type, method, currency, amount, fee, merchant_reference,
        holds_reference, customer_id, status, status_version, rail, created_at, updated_at, expires_at, completed_at,
        refunded_amount, received_amount, late, due_at, due_action, webhook_url, document) VALUES ("
    merchant: i64 as BigInt, ", " environment: &'a str as Text, ", " id: &'a str as Text,
    ", " kind: &'a str as Text, ", " method: &'a str as Text, ", " currency: &'a str as Text,
    ", " amount: i64 as BigInt, ", " fee: i64 as BigInt, ", " merchant_reference: &'a str as Text,
    ", " holds_reference: bool as Bool, ", " customer_id: i64 as BigInt, ", " status: &'a str as Text,
    ", " version: i32 as Integer, ", " rail: &'a str as Text, ", " created_at: i64 as BigInt,
    ", " updated_at: i64 as BigInt, ", " expires_at: Option<i64> as Nullable<BigInt>,
    ", " completed_at: Option<i64> as Nullable<BigInt>, ", " refunded_amount: i64 as BigInt,
    ", " received_amount: Option<i64> as Nullable<BigInt>, ", " late: bool as Bool,
    ", " due_at: Option<i64> as Nullable<BigInt>, ", " due_action: Option<&'a str> as Nullable<Text>,
    ", " webhook_url: Option<&'a str> as Nullable<Text>, ", " document: &'a str as Text ; ")"
} }

statement! { UpdatePayment on Sqlite {
    "UPDATE payments SET fee = " fee: i64 as BigInt, ", holds_reference = " holds_reference: bool as Bool,
    ", status = " status: &'a str as Text, ", status_version = " version: i32 as Integer,
    ", updated_at = " updated_at: i64 as BigInt, ", expires_at = " expires_at: Option<i64> as Nullable<BigInt>,
    ", completed_at = " completed_at: Option<i64> as Nullable<BigInt>,
    ", refunded_amount = " refunded_amount: i64 as BigInt,
    ", received_amount = " received_amount: Option<i64> as Nullable<BigInt>, ", late = " late: bool as Bool,
    ", due_at = " due_at: Option<i64> as Nullable<BigInt>,
    ", due_action = " due_action: Option<&'a str> as Nullable<Text>, ", document = " document: &'a str as Text,
    " WHERE merchant_id = " merchant: i64 as BigInt, " AND environment = " environment: &'a str as Text,
    " AND id = " id: &'a str as Text ; ""
} }

statement! { AddToCount on Sqlite {
    "INSERT INTO payment_counts (merchant_id, environment, status, type, method, currency, count) VALUES ("
    merchant: i64 as BigInt, ", " environment: &'a str as Text, ", " status: &'a str as Text,
    ", " kind: &'a str as Text, ", " method: &'a str as Text, ", " currency: &'a str as Text,
    ", " by: i64 as BigInt ;
    ") ON CONFLICT (merchant_id, environment, status, type, method, currency)
        DO UPDATE SET count = count + excluded.count"
} }

statement! { PutBalance on Sqlite {
    "INSERT INTO balances (merchant_id, environment, currency, available, frozen, deposit, withdrawal, commission,
        adjustment) VALUES (" merchant: i64 as BigInt, ", " environment: &'a str as Text,
    ", " currency: &'a str as Text, ", " available: i64 as BigInt, ", " frozen: i64 as BigInt,
    ", " deposit: i64 as BigInt, ", " withdrawal: i64 as BigInt, ", " commission: i64 as BigInt,
    ", " adjustment: i64 as BigInt ;
    ") ON CONFLICT (merchant_id, environment, currency) DO UPDATE SET available = excluded.available,
        frozen = excluded.frozen, deposit = excluded.deposit, withdrawal = excluded.withdrawal,
        commission = excluded.commission, adjustment = excluded.adjustment"
} }

statement! { InsertEntry on Sqlite {
    "INSERT INTO entries (merchant_id, environment, transaction_id, line, currency, account, amount, reason, payment_id,
        created_at) VALUES (" merchant: i64 as BigInt, ", " environment: &'a str as Text,
    ", " transaction_id: &'a str as Text, ", " line: i32 as Integer, ", " currency: &'a str as Text,
    ", " account: &'a str as Text, ", " amount: i64 as BigInt, ", " reason: &'a str as Text,
    ", " payment_id: Option<&'a str> as Nullable<Text>, ", " created_at: i64 as BigInt ; ")"
} }

statement! { InsertEvent on Sqlite {
    "INSERT INTO events (merchant_id, environment, id, payment_id, type, status_version, previous_status, status, payload,
        created_at) VALUES (" merchant: i64 as BigInt, ", " environment: &'a str as Text, ", " id: &'a str as Text,
    ", " payment_id: Option<&'a str> as Nullable<Text>, ", " name: &'a str as Text,
    ", " version: Option<i32> as Nullable<Integer>, ", " previous: Option<&'a str> as Nullable<Text>,
    ", " status: Option<&'a str> as Nullable<Text>, ", " payload: &'a str as Text,
    ", " created_at: i64 as BigInt ; ")"
} }

/// Writes everything. Payments that free their references go before those that take them.
pub(crate) fn write(conn: &mut SqliteConnection, jobs: &[Job], writes: &Writes) -> Result<(), Fault> {
    write_once_only(conn, jobs, writes)?;
    for (index, customer) in &writes.customers {
        let changes = &jobs[*index].changes;
        InsertCustomer {
            merchant: changes.tenant.merchant().0,
            environment: changes.tenant.environment().as_str(),
            id: customer.id.0,
            email: customer.email.as_deref(),
            phone: customer.phone.as_deref(),
            name: customer.name.as_deref(),
            email_key: customer.email_key(),
            phone_key: customer.phone_key(),
            created_at: changes.at.millis(),
        }
        .execute(conn)?;
    }
    for index in writes.payments_to(Write::Update) {
        update_payment(conn, &jobs[index])?;
    }
    for index in writes.payments_to(Write::Insert) {
        insert_payment(conn, &jobs[index])?;
    }
    write_totals(conn, writes)?;
    for index in &writes.accepted {
        write_history(conn, &jobs[*index])?;
    }
    Ok(())
}

/// Nonces and kept answers; another process that was first leaves its row standing.
fn write_once_only(conn: &mut SqliteConnection, jobs: &[Job], writes: &Writes) -> Result<(), Fault> {
    for index in &writes.nonces {
        let changes = &jobs[*index].changes;
        let Some(nonce) = &changes.nonce else { continue };
        let burnt = BurnNonce {
            merchant: changes.tenant.merchant().0,
            value: &nonce.value,
            expires_at: nonce.expires_at.millis(),
            at: changes.at.millis(),
        }
        .execute(conn)?;
        if burnt != 1 {
            return Err(Fault::Overtaken);
        }
    }
    for row in &writes.answers {
        let changes = &jobs[row.job].changes;
        let Some(record) = &changes.idempotency else { continue };
        let kept = KeepAnswer {
            merchant: changes.tenant.merchant().0,
            environment: changes.tenant.environment().as_str(),
            audience: record.audience.as_str(),
            key: record.key.as_str(),
            body_hash: &record.body_hash,
            payment_id: record.payment_id.as_ref().map(quipu_kernel::PaymentId::as_str),
            status: row.status.into(),
            sealed_body: &row.sealed,
            expires_at: record.expires_at.millis(),
            at: changes.at.millis(),
        }
        .execute(conn)?;
        if kept != 1 {
            return Err(Fault::Overtaken);
        }
    }
    Ok(())
}

fn insert_payment(conn: &mut SqliteConnection, job: &Job) -> QueryResult<()> {
    let Some(payment) = job.payment() else { return Ok(()) };
    let (terms, state) = (payment.terms(), payment.state());
    InsertPayment {
        merchant: terms.tenant.merchant().0,
        environment: terms.tenant.environment().as_str(),
        id: terms.id.as_str(),
        kind: terms.kind.as_str(),
        method: terms.method.as_str(),
        currency: terms.currency.as_str(),
        amount: terms.amount.get(),
        fee: state.fee.get(),
        merchant_reference: &terms.merchant_reference,
        holds_reference: payment.holds_reference(),
        customer_id: terms.customer.id.0,
        status: state.status.as_str(),
        version: state.version,
        rail: &terms.rail,
        created_at: terms.created_at.millis(),
        updated_at: state.updated_at.millis(),
        expires_at: terms.expires_at.map(Timestamp::millis),
        completed_at: state.completed_at.map(Timestamp::millis),
        refunded_amount: state.refunded_amount.get(),
        received_amount: state.received_amount.map(quipu_kernel::Amount::get),
        late: state.late,
        due_at: state.due.map(|due| due.at.millis()),
        due_action: state.due.map(|due| due.action.as_str()),
        webhook_url: terms.webhook.as_ref().map(|webhook| webhook.url.as_str()),
        document: &job.document,
    }
    .execute(conn)
    .map(drop)
}

fn update_payment(conn: &mut SqliteConnection, job: &Job) -> QueryResult<()> {
    let Some(payment) = job.payment() else { return Ok(()) };
    let (terms, state) = (payment.terms(), payment.state());
    UpdatePayment {
        fee: state.fee.get(),
        holds_reference: payment.holds_reference(),
        status: state.status.as_str(),
        version: state.version,
        updated_at: state.updated_at.millis(),
        expires_at: terms.expires_at.map(Timestamp::millis),
        completed_at: state.completed_at.map(Timestamp::millis),
        refunded_amount: state.refunded_amount.get(),
        received_amount: state.received_amount.map(quipu_kernel::Amount::get),
        late: state.late,
        due_at: state.due.map(|due| due.at.millis()),
        due_action: state.due.map(|due| due.action.as_str()),
        document: &job.document,
        merchant: terms.tenant.merchant().0,
        environment: terms.tenant.environment().as_str(),
        id: terms.id.as_str(),
    }
    .execute(conn)
    .map(drop)
}

fn write_totals(conn: &mut SqliteConnection, writes: &Writes) -> QueryResult<()> {
    for ((tenant, status, kind, method, currency), by) in &writes.counts {
        AddToCount {
            merchant: tenant.merchant().0,
            environment: tenant.environment().as_str(),
            status: status.as_str(),
            kind: kind.as_str(),
            method: method.as_str(),
            currency: currency.as_str(),
            by: *by,
        }
        .execute(conn)?;
    }
    for (tenant, currency, known) in &writes.balances {
        let balance = &known.balance;
        PutBalance {
            merchant: tenant.merchant().0,
            environment: tenant.environment().as_str(),
            currency: currency.as_str(),
            available: balance.available.get(),
            frozen: balance.frozen.get(),
            deposit: balance.deposit.get(),
            withdrawal: balance.withdrawal.get(),
            commission: balance.commission.get(),
            adjustment: balance.adjustment.get(),
        }
        .execute(conn)?;
    }
    Ok(())
}

/// What is only ever added: entries, events, the audit log.
fn write_history(conn: &mut SqliteConnection, job: &Job) -> QueryResult<()> {
    let changes = &job.changes;
    let (merchant, environment) = (changes.tenant.merchant().0, changes.tenant.environment().as_str());
    for (transaction, id) in changes.transactions.iter().zip(&job.transaction_ids) {
        for (line, entry) in (1..).zip(transaction.entries()) {
            InsertEntry {
                merchant,
                environment,
                transaction_id: id,
                line,
                currency: transaction.currency().as_str(),
                account: entry.account.as_str(),
                amount: entry.amount.get(),
                reason: transaction.reason().as_str(),
                payment_id: job.payment_id().map(quipu_kernel::PaymentId::as_str),
                created_at: changes.at.millis(),
            }
            .execute(conn)?;
        }
    }
    for event in &changes.events {
        InsertEvent {
            merchant,
            environment,
            id: event.id.as_str(),
            payment_id: event.payment_id.as_ref().map(quipu_kernel::PaymentId::as_str),
            name: event.name.as_str(),
            version: event.status.map(|status| status.version),
            previous: event.status.and_then(|status| status.previous),
            status: event.status.map(|status| status.status),
            payload: &event.payload,
            created_at: event.at.millis(),
        }
        .execute(conn)?;
    }
    if let Some(record) = &changes.audit {
        diesel::insert_into(audit_log::table).values(&AuditRow::of(record)).execute(conn)?;
    }
    Ok(())
}
