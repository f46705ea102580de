//! Webhooks: the endpoints, the log of what each was told, and the queue of what is owed.

mod claim;
mod endpoints;
mod log;
mod prune;
mod queue;
mod record;
pub(crate) mod row;
mod settle;
pub(crate) mod unlearnt;
