//! The tables that commits write: one file each, which names its columns once. The statements of both databases follow.
//!
//! [`columns!`](columns) describes rows that are inserted, [`saved_columns!`](columns) those that are written again,
//! [`record_table!`](record) says which type of record a table keeps, and [`held_names!`](names) how the holder of a unique
//! name is found. A new table that is only written is a migration for each database, its file here, a line in
//! [`TABLES`], and the record in its domain crate.

use std::any::{Any, TypeId};

use diesel::{QueryResult, SqliteConnection};
use diesel_async::AsyncPgConnection;
use futures_util::future::BoxFuture;
use quipu_commit::{Aggregate, Holder, Index, Record};
use quipu_kernel::{Tenant, Timestamp};

mod alerts;
mod audit_log;
pub(crate) mod balances;
mod bank_export_payments;
mod bank_exports;
mod callbacks;
mod columns;
pub(crate) mod counters;
mod customers;
pub(crate) mod deliveries;
#[cfg(test)]
mod diary;
pub(crate) mod endpoints;
pub(crate) mod entries;
mod events;
pub(crate) mod kept_answers;
mod names;
pub(crate) mod nonces;
mod payment_pages;
mod payments;
mod receipts;
mod record;
mod refunds;
mod ticket_attachments;
mod ticket_comments;
mod ticket_notes;
mod ticket_thumbnails;
mod ticket_uploads;
mod tickets;
pub(crate) mod work;

/// A record on its way into a row, with what it shares with the rest of its change.
pub(crate) struct Line<'a> {
    pub(crate) tenant: Tenant,
    pub(crate) at: Timestamp,
    pub(crate) record: &'a dyn Record,
    /// What was worked out before its turn came, so that the writer does not have to.
    pub(crate) prepared: &'a str,
}

impl<'a> Line<'a> {
    /// The record as what the table keeps.
    ///
    /// # Panics
    ///
    /// If the table was found for another type, which the look-up excludes.
    pub(crate) fn record<T: Record>(&self) -> &'a T {
        let record = (self.record as &dyn Any).downcast_ref();
        record.unwrap_or_else(|| unreachable!("a table is found by the type of its records"))
    }
}

/// Where records of one type go.
pub(crate) trait Table: Sync {
    /// The type.
    fn keeps(&self) -> TypeId;

    /// What can be worked out before the writer's turn.
    fn prepare(&self, _record: &dyn Record) -> String {
        String::new()
    }

    fn insert_sqlite(&self, conn: &mut SqliteConnection, line: &Line<'_>) -> QueryResult<()>;

    fn insert_postgres<'c>(
        &self,
        conn: &'c AsyncPgConnection,
        lines: &'c [Line<'c>],
    ) -> BoxFuture<'c, QueryResult<()>>;
}

/// A table whose rows are read, changed and written again.
pub(crate) trait SavedTable: Table {
    fn aggregate(&self) -> Aggregate;

    fn update_sqlite(&self, conn: &mut SqliteConnection, line: &Line<'_>) -> QueryResult<()>;

    fn update_postgres<'c>(
        &self,
        conn: &'c AsyncPgConnection,
        lines: &'c [Line<'c>],
    ) -> BoxFuture<'c, QueryResult<()>>;

    /// The revision at which a row stands.
    fn revision_sqlite(
        &self,
        conn: &mut SqliteConnection,
        tenant: Tenant,
        id: &str,
    ) -> QueryResult<Option<i64>>;

    /// Locks rows in the order of `keys`; answers the place of each key that has one, from 1, and its revision.
    fn lock_postgres<'c>(
        &self,
        conn: &'c AsyncPgConnection,
        keys: &'c [(Tenant, &'c str)],
    ) -> BoxFuture<'c, QueryResult<Vec<(i64, i64)>>>;
}

/// A kind of unique name, and where its holders are.
pub(crate) trait NameTable: Sync {
    fn index(&self) -> Index;

    fn holder_sqlite(
        &self,
        conn: &mut SqliteConnection,
        tenant: Tenant,
        name: &str,
    ) -> QueryResult<Option<Holder>>;

    /// The place of each name that is held, from 1, and its holder.
    fn holders_postgres<'c>(
        &self,
        conn: &'c AsyncPgConnection,
        names: &'c [(Tenant, &'c str)],
    ) -> BoxFuture<'c, QueryResult<Vec<(i64, Holder)>>>;
}

/// Every table of records. What frees a name or makes what others refer to is written before them, in this order.
pub(crate) static TABLES: &[&dyn Table] = &[
    &customers::Customers,
    &payments::Payments,
    &receipts::Receipts,
    &refunds::Refunds,
    &callbacks::Callbacks,
    &alerts::Alerts,
    &bank_exports::BankExports,
    &bank_export_payments::BankExportPayments,
    &tickets::Tickets,
    &ticket_uploads::TicketUploads,
    &ticket_comments::TicketComments,
    &ticket_notes::TicketNotes,
    &ticket_attachments::TicketAttachments,
    &ticket_thumbnails::TicketThumbnails,
    &events::Events,
    &audit_log::AuditLog,
    &payment_pages::PaymentPages,
    &deliveries::Outcomes,
    #[cfg(test)]
    &diary::Diary,
];

/// Those of them that are written again. They are locked in this order.
pub(crate) static SAVED_TABLES: &[&dyn SavedTable] =
    &[&payments::Payments, &receipts::Receipts, &tickets::Tickets, &ticket_uploads::TicketUploads];

/// Every kind of unique name.
pub(crate) static NAME_TABLES: &[&dyn NameTable] = &[
    &payments::References,
    &customers::Emails,
    &customers::Phones,
    &callbacks::RailEvents,
    &bank_export_payments::ExportedPayments,
    &tickets::PaymentsOfTickets,
];

/// A number of bytes as the databases keep it.
fn whole(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// The place in [`TABLES`] of what keeps this record.
pub(crate) fn table_of(record: &dyn Record) -> Option<usize> {
    let wanted = (record as &dyn Any).type_id();
    TABLES.iter().position(|table| table.keeps() == wanted)
}

/// The table at this place of [`TABLES`], if its rows are written again.
pub(crate) fn saved_at(place: usize) -> Option<&'static dyn SavedTable> {
    SAVED_TABLES.iter().copied().find(|table| table.keeps() == TABLES[place].keeps())
}

/// The table of an aggregate.
pub(crate) fn saved_table(aggregate: Aggregate) -> Option<&'static dyn SavedTable> {
    SAVED_TABLES.iter().copied().find(|table| table.aggregate() == aggregate)
}

/// Where the holders of such names are.
pub(crate) fn name_table(index: Index) -> Option<&'static dyn NameTable> {
    NAME_TABLES.iter().copied().find(|table| table.index() == index)
}
