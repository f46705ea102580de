//! What is kept of webhook endpoints and of what is owed to them, and the rules by which it changes.
//!
//! Who hears an event, what follows from an attempt and what that means for an endpoint is decided by `quipu-webhooks`.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use quipu_commit::Record;
use quipu_kernel::{EventId, Period, StoreError, Tenant, Timestamp};
use quipu_webhooks::{
    Attempt, DeliveryKey, DeliveryStatus, ENDPOINT_DISABLED, Endpoint, EndpointError, EndpointId, Event,
    EventName, LoggedEvent, NamedTarget, Outcome, Owed, Source,
};

/// A node, by its number.
pub(super) type Node = u64;

/// One event that is owed, or was, to one endpoint.
pub(super) struct Delivery {
    name: EventName,
    at: Timestamp,
    payload: Arc<str>,
    status: DeliveryStatus,
    /// Since when it may be sent; none unless it is pending.
    pub(super) due_at: Option<Timestamp>,
    step: u32,
    attempts: Vec<Attempt>,
    error: Option<String>,
    /// Who has it in hand; nobody unless it is pending.
    pub(super) node: Option<Node>,
}

impl Delivery {
    /// In nobody's hands.
    fn of(event: &Event, payload: Arc<str>) -> Self {
        Self {
            name: event.name,
            at: event.at,
            payload,
            status: DeliveryStatus::Pending,
            due_at: Some(event.at),
            step: 0,
            attempts: Vec::new(),
            error: None,
            node: None,
        }
    }

    /// When it is due, if it is owed and nobody has it in hand.
    fn waits_for(&self) -> Option<Timestamp> {
        self.due_at.filter(|_| self.node.is_none())
    }

    /// Whether it stands so and its event happened then.
    pub(super) fn is_among(&self, status: Option<DeliveryStatus>, created: Period) -> bool {
        status.is_none_or(|status| status == self.status) && created.contains(self.at)
    }

    /// Whether it has failed because its endpoint was disabled while the attempt of this outcome was under way.
    fn was_overtaken(&self, outcome: &Outcome) -> bool {
        self.error.as_deref() == Some(ENDPOINT_DISABLED) && self.step + 1 == outcome.step
    }

    /// The attempt of this outcome is kept; the delivery stays failed, unless the receiver has it.
    fn record_late(&mut self, outcome: &Outcome) {
        if outcome.status() == DeliveryStatus::Delivered {
            (self.status, self.error) = (DeliveryStatus::Delivered, None);
        }
        self.step = outcome.step;
        self.attempts.clone_from(&outcome.attempts);
    }

    /// It stands as an attempt left it, in nobody's hands.
    fn record(&mut self, outcome: &Outcome) {
        self.status = outcome.status();
        self.due_at = outcome.reception.next_at();
        self.node = None;
        self.step = outcome.step;
        self.attempts.clone_from(&outcome.attempts);
    }

    /// It has failed without another attempt.
    fn fail(&mut self) {
        self.status = DeliveryStatus::Failed;
        self.error = Some(ENDPOINT_DISABLED.to_owned());
        (self.due_at, self.node) = (None, None);
    }

    /// It is owed again, in a new round.
    pub(super) fn begin_again(&mut self, at: Timestamp) {
        self.status = DeliveryStatus::Pending;
        self.due_at = Some(at);
        self.step = 0;
        self.error = None;
    }

    /// As the log shows it.
    pub(super) fn logged(&self, id: &EventId) -> LoggedEvent {
        LoggedEvent {
            id: id.clone(),
            name: self.name,
            created_at: self.at,
            status: self.status,
            error: self.error.clone(),
            next_attempt_at: self.due_at,
            attempts: self.attempts.clone(),
        }
    }
}

/// An endpoint with what it was told and is owed.
pub(super) struct Hearer {
    pub(super) endpoint: Endpoint,
    /// Since when nobody sees it any more; what is left of it goes when it is pruned.
    pub(super) removed_at: Option<Timestamp>,
    pub(super) told: BTreeMap<EventId, Delivery>,
}

impl Hearer {
    fn is_of(&self, tenant: Tenant) -> bool {
        self.removed_at.is_none() && self.endpoint.tenant == tenant
    }

