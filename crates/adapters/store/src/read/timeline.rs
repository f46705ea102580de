//! Reads the history of one payment.

use std::time::Duration;

use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_kernel::{Amount, Minor, Tenant, Timestamp};
use quipu_merchants::Direction;
use quipu_payments::{
    AuditLine, CallbackLine, EntryLine, EventLine, Payment, Refund, Status, StatusLine, Timeline,
};

use super::{deliveries, receipts};
use crate::{
    connection::{Connection, first, load},
    error::Fault,
    keys::Keys,
    rows::{
        chain_place::first_id_of,
        stored::{from_json, parsed},
    },
    schema::{alerts, audit_log, callbacks, entries, events, refunds},
};

type EventColumns = (String, String, Option<String>, Option<String>, Option<i32>, i64);
type EntryColumns = (String, String, String, i64, String, i64);
type CallbackColumns = (String, String, String, String, i64);
type AuditColumns = (i64, String, String, String);
type RefundColumns = (String, String, i64, Option<String>, Option<String>, i64);

/// The whole history, from one state of the database, each list in the order of time.
pub(crate) async fn of(conn: &mut Connection, payment: &Payment) -> Result<Timeline, Fault> {
    let (tenant, id) = (payment.terms().tenant, payment.id().as_str());
    conn.begin_snapshot().await?;
    let events = events_of(conn, tenant, id).await?;
    let timeline = Timeline {
        statuses: StatusLine::of_events(&events),
        deliveries: deliveries::of_payment(conn, payment, &events).await?,
        entries: entries_of(conn, payment, &events).await?,
        events,
        callbacks: callbacks_of(conn, tenant, id).await?,
        receipts: receipts::of_payment(conn, tenant, id).await?,
        refunds: refunds(conn, tenant, id).await?,
        audit: audit_of(conn, id).await?,
        alerted_at: alerted(conn, tenant, id).await?,
    };
    conn.commit().await?;
    Ok(timeline)
}

async fn events_of(conn: &mut Connection, tenant: Tenant, id: &str) -> Result<Vec<EventLine>, Fault> {
    let query = events::table
        .filter(events::merchant_id.eq(tenant.merchant().0))
        .filter(events::environment.eq(tenant.environment().as_str()))
        .filter(events::payment_id.eq(id))
        .order((events::created_at.asc(), events::status_version.asc(), events::id.asc()))
        .select((
            events::id,
            events::kind,
            events::previous_status,
            events::status,
            events::status_version,
            events::created_at,
        ));
    let rows = load!(conn, EventColumns, query)?.into_iter();
    let line = |(id, kind, previous_status, status, status_version, at): EventColumns| EventLine {
        id,
        kind,
        previous_status,
        status,
        status_version,
        created_at: Timestamp::from_millis(at),
    };
    Ok(rows.map(line).collect())
}

/// The entries of a payment. There is no index for them: money moves together with an event, and an entry's
/// key begins with its time, so the entries of an event are among the merchant's entries of the same
/// millisecond.
async fn entries_of(
    conn: &mut Connection,
    payment: &Payment,
    events: &[EventLine],
) -> Result<Vec<EntryLine>, Fault> {
    let mut times: Vec<_> = events.iter().map(|event| event.created_at).collect();
    times.dedup();
    let mut rows = Vec::new();
    for at in times {
        rows.append(&mut within(conn, payment, Some(at)).await?);
    }
    // Where the node's clock was set back, keys are later than their time.
    if rows.len() < least_entries(payment, events) {
        rows = within(conn, payment, None).await?;
    }
    let rows = rows.into_iter();
    let line = |(transaction_id, reason, account, amount, currency, at): EntryColumns| {
        Ok(EntryLine {
            transaction_id,
            reason,
            account,
            amount: Minor::new(amount).map_err(|error| Fault::Corrupt(format!("an entry: {error}")))?,
            currency,
            created_at: Timestamp::from_millis(at),
        })
    };
    rows.map(line).collect()
}

/// The least number of entries: two for each event with which money moves. A deposit begins and fails without
/// entries.
fn least_entries(payment: &Payment, events: &[EventLine]) -> usize {
    let is_deposit = payment.terms().kind.direction() == Direction::Deposit;
    let moves = |event: &&EventLine| {
        let status = event.status.as_deref().and_then(|status| status.parse().ok());
        let ends = matches!(status, Some(Status::Failed | Status::Expired | Status::Cancelled));
        let still = is_deposit && ends;
        let begins = event.previous_status.is_none();
        event.kind.starts_with("payment.")
            && status != Some(Status::Processing)
            && !still
            && !(is_deposit && begins)
    };
    2 * events.iter().filter(moves).count()
}

