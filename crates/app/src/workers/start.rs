//! Which workers a serving process starts.

use std::sync::Arc;

use anyhow::{Context, Result};
use quipu_configuration::Settings;
use quipu_tickets::{TICKET_QUEUES, TicketOffice};

use super::{Alert, Beat, ExpiredKeys, OldDeliveries, Seal, Settle, Tend, Watched, Workers};
use crate::wire::{Foundation, UseCases};

/// Starts the heart, which is told to stop after all others. The first heartbeat is written when this returns.
pub(crate) async fn start_heart(foundation: &Foundation) -> Result<Workers> {
    let beat = Beat { queue: foundation.queue() };
    beat.queue.beat().await.context("the first heartbeat of this node cannot be written")?;
    let mut heart = Workers::new();
    heart.start(|stop| beat.run(stop));
    Ok(heart)
}

/// Starts all that claims work or tidies up; deliveries are not among it.
pub(crate) fn start_workers(
    foundation: &Foundation,
    use_cases: &UseCases,
    tickets: &Arc<TicketOffice>,
    settings: &Settings,
) -> Workers {
    let mut workers = Workers::new();
    let queue = foundation.queue();
    let clock = || Arc::clone(&foundation.clock);
    let settle =
        Settle { queue: Arc::clone(&queue), use_case: Arc::clone(&use_cases.settle), clock: clock() };
    workers.start(|stop| settle.run(stop));
    for kind in TICKET_QUEUES {
        let (queue, office) = (Arc::clone(&queue), Arc::clone(tickets));
        let tend = Tend { kind, queue, office, clock: clock() };
        workers.start(|stop| tend.run(stop));
    }
    let alert = Alert { queue, use_case: Arc::clone(&use_cases.alert), clock: clock() };
    workers.start(|stop| alert.run(stop));
    let watched = Watched {
        viewers: Arc::clone(&use_cases.pages.viewers),
        news: foundation.news(),
        payments: foundation.payments(),
    };
    workers.start(|stop| watched.run(stop));
    let steady = || Arc::clone(&foundation.steady_clock);
    let expired_keys = ExpiredKeys { keys: foundation.used_keys(), clock: steady() };
    workers.start(|stop| expired_keys.run(stop));
    let keep_for = settings.webhooks.keep_for;
    let old_deliveries = OldDeliveries { queue: foundation.deliveries(), clock: steady(), keep_for };
    workers.start(|stop| old_deliveries.run(stop));
    let seal = Seal { chains: foundation.chains(), clock: steady(), after: settings.seal_after };
    workers.start(|stop| seal.run(stop));
    workers
}
