//! Rows as they are stored, and what they stand for. Several tables and queries share these; the others have theirs beside the
//! query.

pub(crate) mod audit;
pub(crate) mod chain_place;
pub(crate) mod document;
pub(crate) mod endpoint;
pub(crate) mod payment;
pub(crate) mod period;
pub(crate) mod stored;
