//! Hints: how the nodes on one server tell each other what they have committed.
//!
//! A hint is sent by `NOTIFY` after the commit, on a connection of its own, because a transaction that notifies
//! holds a lock for which all others wait. If hints are lost, the next one says so, and the other nodes look at
//! everything again.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use diesel::{
    pg::Pg,
    sql_types::{Text, Untyped},
};
use diesel_async::AsyncPgConnection;
use quipu_commit::{Aggregate, News, Queue};
use quipu_kernel::{MerchantId, Tenant, Timestamp, locked};
use quipu_webhooks::EndpointId;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
    time::{Duration, timeout},
};

use crate::{
    connection::Connection,
    error::Fault,
    postgres::session::Session,
    statement::statement,
    transaction::custody::{Custody, Origin},
};

/// The most news that waits to be sent to other nodes. More is dropped, and the next hint says that it was.
const WAITING: usize = 256;
/// The item that says that a merchant, a key, a route or a member of staff was written.
const DIRECTORY: &str = "directory";
/// The longest payload of a notification, below the server's bound of 8000 bytes.
const PAYLOAD: usize = 7_000;
/// The pause before the other nodes are told that hints were lost, if there is nothing else to tell them.
const RETRY: Duration = Duration::from_secs(1);
/// A time before every due time, so that every waiting worker wakes.
pub(crate) const AT_ONCE: Timestamp = Timestamp::from_millis(i64::MIN);

statement! { SendHint on Pg => Untyped {
    "SELECT pg_notify ('quipu', " => payload: &'a str as Text ; "), set_config ('synchronous_commit', 'off', true)"
} }

/// A message to the task that sends hints.
enum Hint {
    News(Arc<News>),
    /// Something was written that nodes remember for a second.
    Directory,
    /// A request to be told when all earlier hints have been sent.
    Sent(oneshot::Sender<()>),
}

/// The hints of this node.
pub(crate) struct Hints {
    waiting: mpsc::Sender<Hint>,
    unsent: Mutex<Option<mpsc::Receiver<Hint>>>,
    /// Whether the other nodes have to be told that they have missed some.
    are_lost: Arc<AtomicBool>,
}

impl Hints {
    pub(crate) fn new() -> Self {
        let (waiting, unsent) = mpsc::channel(WAITING);
        Self { waiting, unsent: Mutex::new(Some(unsent)), are_lost: Arc::default() }
    }

    /// Sends the news of a commit to the other nodes soon.
    pub(crate) fn send(&self, news: Arc<News>) {
        self.put(Hint::News(news));
    }

    /// Tells the other nodes soon that something was written that they may remember.
    pub(crate) fn send_directory(&self) {
        self.put(Hint::Directory);
    }

    fn put(&self, hint: Hint) {
        if self.waiting.try_send(hint).is_err() {
            self.are_lost.store(true, Ordering::Relaxed);
        }
    }

    /// Tells the other nodes soon that they have missed hints.
    pub(crate) fn tell_lost(&self) {
        self.are_lost.store(true, Ordering::Relaxed);
        // Wakes the task that sends; if there is no room, it is awake.
        let _awake = self.waiting.try_send(Hint::News(Arc::default()));
    }

    /// Waits until the hints so far were sent, or could not be.
    pub(crate) async fn sent(&self) {
        let (reply, sent) = oneshot::channel();
        if self.waiting.send(Hint::Sent(reply)).await.is_ok() {
            let _gone = sent.await;
        }
    }

    /// Starts to send them, in the name of `node`.
    pub(crate) fn start(&self, node: String, origin: Origin, runtime: &Handle) {
        if let Some(unsent) = locked(&self.unsent).take() {
            runtime.spawn(send_hints(node, unsent, Arc::clone(&self.are_lost), origin));
        }
    }
}

