//! Publishes commits: once for each batch, to the listeners in this process, and as a hint to the other nodes.
//!
//! While no other node is known, no hint is sent. A lost hint causes a delay and nothing else: workers look by themselves
//! every few seconds, and so does every listener that learns that it has missed something: when hints were dropped, when a
//! node comes back that was not known for a while, and when a node is gone that may have died before it sent its last hint.

pub(crate) mod doubtful_claims;
mod hints;
mod listen;
mod peers;
mod wakeup;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use quipu_commit::{Aggregate, Listener, News, NewsItem, Queue};
use quipu_kernel::{Tenant, Timestamp};
use quipu_webhooks::{Deliverer, Endpoint, EndpointId, Owed};
use tokio::{runtime::Handle, sync::broadcast, time::timeout};

use self::{
    doubtful_claims::{DoubtfulClaims, Taken},
    hints::{AT_ONCE, Hints},
    listen::listen,
    peers::Peers,
    wakeup::Wakeup,
};
use crate::{cache::Cache, postgres::session::Address, transaction::custody::Origin};

/// The most batches that a listener may lag behind before it is told that it missed some.
const BEHIND: usize = 1024;
/// The time limit for connecting and for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The hub of one store.
pub(crate) struct Hub {
    node: String,
    batches: broadcast::Sender<Arc<News>>,
    wakeups: Vec<Wakeup>,
    hints: Hints,
    deliverer: OnceLock<Arc<dyn Deliverer>>,
    doubtful_claims: DoubtfulClaims,
    peers: Peers,
    /// What this node remembers of the directory.
    cache: Arc<Cache>,
}

impl Hub {
    /// Subscribes to every batch from now on.
    pub(crate) fn subscribe(&self) -> Box<dyn Listener> {
        Box::new(Subscription(self.batches.subscribe()))
    }

    /// `look` is the time after which deliveries of a commit with an unknown outcome are looked for. What others write empties
    /// `cache`.
    pub(crate) fn new(node: String, look: Duration, cache: Arc<Cache>) -> Self {
        Self {
            node,
            batches: broadcast::channel(BEHIND).0,
            wakeups: Queue::ALL.iter().map(|queue| Wakeup::of(*queue)).collect(),
            hints: Hints::new(),
            deliverer: OnceLock::new(),
            doubtful_claims: DoubtfulClaims::new(look),
            peers: Peers::default(),
            cache,
        }
    }

    /// The name of this node in leases and hints.
    pub(crate) fn node(&self) -> &str {
        &self.node
    }

    /// Hands the deliveries of this node's commits to `deliverer` from now on.
    pub(crate) fn deliver_by(&self, deliverer: Arc<dyn Deliverer>) {
        // There is one dispatcher in a process.
        let _first = self.deliverer.set(deliverer);
    }

    /// The name of this node, if it delivers.
    pub(crate) fn delivering_node(&self) -> Option<&str> {
        self.deliverer.get().map(|_| self.node.as_str())
    }

    /// Has the deliveries of a commit attempted.
    pub(crate) fn deliver(&self, owed: Vec<Owed>) {
        if let Some(deliverer) = self.deliverer.get().filter(|_| !owed.is_empty()) {
            deliverer.hand_over(owed);
        }
    }

    /// Tells the deliverers here and on other nodes that this node has changed an endpoint, for the deliveries that they have
    /// claimed.
    pub(crate) fn endpoint_changed(&self, endpoint: &Endpoint) {
        if let Some(deliverer) = self.deliverer.get() {
            deliverer.endpoint_changed(endpoint);
        }
        self.publish(news_of(endpoint.tenant, &endpoint.id));
    }

    /// Tells the deliverers here and on other nodes that an endpoint may have changed.
    pub(crate) fn endpoint_may_have_changed(&self, tenant: Tenant, endpoint: &EndpointId) {
        self.changed_elsewhere(Some(vec![endpoint.clone()]));
        self.publish(news_of(tenant, endpoint));
    }

    /// Tells the deliverer of this node which endpoints others may have changed; `None` means any of them.
    fn changed_elsewhere(&self, endpoints: Option<Vec<EndpointId>>) {
        let is_none = endpoints.as_ref().is_some_and(Vec::is_empty);
        if let Some(deliverer) = self.deliverer.get().filter(|_| !is_none) {
            deliverer.changed_elsewhere(endpoints);
        }
    }

    /// Keeps the deliveries of a batch whose outcome is not known.
    pub(crate) fn keep_doubtful_claims(&self, owed: &[Owed]) {
        if !owed.is_empty() {
            let taken = Taken::default();
            taken.set(owed.iter().map(Owed::emptied).collect());
            self.doubtful_claims.keep(taken);
        }
    }

