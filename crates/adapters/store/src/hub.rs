//! Tells what was committed: once for each batch, to the listeners in this process, and as a hint to the other nodes.
//!
//! While no other node is known, no hint is sent. A hint travels by `NOTIFY` after the commit, on a connection of its own,
//! because a transaction that notifies holds a lock for which all others wait. A lost hint costs a delay and nothing else:
//! workers look by themselves every few seconds, and so does every listener that learns that it has missed something.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use diesel::{
    pg::Pg,
    sql_types::{Text, Untyped},
};
use diesel_async::{RunQueryDsl as _, SimpleAsyncConnection as _};
use futures_util::StreamExt as _;
use quipu_commit::{Aggregate, Heard, Listener, News, Queue};
use quipu_kernel::{MerchantId, Tenant, Timestamp};
use quipu_webhooks::{EndpointId, Handover, Owed};
use tokio::{
    runtime::Handle,
    sync::{broadcast, mpsc, oneshot},
    time::timeout,
};

use crate::{
    bell::Bell,
    connection::Connection,
    custody::{Custody, Origin},
    error::Fault,
    session::{Address, Session},
    statement::statement,
    webhooks::unlearnt::{Taken, Unlearnt},
};

/// How many batches a listener may be behind before it is told that it missed some.
const BEHIND: usize = 1024;
/// How much may wait to be told to other nodes; more is dropped, as a hint may be.
const HINTS: usize = 256;
/// The longest payload of a notification, below the server's bound of 8000 bytes.
const PAYLOAD: usize = 7_000;
/// How long to listen before a look whether the connection still leads anywhere.
const LISTENING: Duration = Duration::from_secs(15);
/// How long a connection or an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// For how long another node counts as there that was heard of. It says so itself when it begins to listen, and beats every
/// two seconds.
const OTHERS: Duration = Duration::from_secs(10);
/// Nobody has asked yet whether there are other nodes.
const NOT_KNOWN: u64 = u64::MAX;
/// Before everything that anybody waits for.
const AT_ONCE: Timestamp = Timestamp::from_millis(i64::MIN);
/// How long to wait before another attempt to hear other nodes.
const RETRY: Duration = Duration::from_secs(1);

statement! { SendHint on Pg => Untyped {
    "SELECT pg_notify ('quipu', " => payload: &'a str as Text ; ")"
} }

/// What waits for whoever sends hints.
enum Hint {
    News(Arc<News>),
    /// Somebody wants to know when everything before was sent.
    Sent(oneshot::Sender<()>),
}

/// The hub of one store.
pub(crate) struct Hub {
    node: String,
    batches: broadcast::Sender<Arc<News>>,
    bells: Vec<Bell>,
    hints: mpsc::Sender<Hint>,
    unsent: std::sync::Mutex<Option<mpsc::Receiver<Hint>>>,
    deliverer: OnceLock<Arc<dyn Handover>>,
    unlearnt: Unlearnt,
    made: Instant,
    /// For how many milliseconds from then on another node counts as there. Until it is known there may be one.
    others_until: AtomicU64,
}

impl Hub {
    /// Hears of every batch from now on.
    pub(crate) fn subscribe(&self) -> Box<dyn Listener> {
        Box::new(Subscription(self.batches.subscribe()))
    }

    /// `look` is the time after which deliveries are looked for whose commit could not be learnt about.
    pub(crate) fn new(node: String, look: Duration) -> Self {
        let (hints, unsent) = mpsc::channel(HINTS);
        Self {
            node,
            batches: broadcast::channel(BEHIND).0,
            bells: Queue::ALL.iter().map(|queue| Bell::of(*queue)).collect(),
            hints,
            unsent: std::sync::Mutex::new(Some(unsent)),
            deliverer: OnceLock::new(),
            unlearnt: Unlearnt::new(look),
            made: Instant::now(),
            others_until: AtomicU64::new(NOT_KNOWN),
        }
    }

    /// Which node this is, in leases and hints.
    pub(crate) fn node(&self) -> &str {
        &self.node
    }

