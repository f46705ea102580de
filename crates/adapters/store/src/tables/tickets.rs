//! Tickets, and the payments that they are about.

use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text};
use quipu_commit::{Aggregate, Holder, Index};
use quipu_kernel::{PaymentId, Timestamp, fold};
use quipu_tickets::{Ticket, queue_rank};

use super::{columns::saved_columns, names::held_names, record::record_table, table::Line};

saved_columns! {
    in "tickets" from (line: Line<'a>)
    key {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        id: &'a str as Text = line.record::<Ticket>().id().as_str();
    }
    fixed {
        title: &'a str as Text = &line.record::<Ticket>().terms().title;
        description: Option<&'a str> as Nullable<Text> = line.record::<Ticket>().terms().description.as_deref();
        category: &'a str as Text = line.record::<Ticket>().terms().category.as_str();
        sub_category: Option<&'a str> as Nullable<Text> = line.record::<Ticket>().terms().sub_category.as_deref();
        payment_id: Option<&'a str> as Nullable<Text> =
            line.record::<Ticket>().terms().payment_id.as_ref().map(PaymentId::as_str);
        transaction_id: Option<&'a str> as Nullable<Text> =
            line.record::<Ticket>().terms().transaction_id.as_deref();
        reference: Option<&'a str> as Nullable<Text> = line.record::<Ticket>().terms().reference.as_deref();
        requires_refund: bool as Bool = line.record::<Ticket>().terms().requires_refund;
        created_at: i64 as BigInt = line.record::<Ticket>().terms().created_at.millis();
        search_text: &'a str as Text = line.prepared;
    }
    moving {
        status: &'a str as Text = line.record::<Ticket>().status().as_str();
        status_rank: i32 as Integer = line.record::<Ticket>().status().rank().into();
        queue_rank: i32 as Integer = place_in_queue(line.record::<Ticket>());
        assignee: Option<&'a str> as Nullable<Text> = line.record::<Ticket>().state().assignee.as_deref();
        resolution_summary: Option<&'a str> as Nullable<Text> =
            line.record::<Ticket>().state().resolution_summary.as_deref();
        updated_at: i64 as BigInt = line.record::<Ticket>().state().updated_at.millis();
        resolved_at: Option<i64> as Nullable<BigInt> =
            line.record::<Ticket>().state().resolved_at.map(Timestamp::millis);
        last_activity_at: i64 as BigInt = line.record::<Ticket>().state().last_activity_at.millis();
    }
    counted {
        revision: i64 as BigInt = line.record::<Ticket>().state().version, from line.from;
    }
}

fn place_in_queue(ticket: &Ticket) -> i32 {
    queue_rank(ticket.status(), ticket.priority()).into()
}

/// The text that is searched: title and description. The line feed between them keeps a search from matching
/// across both, since no search contains one.
fn search_text(ticket: &Ticket) -> String {
    let terms = ticket.terms();
    fold(&format!("{}\n{}", terms.title, terms.description.as_deref().unwrap_or_default()))
}

record_table! {
    /// Tickets.
    Tickets keeps Ticket, prepared by search_text, saved as Aggregate::TICKET, in "tickets"
}

held_names! {
    /// Payments, each with at most one ticket.
    PaymentsOfTickets of Index::TICKET_PAYMENT, in "tickets" by "payment_id",
    held by "id": String as Text => Holder::Text, within payments
}
