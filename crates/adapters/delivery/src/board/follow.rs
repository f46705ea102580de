//! How the board follows changes of endpoints.

use std::sync::Arc;

use quipu_webhooks::{Endpoint, EndpointId, Owed};

use super::Board;

impl Board {
    /// Applies this node's own change of an endpoint: waiting deliveries go to its new address. If it is disabled,
    /// they are taken off the board and returned, to be released; they fail in the store, at once or when they
    /// are claimed.
    pub(crate) fn changed(&mut self, endpoint: &Arc<Endpoint>) -> Vec<Owed> {
        // A claim in progress may have read it before the change, so it is read once more.
        self.stale.mark(endpoint.id.clone());
        self.changes.note(&endpoint.id, Some(endpoint));
        self.follow(&endpoint.id, Some(endpoint))
    }

    /// Notes that another node has changed an endpoint, which waits until it has been read again.
    pub(crate) fn changed_elsewhere(&mut self, id: EndpointId) {
        self.stale.mark(id);
    }

    /// Other nodes may have changed any endpoint.
    pub(crate) fn any_changed_elsewhere(&mut self) {
        for id in self.queues.keys() {
            self.stale.mark(id.clone());
        }
    }

    /// Whether there are endpoints to read again.
    pub(crate) fn has_stale(&self) -> bool {
        self.stale.is_marked()
    }

    /// The endpoints to read again; they count as being read from now on.
    pub(crate) fn stale(&mut self) -> Vec<EndpointId> {
        self.stale.begin()
    }

    /// Applies an endpoint that was read again, `None` if it no longer exists. Returns the deliveries to
    /// release.
    pub(crate) fn was_read(&mut self, id: &EndpointId, endpoint: Option<&Arc<Endpoint>>) -> Vec<Owed> {
        if !self.stale.end(id) {
            return Vec::new();
        }
        self.changes.note(id, endpoint);
        self.follow(id, endpoint)
    }

    /// Notes that endpoints could not be read; they keep waiting.
    pub(crate) fn were_not_read(&mut self, ids: Vec<EndpointId>) {
        self.stale.fail(ids);
    }

    fn follow(&mut self, id: &EndpointId, endpoint: Option<&Arc<Endpoint>>) -> Vec<Owed> {
        let enabled = endpoint.filter(|endpoint| endpoint.is_enabled());
        let released = self.change(id, |queue| {
            let waiting = queue.drain();
            let Some(endpoint) = enabled else { return waiting };
            for owed in waiting {
                queue.push(Owed { endpoint: Arc::clone(endpoint), ..owed });
            }
            Vec::new()
        });
        self.wake(id);
        released.unwrap_or_default()
    }
}
