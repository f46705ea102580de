//! Lines of the audit log.

use diesel::sql_types::{BigInt, Nullable, Text};
use quipu_merchants::AuditRecord;

use super::{columns::columns, record::record_table, table::Line};

columns! {
    in "audit_log" from (line: Line<'a>) {
        id: &'a str as Text = &line.record::<AuditRecord>().id;
        at: i64 as BigInt = line.record::<AuditRecord>().at.millis();
        actor_id: &'a str as Text = &line.record::<AuditRecord>().actor.id;
        actor_name: &'a str as Text = &line.record::<AuditRecord>().actor.name;
        action: &'a str as Text = &line.record::<AuditRecord>().action;
        merchant_id: Option<i64> as Nullable<BigInt> = line.record::<AuditRecord>().merchant_id;
        subject: &'a str as Text = &line.record::<AuditRecord>().subject;
        before: String as Text = line.record::<AuditRecord>().before.to_string();
        after: String as Text = line.record::<AuditRecord>().after.to_string();
    }
}

record_table! {
    /// The audit log.
    AuditLog keeps AuditRecord
}
