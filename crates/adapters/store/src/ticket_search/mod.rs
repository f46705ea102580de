//! Finding tickets by a text, and counting them.

pub(crate) mod filter;
pub(crate) mod search;
pub(crate) mod tally;
