//! Reading: one file for each port, on connections of their own, so that reads never wait for writers.

mod count;
pub(crate) mod ledger;
mod narrow;
mod payment_list;
pub(crate) mod payment_row;
pub(crate) mod payments;
pub(crate) mod points;
