//! What was reported of a payment, and what has happened to it.

pub(crate) mod receipt;
pub(crate) mod received;
pub(crate) mod timeline;
