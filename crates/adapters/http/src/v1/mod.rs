//! The operations for merchants. Version 2 differs in authentication only; its operations are these.

pub(crate) mod auth;
pub(crate) mod balance;
pub(crate) mod merchants;
pub(crate) mod payments;
pub(crate) mod tickets;
pub(crate) mod webhooks;
