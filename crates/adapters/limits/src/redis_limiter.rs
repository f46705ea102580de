//! Limits shared between nodes through Redis.
//!
//! Requests use a connection if there is one and never wait for one to be made. A separate task keeps it:
//! once a second it reconnects if the connection was lost, and otherwise announces this node and learns the
//! number of nodes, by which the shares of the fall-back are divided.
//!
//! Redis may come back without its memory or with an old state of it, or lose it while it runs. So the memory
//! has a name, which every check compares, and each run of a Redis server begins a new one. Each node
//! remembers what it has allowed. A node that joins Redis, or joins again, reports the requests that it
//! allowed and that Redis does not know. From then on its requests pass Redis, but its share applies as well
//! until Redis is complete: until all other nodes have reported too. These are the nodes that announced
//! themselves lately, which are all living nodes once they have announced themselves for a while without a
//! pause. Redis measures that by its own clock (`script::ANNOUNCE`).
//!
//! While Redis answers without its memory, a node judges no request until the other nodes it knows have
//! reported: they may have used up the limit, and its share would come on top. While Redis does not answer,
//! the node applies its share.

use std::{
    future::Future,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use quipu_kernel::Clock;
use quipu_merchants::{Budget, BudgetKind, LimitsNotShared, RateDecision, RateLimiter, RateVerdict};
use redis::{AsyncConnectionConfig, Client, Script, aio::MultiplexedConnection};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout, timeout_at},
};

use crate::{
    link::{Announced, Failure, Joined, Link, Way},
    local::{LocalLimiter, Untold},
    script::{ANNOUNCE, CHECK, TELL},
};

/// How long the reconnecting task waits for a connection; no request waits for it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// How often a node tries to reconnect, or announces itself.
const BEAT: Duration = Duration::from_secs(1);
/// How often a node that refuses all requests checks whether the others have reported.
const LOOK: Duration = Duration::from_millis(100);
/// The seconds after which a refused request may be tried again: after the next beat of the other nodes.
const RETRY_SECONDS: u32 = 1;
/// For how many beats at most a starting node waits, before its first request, until the others have reported
/// what they allowed: one more than the time for which they are awaited.
const BEATS_AT_START: u32 = TOLD_SECONDS + 1;
/// For how many seconds a node counts after its last announcement.
const NODE_SECONDS: u32 = 30;
/// For how many seconds nodes that may be alive are awaited. A living one is back after two.
const TOLD_SECONDS: u32 = 4;
/// The seconds without any announcement after which Redis was away, or no node was there.
const PAUSE_SECONDS: u32 = 2;
/// The most subjects in one report.
const TOLD_AT_ONCE: usize = 200;
/// The least number of nodes that is assumed until they have been counted for a while.
const NODES_ASSUMED: u32 = 2;
const KEY_PREFIX: &str = "quipu:limits";

/// The text is not a Redis address. It is not repeated, because it may contain a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("redis_url must have the form redis://[user:password@]host[:port][/database], or rediss:// for TLS")]
pub struct BadRedisUrl;

/// A limiter for several nodes, which count together in Redis, and each by itself while Redis is away.
#[derive(Debug)]
pub struct RedisLimiter(Arc<Shared>);

struct Shared {
    client: Client,
    check: Script,
    announce: Script,
    tell: Script,
    link: RwLock<Link>,
    local: LocalLimiter,
    patience: Duration,
    node: String,
    nodes: AtomicU32,
    /// Ends the pause before a beat early.
    wake: Arc<Notify>,
}

impl RedisLimiter {
    /// How long a check waits for Redis in production: many times a usual answer, also of a
    /// machine under load, and short for a payer.
    pub const PATIENCE: Duration = Duration::from_millis(250);

    /// Connects to Redis, or begins without it if one of its first answers takes longer than a second, and
    /// keeps trying. Other nodes get some seconds if Redis may not know yet what they allowed. A check waits
    /// for Redis at most `patience`, then it is judged without it, by `clock`. Must be called on a tokio
    /// runtime, which runs the connection from then on.
    pub async fn connect(url: &str, patience: Duration, clock: Arc<dyn Clock>) -> Result<Self, BadRedisUrl> {
        let shared = Arc::new(Shared {
            client: Client::open(url).map_err(|_| BadRedisUrl)?,
            check: Script::new(CHECK),
            announce: Script::new(ANNOUNCE),
            tell: Script::new(TELL),
            link: RwLock::default(),
            local: LocalLimiter::new(clock),
            patience,
            node: uuid::Uuid::new_v4().to_string(),
            nodes: AtomicU32::new(NODES_ASSUMED),
            wake: Arc::default(),
        });
        // A failure is in the log, and the beats try again.
        let _ = shared.reconnect().await;
        shared.wait_for_others().await;
        tokio::spawn(keep_connected(Arc::downgrade(&shared), Arc::clone(&shared.wake)));
        Ok(Self(shared))
    }
}

