//! The operations for merchants. Version 2 has the same operations, and differs only in authentication.

pub(crate) mod auth;
pub(crate) mod balance;
pub(crate) mod merchants;
pub(crate) mod payments;
pub(crate) mod tickets;
pub(crate) mod webhooks;
