//! Batches of reads by key: one reader takes all that wait and asks for all of them in one query.
//!
//! Under load this does for reads what group commit does for writes. A single read waits for no other.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{
    sync::{Semaphore, oneshot},
    time::{timeout, timeout_at},
};

use quipu_kernel::{StoreError, locked};

use crate::{call_wait::CallWait, connection::Connection, engine::Engine, error::Fault};

/// The most waiting reads.
const QUEUE: usize = 8192;
/// The most keys in one query.
const BATCH: usize = 512;
/// The most queries at a time; reads that come meanwhile wait for the next one.
const AT_ONCE: usize = 2;

/// Looks up several keys. A key that is not in the answer does not exist.
pub(crate) type LookUp<K, V> =
    for<'c> fn(&'c mut Connection, Vec<K>) -> BoxFuture<'c, Result<HashMap<K, V>, Fault>>;

type Waiting<K, V> = Vec<(K, oneshot::Sender<Result<Option<V>, StoreError>>)>;

/// The waiting reads, and whether a reader is about to take them.
struct Queue<K, V> {
    waiting: Waiting<K, V>,
    awaited: bool,
}

/// The waiting reads of one kind.
pub(crate) struct BatchedReads<K, V> {
    queue: Arc<Mutex<Queue<K, V>>>,
    places: Arc<Semaphore>,
    look_up: LookUp<K, V>,
}

impl<K, V> BatchedReads<K, V>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// Reads that are looked up with `look_up`.
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
        let wait = CallWait::begin(engine.times());
        let answered = timeout_at(wait.deadline, outcome).await.map_err(|_| Fault::Silent)?;
        answered.map_err(|_| Fault::Abandoned)?.map_err(Fault::Shared)
    }

    /// Starts a reader that takes the waiting reads.
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

/// The result of `look_up`. On a server it must come within `time`; a file has no limit.
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

/// One reader's turn. If it ends before it has taken the queue, perhaps because there was no connection, the
/// waiting reads get an error, since no other reader would take them.
struct Round<K, V> {
    queue: Arc<Mutex<Queue<K, V>>>,
    on_the_way: bool,
}

impl<K, V> Round<K, V> {
    /// Takes the waiting reads. A read that comes afterwards starts the next reader.
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
                let _gone = reply.send(Err(fault.to_store_error()));
            }
            Err(fault)
        }
    }
}
