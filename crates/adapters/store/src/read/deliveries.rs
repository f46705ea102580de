//! The deliveries of one payment's events.

use std::collections::HashMap;

use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_kernel::{EventId, Timestamp};
use quipu_payments::{DeliveryLine, EventLine, Payment};
use quipu_webhooks::Source;

use crate::{
    connection::{Connection, load},
    error::Fault,
    keys::Keys,
    schema::{deliveries, webhook_endpoints as endpoints},
    tables::deliveries::{attempts_of, status_of},
};

type DeliveryColumns = (String, String, i32, Option<i64>, Option<String>, Option<String>);

/// The deliveries of these events, each event's by endpoint. Deliveries are stored by endpoint, so they are
/// looked for under the endpoints that can have got them: the configured ones, which are few, and the one
/// that the payment named.
pub(crate) async fn of_payment(
    conn: &mut Connection,
    payment: &Payment,
    events: &[EventLine],
) -> Result<Vec<DeliveryLine>, Fault> {
    let terms = payment.terms();
    let (merchant, environment) = (terms.tenant.merchant().0, terms.tenant.environment().as_str());
    let named = terms.webhook.as_ref().map_or("", |webhook| webhook.url.as_str());
    let of_tenant = endpoints::table
        .filter(endpoints::merchant_id.eq(merchant))
        .filter(endpoints::environment.eq(environment))
        .filter(endpoints::removed_at.is_null())
        .select((endpoints::id, endpoints::url));
    let of_request =
        of_tenant.filter(endpoints::source.eq(Source::InRequest.as_str())).filter(endpoints::url.eq(named));
    // The order is that of an index, which SQLite takes only then.
    let configured = of_tenant
        .filter(endpoints::source.eq(Source::Admin.as_str()))
        .order((endpoints::created_at, endpoints::id));
    let mut urls: HashMap<String, String> = load!(conn, (String, String), of_request)?.into_iter().collect();
    urls.extend(load!(conn, (String, String), configured)?);
    let keys = Keys::of(terms.tenant, "deliveries").with("endpoint_id", urls.keys().map(String::as_str));
    let query = deliveries::table
        .filter(keys.with("event_id", events.iter().map(|event| event.id.as_str())))
        .order((deliveries::event_id.asc(), deliveries::endpoint_id.asc()))
        .select((
            deliveries::endpoint_id,
            deliveries::event_id,
            deliveries::status,
            deliveries::due_at,
            deliveries::attempts,
            deliveries::error,
        ));
    let rows = load!(conn, DeliveryColumns, query)?;
    rows.into_iter().map(|row| line(row, &urls)).collect()
}

fn line(row: DeliveryColumns, urls: &HashMap<String, String>) -> Result<DeliveryLine, Fault> {
    let (endpoint_id, event_id, status, due_at, attempts, error) = row;
    Ok(DeliveryLine {
        status: status_of(&event_id, status)?,
        event_id: EventId::restore(event_id),
        url: urls.get(&endpoint_id).cloned().unwrap_or_default(),
        endpoint_id,
        error,
        next_attempt_at: due_at.map(Timestamp::from_millis),
        attempts: attempts_of(attempts)?,
    })
}
