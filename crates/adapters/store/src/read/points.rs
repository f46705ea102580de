//! Reads of single rows by key, gathered: whoever reads next takes everything that waits and asks once for all.
//!
//! Under load this is to reads what group commit is to writes, and alone a read waits for nobody.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::BoxFuture;
use tokio::sync::{Semaphore, oneshot};

use crate::{connection::Connection, engine::Engine, error::Fault};

/// How many may wait.
const QUEUE: usize = 8192;
/// How many are asked for at once.
const BATCH: usize = 512;
/// How many statements are under way at once; those who come meanwhile gather for the next.
const AT_ONCE: usize = 2;

/// Looks up all of some keys. What is not in the answer does not exist.
pub(crate) type LookUp<K, V> =
    for<'c> fn(&'c mut Connection, Vec<K>) -> BoxFuture<'c, Result<HashMap<K, V>, Fault>>;

type Waiting<K, V> = Vec<(K, oneshot::Sender<Result<Option<V>, String>>)>;

/// The reads of one kind that wait.
pub(crate) struct Points<K, V> {
    waiting: Arc<Mutex<Waiting<K, V>>>,
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
        Self { waiting: Arc::default(), places: Arc::new(Semaphore::new(AT_ONCE)), look_up }
    }

    /// The value of one key.
    pub(crate) async fn get(&self, engine: &Engine, key: K) -> Result<Option<V>, Fault> {
        let (reply, outcome) = oneshot::channel();
        let first = {
            let mut waiting = locked(&self.waiting);
            if waiting.len() >= QUEUE {
                return Err(Fault::Overloaded);
            }
            waiting.push((key, reply));
            waiting.len() == 1
        };
        if first {
            self.start(engine)?;
        }
        outcome.await.map_err(|_| Fault::Abandoned)?.map_err(Fault::Shared)
    }

    /// Has one more reader take what waits. Whoever comes to an empty queue starts one, so nobody is left waiting.
    fn start(&self, engine: &Engine) -> Result<(), Fault> {
        let mut round = Round { waiting: Arc::clone(&self.waiting), finished: false };
        let look_up = self.look_up;
        engine.start(&self.places, move |conn| {
            Box::pin(async move {
                loop {
                    let taken = round.take();
                    if taken.is_empty() {
                        return Ok(());
                    }
                    answer(look_up(conn, keys_of(&taken)).await, taken)?;
                }
            })
        })
    }
}

/// One reader's turn. If it ends before the queue was found empty, for want of a connection perhaps, those who wait
/// are let go with an error, since nobody else would come for them.
struct Round<K, V> {
    waiting: Arc<Mutex<Waiting<K, V>>>,
    finished: bool,
}

impl<K, V> Round<K, V> {
    fn take(&mut self) -> Waiting<K, V> {
        let mut waiting = locked(&self.waiting);
        let count = waiting.len().min(BATCH);
        let taken: Waiting<K, V> = waiting.drain(..count).collect();
        self.finished = taken.is_empty();
        taken
    }
}

impl<K, V> Drop for Round<K, V> {
    fn drop(&mut self) {
        if !self.finished {
            locked(&self.waiting).clear();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
                let _gone = reply.send(Err(fault.to_string()));
            }
            Err(fault)
        }
    }
}
