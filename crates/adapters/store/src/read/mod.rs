//! Reading: one file for each port, on connections of their own, so that reads never wait for writers.

mod all_payments;
mod bank;
mod classes;
mod count;
mod deliveries;
mod ledger;
pub(crate) mod narrow;
mod payment_list;
mod payments;
mod receipts;
mod search;
pub(crate) mod slice;
mod stretch;
mod ticket_list;
mod ticket_queue;
mod ticket_rows;
mod tickets;
mod timeline;
mod unfiltered;
