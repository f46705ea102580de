//! Deliveries in memory: what the events of a commit owe to whom, in the commit itself, and what becomes of it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
};

use quipu_kernel::{EventId, Tenant, Timestamp, locked};
use quipu_webhooks::{
    Attempt, DeliveryStatus, ENDPOINT_DISABLED, Endpoint, EndpointId, Event, EventName, Outcome, Owed,
    RetryPolicy, Source, TargetUrl,
};

use super::fault::Fault;

/// What is owed: one event to one endpoint.
#[derive(Debug, Clone)]
pub(crate) struct Letter {
    pub(crate) payload: Arc<str>,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) step: u32,
    pub(crate) status: DeliveryStatus,
    pub(crate) error: Option<&'static str>,
    due: Timestamp,
    /// Which taking into hands this is: any later one ends it.
    turn: u64,
}

/// What happened, in the order in which it did.
#[derive(Debug, Clone)]
pub(crate) enum Entry {
    /// An event was committed.
    Told(Tenant, Event),
    /// An endpoint was made or changed.
    Stands(Endpoint),
}

#[derive(Default)]
pub(crate) struct Letters {
    pub(crate) endpoints: BTreeMap<EndpointId, Endpoint>,
    named: BTreeMap<(Tenant, TargetUrl), EndpointId>,
    pub(crate) owed: BTreeMap<(EndpointId, EventId), Letter>,
    pub(crate) log: Vec<Entry>,
}

#[derive(Default)]
pub(crate) struct Post(Mutex<Letters>);

impl Post {
    pub(crate) fn letters(&self) -> MutexGuard<'_, Letters> {
        locked(&self.0)
    }
}

impl Letters {
    /// Adds an endpoint.
    pub(crate) fn add(&mut self, endpoint: Endpoint) {
        self.stands(endpoint);
    }

    fn stands(&mut self, endpoint: Endpoint) {
        self.log.push(Entry::Stands(endpoint.clone()));
        self.endpoints.insert(endpoint.id.clone(), endpoint);
    }

    /// Disables an endpoint or enables it again.
    pub(crate) fn switch(&mut self, id: &EndpointId, on: bool, at: Timestamp) {
        let Some(mut endpoint) = self.endpoints.get(id).cloned() else { return };
        if on {
            endpoint.enable(at);
        } else {
            endpoint.disable(None, at);
        }
        self.stands(endpoint);
        self.fail_disabled(id);
    }

    fn fail_disabled(&mut self, id: &EndpointId) {
        if self.endpoints.get(id).is_none_or(Endpoint::is_enabled) {
            return;
        }
        let owed = self.owed.iter_mut().filter(|((endpoint, _), _)| endpoint == id);
        for (_, letter) in owed.filter(|(_, letter)| letter.status == DeliveryStatus::Pending) {
            letter.status = DeliveryStatus::Failed;
            letter.error = Some(ENDPOINT_DISABLED);
            letter.turn += 1;
        }
    }

    /// Writes down what events owe, as their commit does.
    pub(crate) fn fan_out(&mut self, tenant: Tenant, events: Vec<Event>, fault: Option<Fault>) {
        for event in events {
            // An endpoint that an event makes hears of it.
            self.name_target(tenant, &event);
            self.log.push(Entry::Told(tenant, event.clone()));
            let named = event.named.as_ref().and_then(|named| {
                let id = self.named.get(&(tenant, named.url.clone()))?;
                Some((id.clone(), named.events.clone()))
            });
            let is_owed = |endpoint: &&Endpoint| {
                let named = named.as_ref().filter(|(id, _)| *id == endpoint.id);
                let named = named.map(|(_, events)| events.as_slice());
                let tells = |name: EventName| fault == Some(Fault::UnsubscribedTold) && name == event.name;
                endpoint.tenant == tenant
                    && (endpoint.is_owed(event.name, named)
                        || tells(EventName::PaymentCancelled) && endpoint.source == Source::Admin)
            };
            let hearers = self.endpoints.values().filter(is_owed).map(|endpoint| endpoint.id.clone());
            let most = if fault == Some(Fault::EndpointForgotten) { 1 } else { usize::MAX };
            for id in hearers.take(most).collect::<Vec<_>>() {
                let letter = Letter {
                    payload: event.payload.as_str().into(),
                    attempts: Vec::new(),
                    step: 0,
                    status: DeliveryStatus::Pending,
                    error: None,
                    due: event.at,
                    turn: 0,
                };
                self.owed.insert((id, event.id.clone()), letter);
            }
        }
    }

    /// The endpoint that a payment names: the first time it is made, or enabled again.
    fn name_target(&mut self, tenant: Tenant, event: &Event) {
        let Some(named) = event.named.as_ref().filter(|named| named.first) else { return };
        let key = (tenant, named.url.clone());
        if let Some(id) = self.named.get(&key).cloned() {
            if self.endpoints.get(&id).is_some_and(|endpoint| !endpoint.is_enabled()) {
                self.switch(&id, true, event.at);
            }
            return;
        }
        let id = EndpointId::restore(format!("named-{}-{}", tenant, self.named.len()));
        self.stands(Endpoint::named(id.clone(), tenant, key.1.clone(), named.events.clone(), event.at));
        self.named.insert(key, id);
    }

    /// When the next letter is due.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        let owed = self.owed.values().filter(|letter| letter.status == DeliveryStatus::Pending);
        owed.map(|letter| letter.due).min()
    }

    /// Takes what is due into the hands of a node, until `until`.
    pub(crate) fn claim(&mut self, now: Timestamp, until: Timestamp, most: usize) -> Vec<(Owed, u64)> {
        let due = self.owed.iter_mut();
        let due = due.filter(|(_, letter)| letter.status == DeliveryStatus::Pending && letter.due <= now);
        let mut claimed = Vec::new();
        for ((endpoint, event), letter) in due.take(most) {
            let Some(endpoint) = self.endpoints.get(endpoint) else { continue };
            letter.turn += 1;
            let owed = Owed {
                endpoint: Arc::new(endpoint.clone()),
                event_id: event.clone(),
                payload: Arc::clone(&letter.payload),
                attempts: letter.attempts.clone(),
                step: letter.step,
                due_at: letter.due,
            };
            letter.due = until;
            claimed.push((owed, letter.turn));
        }
        claimed
    }

    /// Records an outcome, if the delivery is still in the hands of whoever attempted it.
    pub(crate) fn record(&mut self, outcome: &Outcome, turn: u64, policy: &RetryPolicy) {
        let key = (outcome.endpoint.clone(), outcome.event_id.clone());
        let Some(letter) = self.owed.get_mut(&key).filter(|letter| letter.turn == turn) else { return };
        letter.turn += 1;
        letter.attempts.clone_from(&outcome.attempts);
        letter.step = outcome.step;
        letter.status = outcome.status();
        if let Some(at) = outcome.reception.next_at() {
            letter.due = at;
        }
        let Some(mut endpoint) = self.endpoints.get(&outcome.endpoint).cloned() else { return };
        if endpoint.note(outcome, policy) {
            self.stands(endpoint);
            self.fail_disabled(&outcome.endpoint);
        }
    }
}
