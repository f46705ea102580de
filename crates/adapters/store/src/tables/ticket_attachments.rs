//! Files of public comments.

use diesel::sql_types::{BigInt, Integer, Text};
use quipu_tickets::StoredAttachment;

use super::{columns::columns, record::record_table, table::Line};
use crate::rows::stored::bigint;

columns! {
    in "ticket_attachments" from (line: Line<'a>) {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        id: &'a str as Text = line.record::<StoredAttachment>().shown.id.as_str();
        ticket_id: &'a str as Text = line.record::<StoredAttachment>().ticket.as_str();
        comment_id: i64 as BigInt = line.record::<StoredAttachment>().comment.0;
        place: i32 as Integer = line.record::<StoredAttachment>().place;
        name: &'a str as Text = &line.record::<StoredAttachment>().shown.name;
        content_type: &'a str as Text = line.record::<StoredAttachment>().shown.content_type.as_str();
        size: i64 as BigInt = bigint(line.record::<StoredAttachment>().shown.size);
        object: &'a str as Text = &line.record::<StoredAttachment>().object;
    }
}

record_table! {
    /// Attachments.
    TicketAttachments keeps StoredAttachment
}
