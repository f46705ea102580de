//! Webhooks: the endpoints, the log of their deliveries, and the queue of pending deliveries.

mod claim;
mod endpoints;
mod fail_pending;
mod failing;
mod log;
mod pending_log;
mod prune;
mod queue;
mod record;
