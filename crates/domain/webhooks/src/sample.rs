//! Sample events for the test operation: they have the form of real ones, but the things that they name do
//! not exist.

use quipu_kernel::{EventId, Tenant, Timestamp};
use serde_json::{Value, json};

use crate::{envelope::Envelope, name::EventName};

/// The payload of a sample of this event.
pub fn sample_payload(name: EventName, id: &EventId, at: Timestamp, tenant: Tenant) -> String {
    let deposit = |previous, status, version| payment("deposit", (previous, status), version, at);
    let withdrawal = |previous, status, version| payment("withdrawal", (previous, status), version, at);
    let moved = |status| json!({ "ticket": ticket(status, at) });
    let data = match name {
        EventName::PaymentCreated => deposit(None, "processing", 1),
        EventName::PaymentProcessing => withdrawal(Some("pending"), "processing", 2),
        EventName::PaymentCompleted => deposit(Some("processing"), "completed", 2),
        EventName::PaymentFailed => deposit(Some("processing"), "failed", 2),
        EventName::PaymentCancelled => withdrawal(Some("pending"), "cancelled", 2),
        EventName::PaymentRefunded => deposit(Some("completed"), "refunded", 3),
        EventName::PayoutCreated => withdrawal(None, "pending", 1),
        EventName::PayoutCompleted => withdrawal(Some("processing"), "completed", 3),
        EventName::PayoutFailed => withdrawal(Some("processing"), "failed", 3),
        EventName::TicketCreated => moved("open"),
        EventName::TicketUpdated => moved("in_progress"),
        EventName::TicketCommentAdded => {
            json!({ "ticket": ticket("in_progress", at), "comment": comment(at) })
        }
        EventName::TicketResolved => moved("resolved"),
        EventName::TicketClosed => moved("closed"),
    };
    Envelope::new(id, name, at, tenant, data).payload()
}

/// The data of the step of a payment of this kind from one status to another.
fn payment(kind: &str, (previous, status): (Option<&str>, &str), version: i32, at: Timestamp) -> Value {
    let withdrawal = kind == "withdrawal";
    let failure =
        (status == "failed").then(|| json!({ "code": "SAMPLE", "message": "a sample of a failure" }));
    let mut customer_data = json!({
        "customer_email": "ana@example.com",
        "customer_name": "Ana Sample",
        "reference": "sample-reference",
        "requested_payment_type": kind,
        "commission": { "currency": "MXN", "total_minor": 0 },
    });
    if withdrawal {
        customer_data["payout"] =
            json!({ "bank_account": "032180000118359719", "recipient_name": "Ana Sample" });
    }
    json!({
        "status_version": version,
        "payment": {
            "transaction_id": "pay_0000000000000_222222222222",
            "merchant_reference": "sample-reference",
            "type": kind,
            "method": "spei",
            "currency": "MXN",
            "amount": 100_000,
            "fee": 0,
            "net_amount": 100_000,
            "refunded_amount": if status == "refunded" { 100_000 } else { 0 },
            "status": status,
            "previous_status": previous,
            "status_version": version,
            "failure": failure,
            "created_at": at,
            "updated_at": at,
            "customer_data": customer_data,
        },
    })
}

fn ticket(status: &str, at: Timestamp) -> Value {
    let resolved = matches!(status, "resolved" | "closed");
    json!({
        "ticket_id": "00000000-0000-7000-8000-000000000000",
        "title": "A sample ticket",
        "description": "Sent by the test operation",
        "status": status,
        "category": "question",
        "sub_category": null,
        "payment_id": null,
        "transaction_id": null,
        "reference": null,
        "requires_refund": false,
        "resolution_summary": null,
        "attachments": [],
        "created_at": at,
        "updated_at": at,
        "resolved_at": if resolved { Some(at) } else { None },
        "last_activity_at": at,
    })
}

fn comment(at: Timestamp) -> Value {
    json!({
        "id": 1,
        "author_type": "admin",
        "body": "A sample reply",
        "attachments": [],
        "created_at": at,
        "updated_at": at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{NOON, endpoint};

    /// The sample of this event.
    fn sample(name: EventName) -> Value {
        let id = EventId::restore("evt_1".to_owned());
        let text = sample_payload(name, &id, NOON, endpoint(crate::endpoint::Source::Admin).tenant);
        serde_json::from_str(&text).expect("JSON")
    }

    #[test]
    fn every_event_has_a_sample_in_the_envelope_of_real_ones() {
        for name in EventName::ALL {
            let sample = sample(name);
            assert_eq!(sample["type"], name.as_str());
            assert_eq!((&sample["id"], &sample["merchant_id"]), (&json!("evt_1"), &json!(7)));
            let about = if name.as_str().starts_with("ticket.") { "ticket" } else { "payment" };
            assert!(sample["data"][about].is_object(), "{sample}");
            assert_eq!(sample["data"]["comment"].is_object(), name == EventName::TicketCommentAdded);
            if about == "payment" {
                assert_eq!(sample["data"]["status_version"], sample["data"]["payment"]["status_version"]);
            }
        }
    }

    #[test]
    fn a_sample_is_of_a_payment_or_ticket_that_has_such_an_event() {
        let payments = [
            (EventName::PaymentCreated, "deposit", None, "processing", 1),
            (EventName::PaymentProcessing, "withdrawal", Some("pending"), "processing", 2),
            (EventName::PaymentCompleted, "deposit", Some("processing"), "completed", 2),
            (EventName::PaymentFailed, "deposit", Some("processing"), "failed", 2),
            (EventName::PaymentCancelled, "withdrawal", Some("pending"), "cancelled", 2),
            (EventName::PaymentRefunded, "deposit", Some("completed"), "refunded", 3),
            (EventName::PayoutCreated, "withdrawal", None, "pending", 1),
            (EventName::PayoutCompleted, "withdrawal", Some("processing"), "completed", 3),
            (EventName::PayoutFailed, "withdrawal", Some("processing"), "failed", 3),
        ];
        let tickets = [
            (EventName::TicketCreated, "open", false),
            (EventName::TicketUpdated, "in_progress", false),
            (EventName::TicketCommentAdded, "in_progress", false),
            (EventName::TicketResolved, "resolved", true),
            (EventName::TicketClosed, "closed", true),
        ];
        let named: Vec<_> = payments.iter().map(|row| row.0).chain(tickets.iter().map(|row| row.0)).collect();
        assert_eq!(named, EventName::ALL);
        for (name, kind, previous, status, version) in payments {
            let shown = sample(name)["data"]["payment"].take();
            let told =
                json!([shown["type"], shown["previous_status"], shown["status"], shown["status_version"]]);
            assert_eq!(told, json!([kind, previous, status, version]), "{name:?}");
            assert_eq!(shown["failure"].is_object(), status == "failed", "{name:?}");
            assert_eq!(shown["refunded_amount"] == shown["amount"], status == "refunded", "{name:?}");
            assert_eq!(shown["customer_data"]["payout"].is_object(), kind == "withdrawal", "{name:?}");
        }
        for (name, status, is_resolved) in tickets {
            let shown = sample(name)["data"]["ticket"].take();
            assert_eq!((&shown["status"], shown["resolved_at"].is_string()), (&json!(status), is_resolved));
        }
    }
}
