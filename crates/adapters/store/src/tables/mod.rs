//! The tables that commits write: one file each, which names its columns once. The statements of both databases follow.
//!
//! [`columns!`](columns) describes rows that are inserted, [`saved_columns!`](columns) those that are written
//! again, [`record_table!`](record) says which type of record a table keeps, and [`held_names!`](names) how
//! the holder of a unique name is found. A new table that is only written is a migration for each database,
//! its file here, a line in [`TABLES`], and the record in its domain crate.

use std::any::Any;

use quipu_commit::{Aggregate, Index, Record};

mod alerts;
pub(crate) mod audit_log;
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
#[cfg(test)]
mod notes;
pub(crate) mod payment_classes;
mod payment_pages;
mod payments;
mod receipts;
mod record;
mod refunds;
mod table;
mod ticket_attachments;
mod ticket_comments;
mod ticket_notes;
mod ticket_thumbnails;
mod ticket_uploads;
mod tickets;
pub(crate) mod work;

pub(crate) use table::{Line, NameTable, SavedTable, Table};

/// Every table of records, in the order in which they are written: rows that free a name, or to which others
/// refer, come first.
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

/// The tables whose rows are written again. They are locked in this order.
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

/// The position in [`TABLES`] of the table that stores this record.
pub(crate) fn table_of(record: &dyn Record) -> Option<usize> {
    let wanted = (record as &dyn Any).type_id();
    TABLES.iter().position(|table| table.keeps() == wanted)
}

/// The table at this position of [`TABLES`], if its rows are written again.
pub(crate) fn saved_at(place: usize) -> Option<&'static dyn SavedTable> {
    SAVED_TABLES.iter().copied().find(|table| table.keeps() == TABLES[place].keeps())
}

/// The table of an aggregate.
pub(crate) fn saved_table(aggregate: Aggregate) -> Option<&'static dyn SavedTable> {
    SAVED_TABLES.iter().copied().find(|table| table.aggregate() == aggregate)
}

/// The table that has the holders of such names.
pub(crate) fn name_table(index: Index) -> Option<&'static dyn NameTable> {
    NAME_TABLES.iter().copied().find(|table| table.index() == index)
}
