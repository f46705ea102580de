//! Finding tickets by a text, and counting them.

pub(crate) mod ticket_filter;
pub(crate) mod ticket_search;
pub(crate) mod ticket_tally;
