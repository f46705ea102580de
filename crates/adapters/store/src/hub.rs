//! Publishes commits: once for each batch, to the listeners in this process, and as a hint to the other nodes.
//!
//! While no other node is known, no hint is sent. A lost hint causes a delay and nothing else: workers look by themselves
//! every few seconds, and so does every listener that learns that it has missed something: when hints were dropped, when a
//! node comes back that was not known for a while, and when a node is gone that may have died before it sent its last hint.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use diesel_async::SimpleAsyncConnection as _;
use futures_util::StreamExt as _;
use quipu_commit::{Aggregate, Listener, News, NewsItem, Queue};
use quipu_kernel::Timestamp;
use quipu_webhooks::{Deliverer, Endpoint, EndpointId, Owed};
use tokio::{runtime::Handle, sync::broadcast, time::timeout};

use crate::{
    bell::Bell,
    custody::Origin,
    error::Fault,
    hints::{AT_ONCE, Hints, announce, news_of},
    sessions::session::{Address, Session},
    unlearnt::{Taken, Unlearnt},
};

/// The most batches that a listener may lag behind before it is told that it missed some.
const BEHIND: usize = 1024;
/// How long a connection is listened on before it is tested.
const LISTENING: Duration = Duration::from_secs(15);
/// The time limit for connecting and for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long another node counts as present after it was last heard of. A node announces itself when it begins to listen, and
/// writes a heartbeat every two seconds.
const OTHERS: Duration = Duration::from_secs(10);
/// Not known yet: the other nodes have not been counted.
const NOT_KNOWN: u64 = u64::MAX;
/// The pause before the next attempt to connect to other nodes.
const RETRY: Duration = Duration::from_secs(1);

/// The hub of one store.
pub(crate) struct Hub {
    node: String,
    batches: broadcast::Sender<Arc<News>>,
    bells: Vec<Bell>,
    hints: Hints,
    deliverer: OnceLock<Arc<dyn Deliverer>>,
    unlearnt: Unlearnt,
    made: Instant,
    /// The number of milliseconds after `made` until which another node counts as present. Until the nodes have been counted
    /// there may be one.
    others_until: AtomicU64,
    /// How many other nodes had a heartbeat at the last count.
    counted: AtomicI64,
}

impl Hub {
    /// Subscribes to every batch from now on.
    pub(crate) fn subscribe(&self) -> Box<dyn Listener> {
        Box::new(Subscription(self.batches.subscribe()))
    }