    /// From now on somebody here delivers what commits of this node owe.
    pub(crate) fn deliver_by(&self, deliverer: Arc<dyn Handover>) {
        // There is one dispatcher in a process.
        let _first = self.deliverer.set(deliverer);
    }

    /// This node, if somebody here delivers.
    pub(crate) fn delivering_node(&self) -> Option<&str> {
        self.deliverer.get().map(|_| self.node.as_str())
    }

    /// Hands over what a commit owes.
    pub(crate) fn hand_over(&self, owed: Vec<Owed>) {
        if let Some(deliverer) = self.deliverer.get().filter(|_| !owed.is_empty()) {
            deliverer.hand_over(owed);
        }
    }

    /// Tells whoever delivers here which endpoints another node has changed, if the news tells of `all`.
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

    /// Keeps what a batch owes that nobody could learn about.
    pub(crate) fn keep_unlearnt(&self, owed: Vec<Owed>) {
        if !owed.is_empty() {
            let taken = Taken::default();
            taken.tell(owed);
            self.unlearnt.keep(taken);
        }
    }

    /// Deliveries that this node may have claimed in a commit of unknown outcome.
    pub(crate) const fn unlearnt(&self) -> &Unlearnt {
        &self.unlearnt
    }

    /// Tells of a batch of this node.
    pub(crate) fn tell(&self, news: News) {
        if news.is_empty() {
            return;
        }
        let news = Arc::new(news);
        self.spread(&news);
        if self.has_others() {
            // Full, or nobody to send them: it is only a hint.
            let _dropped = self.hints.try_send(Hint::News(news));
        }
    }

    /// Waits until the other nodes on a server were told of everything, or cannot be reached in time. A process that ends would
    /// take its last hints with it.
    pub(crate) async fn hints_sent(&self) {
        let (reply, sent) = oneshot::channel();
        let wait = async {
            if self.hints.send(Hint::Sent(reply)).await.is_ok() {
                let _gone = sent.await;
            }
        };
        let _late = timeout(PATIENCE, wait).await;
    }

    /// Tells everybody who listens here that they may have missed commits.
    pub(crate) fn tell_missed(&self) {
        self.spread(&Arc::new(News { incomplete: true, ..News::default() }));
    }

    /// Whether anybody listens here.
    pub(crate) fn has_listeners(&self) -> bool {
        self.batches.receiver_count() > 0
    }

    /// Wakes every worker of this node, and whoever delivers here: there is something that was put long ago.
    pub(crate) fn wake_workers(&self) {
        for bell in &self.bells {
            bell.ring(AT_ONCE);
        }
        if let Some(deliverer) = self.deliverer.get() {
            deliverer.look();
        }
    }

    /// Another node was heard of.
    pub(crate) fn note_others(&self) {
        let counts_for = u64::try_from(OTHERS.as_millis()).unwrap_or(u64::MAX);
        self.others_until.store(self.milliseconds().saturating_add(counts_for), Ordering::Relaxed);
    }