/// Sends hints. Those that wait are sent together: at most one notification for each batch, and fewer if batches
/// follow closely. A hint need not survive, so its commit waits for no standby.
async fn send_hints(
    node: String,
    mut unsent: mpsc::Receiver<Hint>,
    are_lost: Arc<AtomicBool>,
    origin: Origin,
) {
    let (mut waiting, mut custody) = (Vec::new(), Custody::none());
    loop {
        let pause = if are_lost.load(Ordering::Relaxed) { RETRY } else { Duration::MAX };
        if let Ok(0) = timeout(pause, unsent.recv_many(&mut waiting, WAITING)).await {
            return;
        }
        let (mut all, mut directory, mut asked) = (Vec::new(), false, Vec::new());
        for hint in waiting.drain(..) {
            match hint {
                Hint::News(news) => all.push(news),
                Hint::Directory => directory = true,
                Hint::Sent(reply) => asked.push(reply),
            }
        }
        let were_lost = are_lost.swap(false, Ordering::Relaxed);
        if (were_lost || directory || !all.is_empty())
            && let Err(fault) =
                send(&mut custody, &origin, &payload_of(&node, &all, directory, were_lost)).await
        {
            are_lost.store(true, Ordering::Relaxed);
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
    let sent = timeout(origin.times().attempt, notify(payload, session)).await;
    match sent.unwrap_or(Err(Fault::Silent)) {
        Ok(()) => {
            custody.done();
            Ok(())
        }
        Err(fault) => {
            custody.undo(Some(&fault)).await;
            Err(fault)
        }
    }
}

async fn notify(payload: &str, conn: &mut AsyncPgConnection) -> Result<(), Fault> {
    diesel_async::RunQueryDsl::execute(SendHint { payload }, conn).await?;
    Ok(())
}

/// Tells the other nodes that `node` exists.
pub(crate) async fn announce(node: &str, session: &mut Session) -> Result<(), Fault> {
    let payload = payload_of(node, &[], false, false);
    notify(&payload, session).await
}

/// The payload `node|queue,queue|directory,table/merchant/environment/id,…`, in which `directory` is there if something of it
/// was written. If the list would be too long it ends in `*`,
/// which means that there are more. Endpoints come first; `**` means that even some of these are missing, and so
/// it ends if earlier hints were lost.
fn payload_of(node: &str, waiting: &[Arc<News>], directory: bool, were_lost: bool) -> String {
    let mut queues: Vec<&str> =
        waiting.iter().flat_map(|news| news.queues.iter().map(|(queue, _)| queue.0)).collect();
    queues.sort_unstable();
    queues.dedup();
    let mut payload = format!("{node}|{}|", queues.join(","));
    if directory {
        payload.push_str(DIRECTORY);
        payload.push(',');
    }
    let saved = || waiting.iter().flat_map(|news| &news.saved);
    let endpoints = saved().filter(|(aggregate, ..)| *aggregate == Aggregate::ENDPOINT);
    let others = saved().filter(|(aggregate, ..)| *aggregate != Aggregate::ENDPOINT);
    let mut end = if were_lost { "**" } else { "" };
    for (aggregate, tenant, id) in endpoints.chain(others) {
        let item = format!("{}/{}/{}/{id},", aggregate.0, tenant.merchant().0, tenant.environment().as_str());
        if payload.len() + item.len() > PAYLOAD {
            end = if were_lost || *aggregate == Aggregate::ENDPOINT { "**" } else { "*" };
            break;
        }
        payload.push_str(&item);
    }
    payload + end
}

/// What a hint says of the commits of another node.
pub(crate) struct Heard {
    pub(crate) news: News,
    /// The endpoints that were changed; `None` if not all of them are named.
    pub(crate) endpoints: Option<Vec<EndpointId>>,
    /// Whether something may have been written that this node remembers.
    pub(crate) directory: bool,
}

/// What a payload says; `None` if it is the own one of `node`.
pub(crate) fn heard_in(payload: &str, node: &str) -> Option<Heard> {
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
    let endpoints = news.saved.iter().filter(|(aggregate, ..)| *aggregate == Aggregate::ENDPOINT);
    let endpoints = endpoints.map(|(.., id)| EndpointId::restore(id.clone()));
    let were_lost = items.ends_with("**");
    let endpoints = (!were_lost).then(|| endpoints.collect());
    let directory = were_lost || items.split(',').any(|item| item == DIRECTORY);
    Some(Heard { news, endpoints, directory })
}

#[cfg(test)]
mod tests {
    use quipu_kernel::Environment;

    use super::*;

    fn news(aggregate: Aggregate, ids: impl IntoIterator<Item = String>) -> Arc<News> {
        let tenant = Tenant::new(MerchantId(7), Environment::Test);
        let saved = ids.into_iter().map(|id| (aggregate, tenant, id)).collect();
        Arc::new(News { saved, queues: vec![(Queue::SETTLEMENT, AT_ONCE)], incomplete: false })
    }

    fn many() -> impl Iterator<Item = String> {
        (0..1_000).map(|number| format!("id{number:06}"))
    }

    #[test]
    fn a_hint_names_what_was_committed_to_the_other_nodes_only() {
        let payload = payload_of("a", &[news(Aggregate::PAYMENT, ["p1".to_owned()])], false, false);
        assert!(heard_in(&payload, "a").is_none());
        let Heard { news: heard, endpoints, directory } = heard_in(&payload, "b").expect("of another node");
        assert!(!directory);
        assert_eq!(heard.saved, news(Aggregate::PAYMENT, ["p1".to_owned()]).saved);
        assert_eq!(heard.queues, [(Queue::SETTLEMENT, AT_ONCE)]);
        assert!(endpoints.is_some() && !heard.incomplete);
    }

    #[test]
    fn a_hint_says_that_something_of_the_directory_was_written() {
        for (waiting, were_lost) in [
            (vec![], false),
            (vec![], true),
            (vec![news(Aggregate::PAYMENT, many())], false),
            (vec![news(Aggregate::ENDPOINT, many())], false),
        ] {
            let heard = heard_in(&payload_of("a", &waiting, true, were_lost), "b").expect("of another node");
            assert!(heard.directory, "{waiting:?} {were_lost}");
        }
        assert!(heard_in(&payload_of("a", &[], false, true), "b").expect("of another node").directory);
    }

    #[test]
    fn a_hint_says_what_is_missing() {
        let (one, payments) =
            (news(Aggregate::ENDPOINT, ["e1".to_owned()]), news(Aggregate::PAYMENT, many()));
        let endpoints = news(Aggregate::ENDPOINT, many());
        // The news, whether earlier hints were lost; whether something is missing, whether all endpoints are named.
        for (waiting, were_lost, incomplete, all) in [
            (vec![], false, false, true),
            (vec![], true, true, false),
            (vec![Arc::clone(&one)], true, true, false),
            (vec![Arc::clone(&payments), one], false, true, true),
            (vec![Arc::clone(&payments)], true, true, false),
            (vec![payments, endpoints], false, true, false),
        ] {
            let payload = payload_of("a", &waiting, false, were_lost);
            assert!(payload.len() < 8_000);
            let heard = heard_in(&payload, "b").expect("of another node");
            assert_eq!(
                (heard.news.incomplete, heard.endpoints.is_some()),
                (incomplete, all),
                "{waiting:?} {were_lost}"
            );
        }
    }

    #[test]
    fn news_that_finds_no_room_counts_as_lost() {
        let hints = Hints::new();
        for id in many().take(WAITING) {
            hints.send(news(Aggregate::PAYMENT, [id]));
        }
        assert!(!hints.are_lost.load(Ordering::Relaxed));
        hints.send(news(Aggregate::PAYMENT, ["one too many".to_owned()]));
        assert!(hints.are_lost.load(Ordering::Relaxed));
    }
}
