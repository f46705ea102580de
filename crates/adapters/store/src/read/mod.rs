//! Reading: one file for each port, on connections of their own, so that reads never wait for writers.

mod count;
mod ledger;
mod narrow;
mod payment_list;
mod payments;
mod ticket_list;
mod ticket_queue;
mod ticket_rows;
mod ticket_search;
mod tickets;
