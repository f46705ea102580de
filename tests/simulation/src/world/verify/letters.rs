//! What merchants' receivers were owed, and what they got.

use std::collections::{BTreeMap, BTreeSet};

use quipu_kernel::EventId;
use quipu_webhooks::{DeliveryStatus, ENDPOINT_DISABLED, Endpoint, EndpointId, Event, Source};

use super::Broken;
use crate::world::{node::Surroundings, post::Entry};

/// Attempts of one delivery: the first and nine more.
const MOST_ATTEMPTS: usize = 10;

pub(super) fn verify(around: &Surroundings, broken: &mut Broken) {
    let letters = around.store.shared.post.letters();
    let book = around.book.open();
    let mut owed: BTreeSet<(EndpointId, EventId)> = BTreeSet::new();
    let mut payloads: BTreeMap<&EventId, &str> = BTreeMap::new();
    let mut standing: BTreeMap<&EndpointId, &Endpoint> = BTreeMap::new();
    let mut was_disabled: BTreeSet<&EndpointId> = BTreeSet::new();
    for entry in &letters.log {
        match entry {
            Entry::Stands(endpoint) => {
                if !endpoint.is_enabled() {
                    was_disabled.insert(&endpoint.id);
                }
                standing.insert(&endpoint.id, endpoint);
            }
            Entry::Told(tenant, event) => {
                payloads.insert(&event.id, &event.payload);
                let hearers = standing.values().filter(|it| it.tenant == *tenant && hears(it, event));
                owed.extend(hearers.map(|endpoint| (endpoint.id.clone(), event.id.clone())));
            }
        }
    }
    let written: BTreeSet<_> = letters.owed.keys().cloned().collect();
    for (endpoint, event) in owed.symmetric_difference(&written) {
        let which =
            if owed.contains(&(endpoint.clone(), event.clone())) { "not written" } else { "not owed" };
        broken.push(format!("{event} to {endpoint} is {which}"));
    }
    for (key, letter) in &letters.owed {
        let right = match letter.status {
            DeliveryStatus::Delivered => book.taken.contains(key),
            DeliveryStatus::Failed => {
                letter.attempts.len() >= MOST_ATTEMPTS
                    || letter.error == Some(ENDPOINT_DISABLED) && was_disabled.contains(&key.0)
            }
            DeliveryStatus::Pending => false,
        };
        if !right {
            broken.push(format!("{key:?} is {:?} after {} attempts", letter.status, letter.attempts.len()));
        }
    }
    for (key, bytes) in &book.received {
        let sent = payloads.get(&key.1);
        if bytes.iter().any(|got| Some(&got.as_str()) != sent) || !owed.contains(key) {
            broken.push(format!("{key:?} was received as {bytes:?}"));
        }
    }
}

/// Whether an endpoint is to hear of an event: by its subscription, or because the payment named it.
fn hears(endpoint: &Endpoint, event: &Event) -> bool {
    let subscribed = match endpoint.source {
        Source::Admin => endpoint.events.contains(&event.name),
        Source::InRequest => event
            .named
            .as_ref()
            .is_some_and(|named| named.url == endpoint.url && named.events.contains(&event.name)),
    };
    endpoint.is_enabled() && subscribed
}