#[async_trait]
impl RateLimiter for RedisLimiter {
    fn take<'a>(&'a self, budget: Budget, subject: &'a str) -> RateDecision<'a> {
        let way = self.0.link().way();
        match way {
            Way::Together(joined) => RateDecision::Waiting(Box::pin(self.0.take(joined, budget, subject))),
            Way::Apart => RateDecision::Ready(self.0.take_share(budget, subject)),
            Way::Refused => RateDecision::Ready(self.0.refuse(budget, subject)),
        }
    }

    async fn probe(&self) -> Result<(), LimitsNotShared> {
        let joined = self.0.joined().filter(|joined| joined.is_complete);
        let mut connection = joined.ok_or(LimitsNotShared)?.connection;
        let ping = async { redis::cmd("PING").query_async::<()>(&mut connection).await };
        within(self.0.patience, ping).await.map_err(|_| LimitsNotShared)
    }
}

impl Shared {
    async fn take(&self, joined: Joined, budget: Budget, subject: &str) -> RateVerdict {
        let own_budget = if joined.is_complete { budget } else { self.share(budget) };
        if !joined.is_complete {
            // Redis need not count a request that this node refuses by itself.
            let own = self.local.look(own_budget, subject);
            if !own.allowed {
                return own;
            }
        }
        let generation = joined.generation;
        match self.ask(joined, budget, subject).await {
            Ok(shared) if shared.allowed => {
                let own = self.local.check(own_budget, subject);
                if own.allowed && own.remaining >= shared.remaining { shared } else { own }
            }
            Ok(shared) => shared,
            Err(failure) => {
                self.lose(generation, &failure);
                let is_refused = self.link().refuses_after(&failure);
                if is_refused { self.refuse(budget, subject) } else { self.take_share(budget, subject) }
            }
        }
    }

    fn take_share(&self, budget: Budget, subject: &str) -> RateVerdict {
        self.local.check_apart(self.share(budget), subject)
    }

    /// Refuses a request because it is not known whether there is room for it. What this node allowed by itself
    /// may fill the budget, which is a judgement.
    fn refuse(&self, budget: Budget, subject: &str) -> RateVerdict {
        let own = self.local.look(budget, subject);
        let retry_after_seconds = own.retry_after_seconds.max(RETRY_SECONDS);
        RateVerdict { allowed: false, is_judged: !own.allowed, remaining: 0, retry_after_seconds, ..own }
    }

    fn share(&self, budget: Budget) -> Budget {
        budget.share(self.nodes.load(Ordering::Relaxed))
    }

    async fn ask(
        &self,
        Joined { mut connection, memory, .. }: Joined,
        budget: Budget,
        subject: &str,
    ) -> Result<RateVerdict, Failure> {
        let mut call = self.check.key(key_of(&memory, budget.kind(), subject));
        call.key(format!("{KEY_PREFIX}:memory")).arg(&*memory);
        for window in budget.windows() {
            call.arg(window.limit()).arg(window.seconds());
        }
        let answered = within(self.patience, call.invoke_async::<(i32, _, _, _, _)>(&mut connection));
        let (allowed, limit, remaining, reset_epoch_seconds, retry_after_seconds) = answered.await?;
        if allowed < 0 {
            return Err(Failure::Forgotten);
        }
        let allowed = allowed == 1;
        let is_judged = true;
        Ok(RateVerdict { allowed, is_judged, limit, remaining, reset_epoch_seconds, retry_after_seconds })
    }

    /// Waits, before a node takes its first request, until other nodes have reported what they allowed, if
    /// Redis may not know that yet.
    async fn wait_for_others(&self) {
        for _ in 0..BEATS_AT_START {
            if self.joined().is_none_or(|joined| joined.is_complete) {
                return;
            }
            sleep(BEAT).await;
            self.tend().await;
        }
    }

    /// One beat of the task that keeps the connection.
    async fn tend(&self) {
        if let Some(joined) = self.joined() {
            let generation = joined.generation;
            match self.keep_up(joined).await {
                Ok(()) => return,
                Err(failure) => self.lose(generation, &failure),
            }
        }
        // A failure is in the log, and the next beat tries again.
        let _ = self.reconnect().await;
    }

    async fn reconnect(&self) -> Result<(), Failure> {
        let (connection, found) = self.find().await.inspect_err(|failure| self.link_mut().miss(failure))?;
        // The other nodes may not be back yet, so this first count can only raise the number.
        self.nodes.fetch_max(found.nodes, Ordering::Relaxed);
        let is_new = self.link().is_new(&found.memory);
        if is_new {
            self.local.forget_told();
        }
        let joined = self.link_mut().join(connection, found);
        let generation = joined.generation;
        self.keep_up(joined).await.inspect_err(|failure| self.lose(generation, failure))
    }