    /// When each delivery is due that nobody has in hand.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Timestamp> {
        self.told.values().filter_map(Delivery::waits_for)
    }

    /// Lets everything fail that is owed, in whosever hands it is.
    pub(super) fn fail_pending(&mut self) {
        let pending = |delivery: &&mut Delivery| delivery.status == DeliveryStatus::Pending;
        self.told.values_mut().filter(pending).for_each(Delivery::fail);
    }

    /// Takes what is due at `now` into the hands of a node, the longest due first: so many, and so many bytes. What is
    /// owed to an endpoint that is disabled fails instead; what is owed to one that is gone is dropped.
    pub(super) fn take(&mut self, now: Timestamp, (most, bytes): (usize, usize), node: Node) -> Vec<Owed> {
        if self.removed_at.is_some() {
            self.told.retain(|_, delivery| delivery.waits_for().is_none());
            return Vec::new();
        }
        if !self.endpoint.is_enabled() {
            self.fail_pending();
            return Vec::new();
        }
        let due = self.told.iter_mut().filter_map(|(id, delivery)| {
            let due_at = delivery.waits_for().filter(|due_at| *due_at <= now)?;
            Some((due_at, id, delivery))
        });
        let mut due: Vec<_> = due.collect();
        due.sort_by_key(|(due_at, ..)| *due_at);
        let endpoint = Arc::new(self.endpoint.clone());
        let (mut taken, mut sum) = (Vec::new(), 0);
        for (due_at, id, delivery) in due.into_iter().take(most) {
            if sum >= bytes {
                break;
            }
            delivery.node = Some(node);
            let owed = Owed {
                endpoint: Arc::clone(&endpoint),
                event_id: id.clone(),
                payload: Arc::clone(&delivery.payload),
                attempts: delivery.attempts.clone(),
                step: delivery.step,
                due_at,
            };
            sum += owed.bytes();
            taken.push(owed);
        }
        taken
    }

    /// Changes the endpoint if `decide` changes it, and answers it then; what was owed to it fails if it is disabled by
    /// that.
    pub(super) fn revise(&mut self, decide: impl FnOnce(&mut Endpoint) -> bool) -> Option<Endpoint> {
        let mut endpoint = self.endpoint.clone();
        if !decide(&mut endpoint) {
            return None;
        }
        let is_disabled_now = self.endpoint.is_enabled() && !endpoint.is_enabled();
        self.endpoint = endpoint.clone();
        if is_disabled_now {
            self.fail_pending();
        }
        Some(endpoint)
    }
}

/// Every endpoint with its deliveries, and the nodes that may have some in hand.
#[derive(Default)]
pub(super) struct Deliveries {
    pub(super) hearers: BTreeMap<EndpointId, Hearer>,
    /// How many endpoints were made because a payment named them.
    named: u64,
    /// The number of the latest node.
    nodes: Node,
    /// Those that have said that they live.
    living: BTreeSet<Node>,
}

impl Deliveries {
    /// The number of one more node.
    pub(super) fn another_node(&mut self) -> Node {
        self.nodes += 1;
        self.nodes
    }

    /// The node lives.
    pub(super) fn beat(&mut self, node: Node) {
        self.living.insert(node);
    }

    /// An endpoint of the tenant that was not removed.
    pub(super) fn hearer(&mut self, tenant: Tenant, id: &EndpointId) -> Option<&mut Hearer> {
        self.hearers.get_mut(id).filter(|hearer| hearer.is_of(tenant))
    }

    /// The endpoints of the tenant and a source that were not removed.
    pub(super) fn endpoints(&self, tenant: Tenant, source: Source) -> impl Iterator<Item = &Endpoint> {
        let standing = self.hearers.values().filter(move |hearer| hearer.is_of(tenant));
        standing.map(|hearer| &hearer.endpoint).filter(move |endpoint| endpoint.source == source)
    }

    /// Adds an endpoint, unless its tenant has as many as it may have.
    pub(super) fn add(&mut self, endpoint: Endpoint) -> Result<(), EndpointError> {
        let count = self.endpoints(endpoint.tenant, Source::Admin).count();
        if count as u64 >= u64::from(Endpoint::MOST) {
            return Err(EndpointError::LimitReached);
        }
        if self.hearers.contains_key(&endpoint.id) {
            return Err(StoreError::Failed(format!("there is an endpoint {}", endpoint.id)).into());
        }
        self.keep(endpoint);
        Ok(())
    }

    fn keep(&mut self, endpoint: Endpoint) {
        let hearer = Hearer { endpoint, removed_at: None, told: BTreeMap::new() };
        self.hearers.insert(hearer.endpoint.id.clone(), hearer);
    }

    /// Owes the events among the rows of a commit to those who hear them.
    pub(super) fn fan_out(&mut self, rows: &[(Tenant, Arc<dyn Record>)]) {
        for (tenant, row) in rows {
            if let Some(event) = (&**row as &dyn Any).downcast_ref::<Event>() {
                self.owe(*tenant, event);
            }
        }
    }

    fn owe(&mut self, tenant: Tenant, event: &Event) {
        let (target, payload) = (event.named.as_ref(), Arc::<str>::from(event.payload.as_str()));
        let named = target.and_then(|target| self.find_named(tenant, target, event.at));
        for hearer in self.hearers.values_mut().filter(|hearer| hearer.is_of(tenant)) {
            let here = target.filter(|_| named.as_ref() == Some(&hearer.endpoint.id));
            if hearer.endpoint.is_owed(event.name, here.map(|target| target.events.as_slice())) {
                let told = hearer.told.entry(event.id.clone());
                told.or_insert_with(|| Delivery::of(event, Arc::clone(&payload)));
            }
        }
    }

