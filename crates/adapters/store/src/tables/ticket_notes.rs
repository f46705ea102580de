//! Internal notes on tickets, which only support sees.

use diesel::sql_types::{BigInt, Text};
use quipu_tickets::NoteOn;

use super::{columns::columns, record::record_table, table::Line};

columns! {
    in "ticket_notes" from (line: Line<'a>) {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        ticket_id: &'a str as Text = line.record::<NoteOn>().ticket.as_str();
        id: i64 as BigInt = line.record::<NoteOn>().note.id.0;
        author_id: &'a str as Text = &line.record::<NoteOn>().note.author.id;
        author_name: &'a str as Text = &line.record::<NoteOn>().note.author.name;
        body: &'a str as Text = &line.record::<NoteOn>().note.body;
        created_at: i64 as BigInt = line.record::<NoteOn>().note.created_at.millis();
    }
}

record_table! {
    /// Internal notes.
    TicketNotes keeps NoteOn
}
