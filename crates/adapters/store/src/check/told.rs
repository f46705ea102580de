//! Checks that stored payments can be parsed, and that their events agree with them.
//!
//! The domain compares the bytes, since it made them. Payments are read a part at a time, in the order of
//! their identifiers, each with all of its events.

use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_kernel::Timestamp;
use quipu_ledger::Breach;
use quipu_payments::{StoredEvent, contradictions};

use super::LISTED;
use crate::{
    connection::{Connection, load},
    error::Fault,
    rows::payment::PaymentRow,
    schema::{events, payments},
};

/// The most payments in memory.
const CHUNK: i64 = 500;

/// An event and its payment.
type EventRow = (Option<String>, String, String, i64, Option<i32>, String);

/// The breaches of both invariants.
#[derive(Default)]
struct Found {
    unreadable: Vec<Breach>,
    contradicting: Vec<Breach>,
}

/// The payments that cannot be read, and the events that contradict their payments.
pub(super) async fn compared(conn: &mut Connection) -> Result<Vec<Breach>, Fault> {
    let mut found = Found::default();
    let tenants = payments::table.select((payments::merchant_id, payments::environment)).distinct();
    for (merchant, environment) in load!(conn, (i64, String), tenants)? {
        compare(conn, merchant, &environment, &mut found).await?;
    }
    found.unreadable.append(&mut found.contradicting);
    Ok(found.unreadable)
}

async fn compare(
    conn: &mut Connection,
    merchant: i64,
    environment: &str,
    found: &mut Found,
) -> Result<(), Fault> {
    let mut last = String::new();
    while found.unreadable.len() < LISTED || found.contradicting.len() < LISTED {
        let chunk = payments::table
            .filter(payments::merchant_id.eq(merchant))
            .filter(payments::environment.eq(environment))
            .filter(payments::id.gt(&last))
            .order(payments::id)
            .limit(CHUNK);
        let rows = load!(conn, PaymentRow, chunk)?;
        let (Some(first), Some(upto)) = (rows.first(), rows.last()) else { break };
        let (from, upto) = (first.id.clone(), upto.id.clone());
        let told = events::table
            .filter(events::merchant_id.eq(merchant))
            .filter(events::environment.eq(environment))
            .filter(events::payment_id.ge(&from))
            .filter(events::payment_id.le(&upto))
            .order((events::payment_id, events::status_version))
            .select((
                events::payment_id,
                events::id,
                events::kind,
                events::created_at,
                events::status_version,
                events::payload,
            ));
        let told = load!(conn, EventRow, told)?;
        judge(rows, &told, &format!("{merchant}/{environment}"), found);
        found.unreadable.truncate(LISTED);
        found.contradicting.truncate(LISTED);
        last = upto;
    }
    Ok(())
}

fn judge(rows: Vec<PaymentRow>, told: &[EventRow], tenant: &str, found: &mut Found) {
    let mut told = told.chunk_by(|one, next| one.0 == next.0).peekable();
    for row in rows {
        let subject = format!("{tenant} {}", row.id);
        while told.next_if(|events| events[0].0.as_ref() < Some(&row.id)).is_some() {}
        let events = told.next_if(|events| events[0].0.as_ref() == Some(&row.id)).unwrap_or_default();
        match row.into_payment() {
            Ok(payment) => {
                let events: Vec<_> = events.iter().cloned().map(event).collect();
                let named = contradictions(&payment, &events).into_iter().map(|detail| Breach {
                    invariant: "events_equal_payments",
                    subject: subject.clone(),
                    detail,
                });
                found.contradicting.extend(named);
            }
            Err(fault) => found.unreadable.push(Breach {
                invariant: "payments_can_be_read",
                subject,
                detail: fault.to_string(),
            }),
        }
    }
}

fn event((_, id, name, at, version, payload): EventRow) -> StoredEvent {
    StoredEvent { id, name, at: Timestamp::from_millis(at), version: version.unwrap_or(0), payload }
}
