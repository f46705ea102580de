//! The notification that a commit sends to its listeners.

use std::sync::Arc;

use async_trait::async_trait;
use quipu_kernel::Timestamp;

use crate::{
    changes::Changes,
    state::AggregateKey,
    work::{Queue, WorkChange},
};

/// What one committed batch changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct News {
    /// The aggregates that were saved.
    pub saved: Vec<AggregateKey>,
    /// The queues that have new work, or work put off, with the time when the first of it is due.
    pub queues: Vec<(Queue, Timestamp)>,
    /// Whether more was saved than is listed.
    pub incomplete: bool,
}

impl News {
    /// Whether it says nothing.
    pub const fn is_empty(&self) -> bool {
        self.saved.is_empty() && self.queues.is_empty()
    }

    /// Adds what one change changed.
    pub fn add(&mut self, changes: &Changes) {
        let tenant = changes.tenant;
        self.saved.extend(changes.saves.iter().map(|save| (save.aggregate, tenant, save.id.clone())));
        for change in &changes.work {
            let (queue, due) = match change {
                WorkChange::Put(put) | WorkChange::Take(put) => (put.queue, put.due),
                WorkChange::PutOff { claim, due, .. } | WorkChange::HoldUp { claim, due } => {
                    (claim.queue, *due)
                }
                WorkChange::Drop { .. } | WorkChange::Done(_) => continue,
            };
            match self.queues.iter_mut().find(|(known, _)| *known == queue) {
                Some((_, first)) => *first = due.min(*first),
                None => self.queues.push((queue, due)),
            }
        }
    }

    /// Adds the news of another batch.
    pub fn join(&mut self, other: Self) {
        self.saved.extend(other.saved);
        self.queues.extend(other.queues);
        self.incomplete |= other.incomplete;
    }
}

/// One notification to a listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewsItem {
    /// A batch was committed, here or on another node.
    News(Arc<News>),
    /// The listener missed some news and must read the store.
    Missed,
    /// The store is closing; there will be no more news.
    Ended,
}

/// A subscription to the news of commits.
#[async_trait]
pub trait Listener: Send {
    /// Waits for the next news.
    async fn next(&mut self) -> NewsItem;
}

/// Where to subscribe to news. News is a hint: the committed data is to be read from the store.
pub trait NewsDesk: Send + Sync {
    /// Subscribes from now on.
    fn listen(&self) -> Box<dyn Listener>;
}
