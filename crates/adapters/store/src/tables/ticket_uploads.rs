//! Files that merchants announce.

use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use quipu_commit::Aggregate;
use quipu_tickets::Upload;

use super::{columns::saved_columns, record::record_table, table::Line};
use crate::rows::stored::bigint;

saved_columns! {
    in "ticket_uploads" from (line: Line<'a>)
    key {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        id: &'a str as Text = line.record::<Upload>().id.as_str();
    }
    fixed {
        ticket_id: &'a str as Text = line.record::<Upload>().ticket.as_str();
        filename: &'a str as Text = &line.record::<Upload>().filename;
        content_type: &'a str as Text = line.record::<Upload>().content_type.as_str();
        issued_at: i64 as BigInt = line.record::<Upload>().issued_at.millis();
        expires_at: i64 as BigInt = line.record::<Upload>().expires_at.millis();
    }
    moving {
        object: Option<&'a str> as Nullable<Text> =
            line.record::<Upload>().arrival.as_ref().map(|arrival| arrival.object.as_str());
        size: Option<i64> as Nullable<BigInt> =
            line.record::<Upload>().arrival.as_ref().map(|arrival| bigint(arrival.size));
        spent: bool as Bool = line.record::<Upload>().spent;
    }
    counted {
        revision: i64 as BigInt = line.record::<Upload>().revision, from line.from;
    }
}

record_table! {
    /// Uploads.
    TicketUploads keeps Upload, saved as Aggregate::UPLOAD, in "ticket_uploads"
}