/// The entries of a payment whose keys begin with this millisecond, or all of them.
async fn within(
    conn: &mut Connection,
    payment: &Payment,
    at: Option<Timestamp>,
) -> Result<Vec<EntryColumns>, Fault> {
    let tenant = payment.terms().tenant;
    let (from, until) = at.map_or_else(
        || (String::new(), "g".to_owned()),
        |at| (first_id_of(at), first_id_of(at.plus(Duration::from_millis(1)))),
    );
    let query = entries::table
        .filter(entries::merchant_id.eq(tenant.merchant().0))
        .filter(entries::environment.eq(tenant.environment().as_str()))
        .filter(entries::transaction_id.ge(from))
        .filter(entries::transaction_id.lt(until))
        .filter(entries::payment_id.eq(payment.id().as_str()))
        .order((entries::created_at.asc(), entries::transaction_id.asc(), entries::line.asc()))
        .select((
            entries::transaction_id,
            entries::reason,
            entries::account,
            entries::amount,
            entries::currency,
            entries::created_at,
        ));
    Ok(load!(conn, EntryColumns, query)?)
}

async fn callbacks_of(conn: &mut Connection, tenant: Tenant, id: &str) -> Result<Vec<CallbackLine>, Fault> {
    let query = callbacks::table
        .filter(callbacks::merchant_id.eq(tenant.merchant().0))
        .filter(callbacks::environment.eq(tenant.environment().as_str()))
        .filter(callbacks::payment_id.eq(id))
        .order((callbacks::received_at.asc(), callbacks::id.asc()))
        .select((
            callbacks::rail,
            callbacks::event_id,
            callbacks::kind,
            callbacks::outcome,
            callbacks::received_at,
        ));
    let rows = load!(conn, CallbackColumns, query)?.into_iter();
    let line = |(rail, event_id, kind, outcome, at): CallbackColumns| CallbackLine {
        rail,
        event_id,
        kind,
        outcome,
        received_at: Timestamp::from_millis(at),
    };
    Ok(rows.map(line).collect())
}

async fn audit_of(conn: &mut Connection, id: &str) -> Result<Vec<AuditLine>, Fault> {
    let query = audit_log::table
        .filter(audit_log::subject.eq(format!("payment/{id}")))
        .order((audit_log::at.asc(), audit_log::id.asc()))
        .select((audit_log::at, audit_log::actor_name, audit_log::action, audit_log::after));
    let rows = load!(conn, AuditColumns, query)?.into_iter();
    let line = |(at, actor, action, after): AuditColumns| {
        let after = from_json("an audit line", &after)?;
        Ok(AuditLine { at: Timestamp::from_millis(at), actor, action, after })
    };
    rows.map(line).collect()
}

async fn alerted(conn: &mut Connection, tenant: Tenant, id: &str) -> Result<Option<Timestamp>, Fault> {
    let key = (tenant.merchant().0, tenant.environment().as_str(), id);
    let query = alerts::table.find(key).select(alerts::alerted_at);
    Ok(first!(conn, i64, query)?.map(Timestamp::from_millis))
}

/// The refunds of a payment. Their identifiers are found in an index first: for whole rows SQLite would take
/// the key, and read all refunds of the merchant.
pub(crate) async fn refunds(conn: &mut Connection, tenant: Tenant, id: &str) -> Result<Vec<Refund>, Fault> {
    let of_payment = refunds::table
        .filter(refunds::merchant_id.eq(tenant.merchant().0))
        .filter(refunds::environment.eq(tenant.environment().as_str()))
        .filter(refunds::payment_id.eq(id))
        .select(refunds::id);
    let found = load!(conn, String, of_payment)?;
    let query = refunds::table
        .filter(Keys::of(tenant, "refunds").with("id", found.iter().map(String::as_str)))
        .order(refunds::id.asc())
        .select((
            refunds::id,
            refunds::payment_id,
            refunds::amount,
            refunds::reason,
            refunds::ticket_id,
            refunds::created_at,
        ));
    let rows = load!(conn, RefundColumns, query)?.into_iter();
    let refund = |(refund_id, payment_id, amount, reason, ticket_id, at): RefundColumns| {
        Ok(Refund {
            refund_id,
            payment_id: parsed("a payment", &payment_id)?,
            amount: Amount::new(amount).map_err(|error| Fault::Corrupt(format!("a refund: {error}")))?,
            reason,
            ticket_id,
            created_at: Timestamp::from_millis(at),
        })
    };
    rows.map(refund).collect()
}