    /// `look` is the time after which deliveries of a commit with an unknown outcome are looked for.
    pub(crate) fn new(node: String, look: Duration) -> Self {
        Self {
            node,
            batches: broadcast::channel(BEHIND).0,
            bells: Queue::ALL.iter().map(|queue| Bell::of(*queue)).collect(),
            hints: Hints::new(),
            deliverer: OnceLock::new(),
            unlearnt: Unlearnt::new(look),
            made: Instant::now(),
            others_until: AtomicU64::new(NOT_KNOWN),
            counted: AtomicI64::new(0),
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

    /// Hands over the deliveries of a commit.
    pub(crate) fn hand_over(&self, owed: Vec<Owed>) {
        if let Some(deliverer) = self.deliverer.get().filter(|_| !owed.is_empty()) {
            deliverer.hand_over(owed);
        }
    }

    /// Tells the deliverer that this node has changed an endpoint.
    pub(crate) fn hand_change(&self, endpoint: &Endpoint) {
        if let Some(deliverer) = self.deliverer.get() {
            deliverer.endpoint_changed(endpoint);
        }
    }

    /// Tells the deliverer which endpoints another node has changed. `all` says whether the news names all of them.
    fn hand_changes(&self, news: &News, all: bool) {
        let Some(deliverer) = self.deliverer.get() else { return };
        if !all {
            return deliverer.changed_elsewhere(None);
        }
        let changed = news.saved.iter().filter(|(aggregate, ..)| *aggregate == Aggregate::ENDPOINT);
        let changed: Vec<_> = changed.map(|(.., id)| EndpointId::restore(id.clone())).collect();
        if !changed.is_empty() {
            deliverer.changed_elsewhere(Some(changed));
        }
    }

    /// Tells the deliverers here and on other nodes that the endpoints in `news` may have changed.
    pub(crate) fn tell_of_doubt(&self, news: News) {
        self.hand_changes(&news, true);
        self.tell(news);
    }

    /// Keeps the deliveries of a batch whose outcome is not known.
    pub(crate) fn keep_unlearnt(&self, owed: &[Owed]) {
        if !owed.is_empty() {
            let taken = Taken::default();
            taken.tell(owed.iter().map(Owed::emptied).collect());
            self.unlearnt.keep(taken);
        }
    }

    /// Deliveries that this node may have claimed in a commit of unknown outcome.
    pub(crate) const fn unlearnt(&self) -> &Unlearnt {
        &self.unlearnt
    }

    /// Publishes the news of a batch of this node.
    pub(crate) fn tell(&self, news: News) {
        if news.is_empty() {
            return;
        }
        let news = Arc::new(news);
        self.spread(&news);
        if self.has_others() {
            self.hints.send(news);
        }
    }

    /// Waits until all hints have been sent to the other nodes, or these cannot be reached in time. Otherwise a process that
    /// ends would lose its last hints.
    pub(crate) async fn hints_sent(&self) {
        let _late = timeout(PATIENCE, self.hints.sent()).await;
    }

    /// Tells all listeners in this process that they may have missed commits.
    pub(crate) fn tell_missed(&self) {
        self.spread(&Arc::new(News { incomplete: true, ..News::default() }));
    }

    /// Whether there are listeners in this process.
    pub(crate) fn has_listeners(&self) -> bool {
        self.batches.receiver_count() > 0
    }

    /// Wakes every worker of this node and its deliverer, since there may be work that was added long ago.
    pub(crate) fn wake_workers(&self) {
        for bell in &self.bells {
            bell.ring(AT_ONCE);
        }
        if let Some(deliverer) = self.deliverer.get() {
            deliverer.look();
        }
    }

    /// Notes how many other nodes have a heartbeat. If there are fewer than before, one may have ended before it told of its
    /// last commits. If there are none, a node that was heard of by a hint still counts, since it may not have written a
    /// heartbeat yet.
    pub(crate) fn count_others(&self, count: i64) {
        if count > 0 {
            self.note_others();
        } else {
            let _known =
                self.others_until.compare_exchange(NOT_KNOWN, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
        if count < self.counted.swap(count, Ordering::Relaxed) {
            self.look_again();
        }
    }

    /// Notes that another node was heard of. While none was known, each may have missed what the other committed: a node that
    /// stood still for a while is forgotten, and does not know it.
    fn note_others(&self) {
        let were_absent = !self.has_others();
        let counts_for = u64::try_from(OTHERS.as_millis()).unwrap_or(u64::MAX);
        self.others_until.store(self.milliseconds().saturating_add(counts_for), Ordering::Relaxed);
        if were_absent {
            self.hints.tell_lost();
            self.look_again();
        }
    }

    /// Tells the listeners and the deliverer of this node that they may have missed commits of others.
    fn look_again(&self) {
        self.tell_missed();
        self.hand_changes(&News::default(), false);
    }

    /// Whether there may be another node.
    pub(crate) fn has_others(&self) -> bool {
        self.milliseconds() < AtomicU64::load(&self.others_until, Ordering::Relaxed)
    }

    fn milliseconds(&self) -> u64 {
        u64::try_from(self.made.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn spread(&self, news: &Arc<News>) {
        for (queue, due) in &news.queues {
            if let Some(bell) = self.bells.iter().find(|bell| bell.queue == *queue) {
                bell.ring(*due);
            }
        }
        // An error means that nobody listens.
        let _nobody = self.batches.send(Arc::clone(news));
    }

    /// Completes when there may be work in the queue that is due before `before`.
    pub(crate) async fn woken(&self, queue: Queue, before: Timestamp) {
        match self.bells.iter().find(|bell| bell.queue == queue) {
            Some(bell) => bell.rung(before).await,
            None => std::future::pending().await,
        }
    }

    /// Starts to send hints to the other nodes on the same server, and to receive theirs.
    pub(crate) fn join_others(self: &Arc<Self>, listening: Address, origin: Origin, runtime: &Handle) {
        self.hints.start(self.node.clone(), origin, runtime);
        runtime.spawn(hear_others(Arc::downgrade(self), listening));
    }
}

async fn hear_others(hub: std::sync::Weak<Hub>, listening: Address) {
    loop {
        if let Err(fault) = hear(&hub, &listening).await {
            tracing::debug!(%fault, "other nodes are not heard");
        }
        if hub.strong_count() == 0 {
            return;
        }
        tokio::time::sleep(RETRY).await;
    }
}

async fn hear(hub: &std::sync::Weak<Hub>, listening: &Address) -> Result<(), Fault> {
    let mut session = bounded(Session::begin(listening, "LISTEN quipu")).await?;
    if let Some(hub) = hub.upgrade() {
        // Tells the other nodes that this node exists, and tells the listeners here that they may have missed commits.
        bounded(announce(&hub.node, &mut session)).await?;
        hub.look_again();
    }
    loop {
        let next = {
            let mut notifications = std::pin::pin!(session.notifications_stream());
            timeout(LISTENING, notifications.next()).await
        };
        let Some(hub) = hub.upgrade() else { return Ok(()) };
        match next {
            // A connection that leads nowhere is as silent as one on which nothing happens.
            Err(_) => bounded(async { Ok(session.batch_execute("SELECT 1").await?) }).await?,
            Ok(None) => return Err(Fault::Silent),
            Ok(Some(Err(error))) => return Err(error.into()),
            Ok(Some(Ok(notification))) => {
                if let Some((news, all)) = news_of(&hub.node, &notification.payload) {
                    hub.note_others();
                    hub.hand_changes(&news, all);
                    hub.spread(&Arc::new(news));
                }
            }
        }
    }
}

async fn bounded<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    timeout(PATIENCE, work).await.map_err(|_| Fault::Silent)?
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
