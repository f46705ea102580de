//! Which endpoints another node has changed, so that they must be read again before anything more goes to them.

use std::collections::HashSet;

use quipu_webhooks::EndpointId;

/// Endpoints as this node knows them and another node has changed.
#[derive(Debug, Default)]
pub(crate) struct Stale {
    marked: HashSet<EndpointId>,
    /// Those that somebody reads just now. What is read counts only while the endpoint is among them.
    reading: HashSet<EndpointId>,
}

impl Stale {
    /// It must be read again, whatever is being read of it now.
    pub(crate) fn mark(&mut self, id: EndpointId) {
        self.reading.remove(&id);
        self.marked.insert(id);
    }

    /// What must be read, and is being read from now on.
    pub(crate) fn begin(&mut self) -> Vec<EndpointId> {
        let ids: Vec<_> = self.marked.drain().collect();
        self.reading.extend(ids.iter().cloned());
        ids
    }

    /// It was read. Whether that still counts.
    pub(crate) fn end(&mut self, id: &EndpointId) -> bool {
        self.reading.remove(id)
    }

    /// They could not be read.
    pub(crate) fn fail(&mut self, ids: Vec<EndpointId>) {
        for id in ids {
            if self.reading.remove(&id) {
                self.marked.insert(id);
            }
        }
    }

    /// Whether it must wait.
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
