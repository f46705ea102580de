//! Endpoints that another node has changed, and that must be read again before further deliveries go to them.

use std::collections::HashSet;

use quipu_webhooks::EndpointId;

/// The endpoints whose state on this node is outdated.
#[derive(Debug, Default)]
pub(crate) struct Stale {
    marked: HashSet<EndpointId>,
    /// Endpoints that are being read. The result counts only while the endpoint is in this set.
    reading: HashSet<EndpointId>,
}

impl Stale {
    /// Notes that an endpoint must be read again, even if it is being read now.
    pub(crate) fn mark(&mut self, id: EndpointId) {
        self.reading.remove(&id);
        self.marked.insert(id);
    }

    /// Takes the endpoints to read; they count as being read from now on.
    pub(crate) fn begin(&mut self) -> Vec<EndpointId> {
        let ids: Vec<_> = self.marked.drain().collect();
        self.reading.extend(ids.iter().cloned());
        ids
    }

    /// Whether there are endpoints to read.
    pub(crate) fn is_marked(&self) -> bool {
        !self.marked.is_empty()
    }

    /// Notes that an endpoint was read. Returns whether the result still counts.
    pub(crate) fn end(&mut self, id: &EndpointId) -> bool {
        self.reading.remove(id)
    }

    /// Notes that endpoints could not be read.
    pub(crate) fn fail(&mut self, ids: Vec<EndpointId>) {
        for id in ids {
            if self.reading.remove(&id) {
                self.marked.insert(id);
            }
        }
    }

    /// Whether deliveries to the endpoint must wait.
    pub(crate) fn holds(&self, id: &EndpointId) -> bool {
        self.marked.contains(id) || self.reading.contains(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_while_it_is_read_is_read_once_more() {
        let id = EndpointId::restore("wh_1".to_owned());
        let mut stale = Stale::default();
        stale.mark(id.clone());
        assert_eq!(stale.begin(), std::slice::from_ref(&id));
        stale.mark(id.clone());
        assert!(!stale.end(&id) && stale.holds(&id));
        assert_eq!(stale.begin(), std::slice::from_ref(&id));
        assert!(stale.end(&id) && !stale.holds(&id));
    }

    #[test]
    fn what_could_not_be_read_waits_on() {
        let id = EndpointId::restore("wh_1".to_owned());
        let mut stale = Stale::default();
        stale.mark(id.clone());
        let ids = stale.begin();
        stale.fail(ids);
        assert!(stale.holds(&id));
        assert_eq!(stale.begin(), [id]);
    }
}
