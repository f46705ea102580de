//! Reads of single rows by key, gathered: the next reader takes all that wait and asks once for all of them.
//!
//! Under load this does for reads what group commit does for writes. A read that is alone waits for no other.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::BoxFuture;
use quipu_merchants::StoreUnavailable;
use tokio::{
    sync::{Semaphore, oneshot},
    time::{timeout, timeout_at},
};

use crate::{connection::Connection, engine::Engine, error::Fault, lock::locked, step::Step};

/// How many may wait.
const QUEUE: usize = 8192;
/// How many are asked for at once.
const BATCH: usize = 512;
/// How many statements are under way at once; those who come meanwhile gather for the next.
const AT_ONCE: usize = 2;

/// Looks up all of some keys. What is not in the answer does not exist.
pub(crate) type LookUp<K, V> =
    for<'c> fn(&'c mut Connection, Vec<K>) -> BoxFuture<'c, Result<HashMap<K, V>, Fault>>;

type Waiting<K, V> = Vec<(K, oneshot::Sender<Result<Option<V>, StoreUnavailable>>)>;

/// Those who wait, and whether somebody is on the way to them.
struct Queue<K, V> {
    waiting: Waiting<K, V>,
    awaited: bool,
}

/// The reads of one kind that wait.
pub(crate) struct Points<K, V> {
    queue: Arc<Mutex<Queue<K, V>>>,
    places: Arc<Semaphore>,
    look_up: LookUp<K, V>,
}

impl<K, V> Points<K, V>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// Reads by `look_up`.
    pub(crate) fn new(look_up: LookUp<K, V>) -> Self {
        let queue = Queue { waiting: Vec::new(), awaited: false };
        Self { queue: Arc::new(Mutex::new(queue)), places: Arc::new(Semaphore::new(AT_ONCE)), look_up }
    }

    /// The value of one key.
    pub(crate) async fn get(&self, engine: &Engine, key: K) -> Result<Option<V>, Fault> {
        let (reply, outcome) = oneshot::channel();
        let nobody_comes = {
            let mut queue = locked(&self.queue);
            if queue.waiting.len() >= QUEUE {
                return Err(Fault::Overloaded);
            }
            queue.waiting.push((key, reply));
            !std::mem::replace(&mut queue.awaited, true)
        };
        if nobody_comes {
            self.start(engine)?;
        }
        let step = Step::begin(engine.times());
        let answered = timeout_at(step.deadline, outcome).await.map_err(|_| Fault::Silent)?;
        answered.map_err(|_| Fault::Abandoned)?.map_err(Fault::Shared)
    }

    /// Sends one more reader to take what waits.
    fn start(&self, engine: &Engine) -> Result<(), Fault> {
        let mut round = Round { queue: Arc::clone(&self.queue), on_the_way: true };
        let (look_up, time) = (self.look_up, engine.times().attempt);
        engine.start(&self.places, move |conn| {
            Box::pin(async move {
                while round.on_the_way {
                    let taken = round.take();
                    answer(in_time(time, conn, look_up, keys_of(&taken)).await, taken)?;
                }
                Ok(())
            })
        })
    }
}

/// What `look_up` finds. A server that does not answer in `time` is waited for no longer; a file keeps nobody waiting.
async fn in_time<K, V>(
    time: Duration,
    conn: &mut Connection,
    look_up: LookUp<K, V>,
    keys: Vec<K>,
) -> Result<HashMap<K, V>, Fault> {
    let is_remote = matches!(conn, Connection::Postgres(_));
    let found = look_up(conn, keys);
    if is_remote { timeout(time, found).await.unwrap_or(Err(Fault::Silent)) } else { found.await }
}

/// One reader's turn. If it ends before it came to the queue, for want of a connection perhaps, those who wait are let
/// go with an error, since nobody else would come for them.
struct Round<K, V> {
    queue: Arc<Mutex<Queue<K, V>>>,
    on_the_way: bool,
}

impl<K, V> Round<K, V> {
    /// What waits. Whoever asks after this reader took all of it sends the next.
    fn take(&mut self) -> Waiting<K, V> {
        let mut queue = locked(&self.queue);
        let count = queue.waiting.len().min(BATCH);
        self.on_the_way = count < queue.waiting.len();
        queue.awaited = self.on_the_way;
        queue.waiting.drain(..count).collect()
    }
}

impl<K, V> Drop for Round<K, V> {
    fn drop(&mut self) {
        if self.on_the_way {
            let mut queue = locked(&self.queue);
            queue.awaited = false;
            queue.waiting.clear();
        }
    }
}

fn keys_of<K: Clone + Eq + Hash, V>(taken: &Waiting<K, V>) -> Vec<K> {
    let distinct: HashSet<&K> = taken.iter().map(|(key, _)| key).collect();
    distinct.into_iter().cloned().collect()
}

fn answer<K: Eq + Hash, V: Clone>(
    found: Result<HashMap<K, V>, Fault>,
    taken: Waiting<K, V>,
) -> Result<(), Fault> {
    match found {
        Ok(found) => {
            for (key, reply) in taken {
                let _gone = reply.send(Ok(found.get(&key).cloned()));
            }
            Ok(())
        }
        Err(fault) => {
            for (_, reply) in taken {
                let _gone = reply.send(Err(fault.told()));
            }
            Err(fault)
        }
    }
}