    /// Deliveries that this node may have claimed in a commit of unknown outcome.
    pub(crate) const fn doubtful_claims(&self) -> &DoubtfulClaims {
        &self.doubtful_claims
    }

    /// Publishes the news of a batch of this node, here and to the other nodes.
    pub(crate) fn publish(&self, news: News) {
        if news.is_empty() {
            return;
        }
        let news = self.publish_here(news);
        if self.has_others() {
            self.hints.send(news);
        }
    }

    /// Notes that this node has written something that nodes remember for a second: forgets it here, and tells the other nodes.
    pub(crate) fn directory_written(&self) {
        self.cache.forget();
        if self.has_others() {
            self.hints.send_directory();
        }
    }

    /// Publishes news to the listeners and workers of this process.
    fn publish_here(&self, news: News) -> Arc<News> {
        let news = Arc::new(news);
        for (queue, due) in &news.queues {
            if let Some(wakeup) = self.wakeups.iter().find(|wakeup| wakeup.queue == *queue) {
                wakeup.wake(*due);
            }
        }
        // An error means that nobody listens.
        let _nobody = self.batches.send(Arc::clone(&news));
        news
    }

    /// Waits until all hints have been sent to the other nodes, or these cannot be reached in time. Otherwise a process that
    /// ends would lose its last hints.
    pub(crate) async fn hints_sent(&self) {
        let _late = timeout(PATIENCE, self.hints.sent()).await;
    }

    /// Tells all listeners in this process that they may have missed commits.
    pub(crate) fn listeners_look_again(&self) {
        self.publish_here(News { incomplete: true, ..News::default() });
    }

    /// Whether there are listeners in this process.
    pub(crate) fn has_listeners(&self) -> bool {
        self.batches.receiver_count() > 0
    }

    /// Wakes every worker of this node and its deliverer, since there may be work that was added long ago.
    pub(crate) fn wake_workers(&self) {
        for wakeup in &self.wakeups {
            wakeup.wake(AT_ONCE);
        }
        if let Some(deliverer) = self.deliverer.get() {
            deliverer.look();
        }
    }

    /// Notes how many other nodes have a heartbeat. If there are fewer than before, one may have ended before it told of its
    /// last commits.
    pub(crate) fn count_others(&self, count: i64) {
        if count > 0 {
            self.peer_heard();
        }
        if self.peers.counted(count) {
            self.all_look_again();
        }
    }

    /// Notes that another node was heard of. While none was known, each may have missed what the other committed: a node that
    /// stood still for a while is forgotten, and does not know it.
    fn peer_heard(&self) {
        if self.peers.heard() {
            self.hints.tell_lost();
            self.all_look_again();
        }
    }

    /// Forgets what is remembered, and tells the listeners and the deliverer of this node that they may have missed commits of
    /// others.
    fn all_look_again(&self) {
        self.cache.forget();
        self.listeners_look_again();
        self.changed_elsewhere(None);
    }

    /// Whether there may be another node.
    pub(crate) fn has_others(&self) -> bool {
        self.peers.may_exist()
    }

    /// Completes when there may be work in the queue that is due before `before`.
    pub(crate) async fn woken(&self, queue: Queue, before: Timestamp) {
        match self.wakeups.iter().find(|wakeup| wakeup.queue == queue) {
            Some(wakeup) => wakeup.woken(before).await,
            None => std::future::pending().await,
        }
    }

    /// Starts to send hints to the other nodes on the same server, and to receive theirs.
    pub(crate) fn join_others(self: &Arc<Self>, listening: Address, origin: Origin, runtime: &Handle) {
        self.hints.start(self.node.clone(), origin, runtime);
        runtime.spawn(listen(Arc::downgrade(self), listening));
    }
}

fn news_of(tenant: Tenant, endpoint: &EndpointId) -> News {
    News { saved: vec![(Aggregate::ENDPOINT, tenant, endpoint.as_str().to_owned())], ..News::default() }
}

struct Subscription(broadcast::Receiver<Arc<News>>);

#[async_trait]
impl Listener for Subscription {
    async fn next(&mut self) -> NewsItem {
        match self.0.recv().await {
            Ok(news) if news.incomplete => NewsItem::Missed,
            Ok(news) => NewsItem::News(news),
            Err(broadcast::error::RecvError::Lagged(_)) => NewsItem::Missed,
            Err(broadcast::error::RecvError::Closed) => NewsItem::Ended,
        }
    }
}