    /// No node but this one beats. One that was heard of otherwise counts on: it may not have beaten yet.
    pub(crate) fn note_no_others(&self) {
        let _known = self.others_until.compare_exchange(NOT_KNOWN, 0, Ordering::Relaxed, Ordering::Relaxed);
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

    /// Starts to send hints to the other nodes on the same server, and to hear theirs.
    pub(crate) fn join_others(self: &Arc<Self>, listening: Address, origin: Origin, runtime: &Handle) {
        let unsent = self.unsent.lock().ok().and_then(|mut unsent| unsent.take());
        if let Some(unsent) = unsent {
            runtime.spawn(send_hints(self.node.clone(), unsent, origin));
        }
        runtime.spawn(hear_others(Arc::downgrade(self), listening));
    }
}

/// What waited is sent together: at most one notification for each batch, and fewer where batches follow closely.
async fn send_hints(node: String, mut unsent: mpsc::Receiver<Hint>, origin: Origin) {
    let (mut waiting, mut custody) = (Vec::new(), Custody::none());
    while unsent.recv_many(&mut waiting, HINTS).await > 0 {
        let (mut all, mut asked) = (Vec::new(), Vec::new());
        for hint in waiting.drain(..) {
            match hint {
                Hint::News(news) => all.push(news),
                Hint::Sent(reply) => asked.push(reply),
            }
        }
        if !all.is_empty()
            && let Err(fault) = send(&mut custody, &origin, &payload_of(&node, &all)).await
        {
            tracing::debug!(%fault, "other nodes were not told of a commit");
        }
        for reply in asked {
            let _gone = reply.send(());
        }
    }
}

async fn send(custody: &mut Custody, origin: &Origin, payload: &str) -> Result<(), Fault> {
    let Connection::Postgres(session) = custody.connection(origin).await? else {
        return Err(Fault::Abandoned);
    };
    let sent = timeout(origin.times().attempt, (SendHint { payload }).execute(&mut ***session)).await;
    match sent.map_err(|_| Fault::Silent).and_then(|sent| sent.map_err(Fault::from)) {
        Ok(_) => {
            custody.done();
            Ok(())
        }
        Err(fault) => {
            custody.undo(&fault).await;
            Err(fault)
        }
    }
}

/// `node|queue,queue|table/merchant/environment/id,…`; where the list would be too long it ends in `*`, which means more.
/// Endpoints stand first; `**` means that even some of those are missing.
fn payload_of(node: &str, waiting: &[Arc<News>]) -> String {
    let mut queues: Vec<&str> =
        waiting.iter().flat_map(|news| news.queues.iter().map(|(queue, _)| queue.0)).collect();
    queues.sort_unstable();
    queues.dedup();
    let mut payload = format!("{node}|{}|", queues.join(","));
    let saved = || waiting.iter().flat_map(|news| &news.saved);
    let endpoints = saved().filter(|(aggregate, ..)| *aggregate == Aggregate::ENDPOINT);
    let others = saved().filter(|(aggregate, ..)| *aggregate != Aggregate::ENDPOINT);
    for (aggregate, tenant, id) in endpoints.chain(others) {
        let item = format!("{}/{}/{}/{id},", aggregate.0, tenant.merchant().0, tenant.environment().as_str());
        if payload.len() + item.len() > PAYLOAD {
            payload.push_str(if *aggregate == Aggregate::ENDPOINT { "**" } else { "*" });
            break;
        }
        payload.push_str(&item);
    }
    payload
}

/// What another node's payload says, and whether it names every endpoint that was changed; none if it is this node's own.
fn news_of(node: &str, payload: &str) -> Option<(News, bool)> {
    let mut parts = payload.splitn(3, '|');
    let sender = parts.next().filter(|sender| *sender != node)?;
    // When it is due is not said, so whoever waits looks.
    let queues = parts.next()?.split(',').filter_map(Queue::named).map(|queue| (queue, AT_ONCE)).collect();
    let items = parts.next()?;
    let saved = items.split(',').filter_map(|item| {
        let mut parts = item.splitn(4, '/');
        let aggregate = Aggregate::named(parts.next()?)?;
        let merchant = MerchantId(parts.next()?.parse().ok()?);
        let tenant = Tenant::new(merchant, parts.next()?.parse().ok()?);
        Some((aggregate, tenant, parts.next()?.to_owned()))
    });
    tracing::trace!(sender, "another node committed");
    let news = News { saved: saved.collect(), queues, incomplete: items.ends_with('*') };
    Some((news, !items.ends_with("**")))
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
        let payload = payload_of(&hub.node, &[]);
        bounded(async { Ok(SendHint { payload: &payload }.execute(&mut *session).await?) }).await?;
        hub.tell_missed();
        hub.hand_changes(&News::default(), false);
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
    async fn next(&mut self) -> Heard {
        match self.0.recv().await {
            Ok(news) if news.incomplete => Heard::Missed,
            Ok(news) => Heard::News(news),
            Err(broadcast::error::RecvError::Lagged(_)) => Heard::Missed,
            Err(broadcast::error::RecvError::Closed) => Heard::Ended,
        }
    }
}
