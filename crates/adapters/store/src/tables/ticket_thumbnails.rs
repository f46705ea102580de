//! Thumbnails of attachments. A second one of the same attachment is as good as the first.

use diesel::sql_types::{BigInt, Text};
use quipu_tickets::ThumbnailMade;

use super::{columns::columns, record::record_table, table::Line};

columns! {
    in "ticket_thumbnails" from (line: Line<'a>) {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        attachment_id: &'a str as Text = line.record::<ThumbnailMade>().attachment.as_str();
        object: &'a str as Text = &line.record::<ThumbnailMade>().thumbnail.object;
        content_type: &'a str as Text = line.record::<ThumbnailMade>().thumbnail.content_type.as_str();
    }
    then "ON CONFLICT (merchant_id, environment, attachment_id) DO NOTHING"
}

record_table! {
    /// Thumbnails.
    TicketThumbnails keeps ThumbnailMade
}