    /// The endpoint that a payment named: the first time it is made, or enabled again.
    fn find_named(&mut self, tenant: Tenant, target: &NamedTarget, at: Timestamp) -> Option<EndpointId> {
        let known = self.hearers.values_mut().find(|hearer| {
            let endpoint = &hearer.endpoint;
            hearer.is_of(tenant) && endpoint.source == Source::InRequest && endpoint.url == target.url
        });
        if let Some(hearer) = known {
            if target.first {
                hearer.endpoint.enable(at);
            }
            return Some(hearer.endpoint.id.clone());
        }
        if !target.first {
            return None;
        }
        self.named += 1;
        let id = EndpointId::restore(format!("00000000-0000-4000-8000-{:012x}", self.named));
        let (url, events) = (target.url.clone(), target.events.clone());
        self.keep(Endpoint::named(id.clone(), tenant, url, events, at));
        Some(id)
    }

    /// Records what came of an attempt, if the node had the delivery in hand for it; answers whether it did.
    pub(super) fn record(&mut self, node: Node, outcome: &Outcome) -> bool {
        let hearer = self.hearers.get_mut(&outcome.endpoint);
        let hearer = hearer.filter(|hearer| hearer.endpoint.tenant == outcome.tenant);
        let delivery = hearer.and_then(|hearer| hearer.told.get_mut(&outcome.event_id));
        let Some(delivery) = delivery else { return false };
        if delivery.node == Some(node) && delivery.due_at == Some(outcome.due_at) {
            delivery.record(outcome);
        } else if delivery.was_overtaken(outcome) {
            delivery.record_late(outcome);
        } else {
            return false;
        }
        true
    }

    /// A delivery that the node has in hand.
    pub(super) fn held(
        &mut self,
        node: Node,
        (tenant, id): (Tenant, &EndpointId),
        event: &EventId,
    ) -> Option<&mut Delivery> {
        let hearer = self.hearers.get_mut(id).filter(|hearer| hearer.endpoint.tenant == tenant)?;
        let delivery = hearer.told.get_mut(event)?;
        (delivery.node == Some(node)).then_some(delivery)
    }

    /// Frees what other nodes have in hand that never said that they live; answers how many deliveries there were.
    pub(super) fn free_abandoned(&mut self, node: Node) -> u64 {
        let is_dead = |holder: Node| holder != node && !self.living.contains(&holder);
        let all = self.hearers.values_mut().flat_map(|hearer| hearer.told.values_mut());
        let mut freed = 0;
        for delivery in all.filter(|delivery| delivery.node.is_some_and(is_dead)) {
            delivery.node = None;
            freed += 1;
        }
        freed
    }

    /// What this node has had in hand since before `before`, at most `limit`.
    pub(super) fn long_in_hand(&self, node: Node, before: Timestamp, limit: usize) -> Vec<DeliveryKey> {
        let all = self.hearers.values().flat_map(|hearer| {
            let (tenant, endpoint) = (hearer.endpoint.tenant, &hearer.endpoint.id);
            let held = hearer.told.iter().filter(move |(_, delivery)| {
                delivery.node == Some(node) && delivery.due_at.is_some_and(|due_at| due_at < before)
            });
            held.map(move |(event, _)| DeliveryKey {
                tenant,
                endpoint: endpoint.clone(),
                event: event.clone(),
            })
        });
        all.take(limit).collect()
    }

    /// Frees them, if this node has them in hand.
    pub(super) fn release_lost(&mut self, node: Node, deliveries: &[DeliveryKey]) {
        for key in deliveries {
            let found =
                self.hearer(key.tenant, &key.endpoint).and_then(|hearer| hearer.told.get_mut(&key.event));
            if let Some(delivery) = found.filter(|delivery| delivery.node == Some(node)) {
                delivery.node = None;
            }
        }
    }

    /// Drops finished deliveries of events that happened more than `keep_for` before `now`, and what is left of
    /// endpoints that were removed long enough before, at most `limit` deliveries; answers how many went.
    pub(super) fn prune(&mut self, now: Timestamp, keep_for: Duration, limit: usize) -> u64 {
        let (before, removed_before) = (now.minus(keep_for), now.minus(Endpoint::REMAINS_FOR));
        let mut left = limit;
        self.hearers.retain(|_, hearer| {
            if left == 0 {
                return true;
            }
            let removed = hearer.removed_at.is_some_and(|at| at < removed_before);
            let goes = |delivery: &Delivery| removed || (delivery.due_at.is_none() && delivery.at < before);
            let old = hearer.told.iter().filter(|(_, delivery)| goes(delivery));
            let old: Vec<EventId> = old.map(|(id, _)| id.clone()).take(left).collect();
            for id in &old {
                hearer.told.remove(id);
            }
            left -= old.len();
            let is_gone = removed && old.is_empty();
            !is_gone
        });
        (limit - left) as u64
    }
}