    async fn find(&self) -> Result<(MultiplexedConnection, Announced), Failure> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(CONNECT_TIMEOUT));
        let connect = self.client.get_multiplexed_async_connection_with_config(&config);
        let connection = within(CONNECT_TIMEOUT, connect).await?;
        // A connection counts only after Redis has answered on it: a host may accept connections that Redis
        // no longer serves.
        let found = self.announce(connection.clone(), None).await?;
        Ok((connection, found))
    }

    /// Reports what this node allowed without Redis, announces the node, and checks whether the others have
    /// reported too.
    async fn keep_up(&self, joined: Joined) -> Result<(), Failure> {
        self.report(&joined).await?;
        let announced = self.announce(joined.connection, Some((&joined.memory, joined.since))).await?;
        if joined.memory != announced.memory {
            return Err(Failure::Forgotten);
        }
        if joined.is_complete {
            self.nodes.store(announced.nodes, Ordering::Relaxed);
        } else {
            self.nodes.fetch_max(announced.nodes, Ordering::Relaxed);
        }
        self.link_mut().note(joined.generation, announced);
        Ok(())
    }

    /// Announces this node to Redis, and that the named memory includes all that the node allowed. `since` is
    /// the announcement after which the other nodes must have said the same for the memory to be complete.
    async fn announce(
        &self,
        mut connection: MultiplexedConnection,
        told: Option<(&str, u64)>,
    ) -> Result<Announced, Failure> {
        let mut call = self.announce.key(format!("{KEY_PREFIX}:nodes"));
        call.key(format!("{KEY_PREFIX}:memory")).key(format!("{KEY_PREFIX}:told_at"));
        call.arg(&self.node).arg(NODE_SECONDS).arg(TOLD_SECONDS).arg(PAUSE_SECONDS);
        let (memory, since) = told.unwrap_or_default();
        call.arg(uuid::Uuid::new_v4().to_string()).arg(memory).arg(since).arg(self.link().awaited());
        let answered =
            within(CONNECT_TIMEOUT, call.invoke_async::<(_, u32, String, _, _, _)>(&mut connection));
        let (number, nodes, memory, is_complete, others, have_told) = answered.await?;
        Ok(Announced { number, nodes: nodes.max(1), memory: memory.into(), is_complete, others, have_told })
    }

    /// Reports to Redis what this node allowed without it.
    async fn report(&self, joined: &Joined) -> Result<(), Failure> {
        let untold = self.local.take_unreported();
        for some in untold.chunks(TOLD_AT_ONCE) {
            let mut call = self.tell.prepare_invoke();
            for Untold { kind, subject, kept_for, ages } in some {
                call.key(key_of(&joined.memory, *kind, subject)).arg(kept_for).arg(ages.len());
                for (age, count) in ages {
                    call.arg(age).arg(count);
                }
            }
            let mut connection = joined.connection.clone();
            let told = within(CONNECT_TIMEOUT, call.invoke_async::<u32>(&mut connection)).await;
            // Some of it may have arrived; counting it twice is better than not at all.
            told.inspect_err(|_| self.local.forget_told())?;
        }
        Ok(())
    }

    fn joined(&self) -> Option<Joined> {
        self.link().joined.clone()
    }

    /// Gives up the connection of this generation, unless it was given up before.
    fn lose(&self, generation: u64, failure: &Failure) {
        let is_lost = self.link_mut().lose(generation, failure);
        // A Redis that answers can be joined again at once.
        if is_lost && matches!(failure, Failure::Forgotten) {
            self.wake.notify_one();
        }
    }

    fn link(&self) -> RwLockReadGuard<'_, Link> {
        self.link.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn link_mut(&self) -> RwLockWriteGuard<'_, Link> {
        self.link.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs the beats for as long as the limiter exists.
async fn keep_connected(shared: Weak<Shared>, wake: Arc<Notify>) {
    let (mut began, mut pause) = (Instant::now(), BEAT);
    loop {
        let _ = timeout_at(began + pause, wake.notified()).await;
        let Some(shared) = shared.upgrade() else { return };
        began = Instant::now();
        shared.tend().await;
        pause = if shared.link().refuses() { LOOK } else { BEAT };
    }
}

fn key_of(memory: &str, kind: BudgetKind, subject: &str) -> String {
    format!("{KEY_PREFIX}:{memory}:{}:{subject}", kind.as_str())
}

async fn within<T>(limit: Duration, work: impl Future<Output = redis::RedisResult<T>>) -> Result<T, Failure> {
    Ok(timeout(limit, work).await??)
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("node", &self.node).field("nodes", &self.nodes).finish_non_exhaustive()
    }
}
