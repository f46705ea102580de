//! Webhooks: the endpoints, the log of their deliveries, and the queue of pending deliveries.

mod claim;
mod endpoints;
mod failing;
mod log;
mod prune;
mod queue;
mod record;
pub(crate) mod row;
mod settle;
pub(crate) mod turns;
pub(crate) mod unlearnt;
