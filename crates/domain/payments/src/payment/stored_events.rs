//! Checks that the stored events of a payment agree with the payment: the counterpart of `payload.rs`, which writes them.

use quipu_kernel::Timestamp;
use quipu_webhooks::EventName;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use crate::{
    details::kind::PaymentType,
    payment::{Payment, payload::data_of, status::Status, step_events},
};

/// An event of a payment, as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// The identifier of the event.
    pub id: String,
    /// The name of the event.
    pub name: String,
    /// When it happened (UTC).
    pub at: Timestamp,
    /// The version of the payment that it tells of.
    pub version: i32,
    /// The bytes that are delivered.
    pub payload: String,
}

/// Members that describe the step only. The store compares them with the columns of the event; here they would have to
/// equal the present state.
const OF_THE_STEP: [&str; 4] = ["status", "previous_status", "status_version", "updated_at"];
/// Members that describe the payment at that time and may have changed since.
const OF_ITS_TIME: [&str; 2] = ["failure", "refunded_amount"];
/// Members that depend on the amount that arrived.
const OF_WHAT_ARRIVED: [&str; 2] = ["fee", "net_amount"];
/// Members that are there from the completion on, and never in events of an earlier release.
const SINCE_THE_MONEY_CAME: [&str; 2] = ["received_amount", "late"];

/// The problems of the events of a payment, in words: an event that is missing, one too many, or one whose
/// content is wrong. `events` are all of them, in the order of their versions.
pub fn contradictions(payment: &Payment, events: &[StoredEvent]) -> Vec<String> {
    let of_version = events.chunk_by(|one, next| one.version == next.version);
    of_version.flat_map(|events| contradictions_of_step(payment, events)).collect()
}

fn contradictions_of_step(payment: &Payment, events: &[StoredEvent]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut status = None;
    for event in events {
        match check_content(payment, event) {
            Ok(told) => status = Some(told),
            Err(what) => wrong.push(format!("event {} {what}", event.id)),
        }
    }
    let Some((version, status)) = events.first().map(|event| event.version).zip(status) else { return wrong };
    let expected = step_events::of_step(version, status, payment.terms().kind.direction());
    let is_told = |name: &EventName| events.iter().any(|event| event.name == name.as_str());
    if let Some(missing) = expected.iter().find(|name| !is_told(name)) {
        wrong.push(format!("version {version} lacks its event {}", missing.as_str()));
    }
    if events.len() > expected.len() {
        wrong.push(format!("version {version} has {} events too many", events.len() - expected.len()));
    }
    wrong
}

/// The status that an event tells of, or the problem of its content.
fn check_content(payment: &Payment, event: &StoredEvent) -> Result<Status, String> {
    let not_so = |member: &str| format!("says a {member} that is not so");
    let payload: Value = serde_json::from_str(&event.payload).map_err(|_| "is no JSON".to_owned())?;
    let at = Timestamp::deserialize(&payload["created_at"]);
    if !at.is_ok_and(|at| at == event.at) {
        return Err(not_so("time"));
    }
    let data = &payload["data"];
    let found = data["payment"].as_object().ok_or_else(|| "tells of no payment".to_owned())?;
    let status = |member: &str| {
        found.get(member).and_then(Value::as_str).and_then(|status| status.parse::<Status>().ok())
    };
    let is_last = event.version == payment.state().version;
    let expected = data_of(payment, status("previous_status"));
    let expected = expected["payment"].as_object().ok_or_else(|| "cannot be told again".to_owned())?;
    let mut free: Vec<&str> = OF_THE_STEP.to_vec();
    if !is_last {
        free.extend(OF_ITS_TIME);
        if payment.state().received_amount.is_some() {
            free.extend(OF_WHAT_ARRIVED);
        }
    }
    free.push("customer_data");
    free.extend(SINCE_THE_MONEY_CAME.iter().filter(|member| !found.contains_key(**member)));
    if let Some(member) = difference(expected, found, &free) {
        return Err(not_so(&member));
    }
    let (expected, found) = (&expected["customer_data"], &found["customer_data"]);
    let (Some(expected), Some(found)) = (expected.as_object(), found.as_object()) else {
        return Err(not_so("customer_data"));
    };
    let mut free = Vec::new();
    if !is_last && payment.state().received_amount.is_some() {
        free.push("commission");
    }
    // The recipient of a hosted withdrawal may have been named afterwards, and then it stopped waiting.
    if event.version == 1 && payment.terms().kind == PaymentType::WithdrawalPp {
        free.extend(["payout", "expires_at"]);
    }
    if let Some(member) = difference(expected, found, &free) {
        return Err(not_so(&format!("customer_data.{member}")));
    }
    let told = status("status").ok_or_else(|| not_so("status"))?;
    // How much was refunded at a time of refunds is compared with those.
    let is_repaid = matches!(told, Status::PartialRefund | Status::Refunded);
    if !is_repaid && data["payment"]["refunded_amount"] != 0 {
        return Err(not_so("refunded_amount"));
    }
    Ok(told)
}

/// The first member in which the two differ, other than those of `free`.
fn difference(expected: &Map<String, Value>, found: &Map<String, Value>, free: &[&str]) -> Option<String> {
    let names = expected.keys().chain(found.keys());
    let mut bound = names.filter(|name| !free.contains(&name.as_str()));
    bound.find(|name| expected.get(*name) != found.get(*name)).cloned()
}
