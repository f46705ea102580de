//! Limits shared between nodes through Redis.
//!
//! Requests use a connection if there is one and never wait for one to be made. A task of its own keeps it: once a second
//! it reconnects if the connection was lost, and every few seconds it announces this node and learns how many there
//! are, which is what the shares of the fall-back are divided by.
//!
//! Redis may come back without its memory, or lose it while it runs; so the memory has a name, which every check compares.
//! Each node remembers what it allowed itself. After Redis has lost its data, every node sends it the requests that the
//! node allowed. Until all have done so, Redis is not used.

use std::{
    future::Future,
    sync::{
        Arc, PoisonError, RwLock, Weak,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use quipu_kernel::Clock;
use quipu_merchants::{Budget, BudgetKind, LimitsNotShared, RateDecision, RateLimiter, RateVerdict};
use redis::{AsyncConnectionConfig, Client, Script, aio::MultiplexedConnection};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::{
    local::{LocalLimiter, Untold},
    script::{ANNOUNCE, CHECK, TELL},
};

/// How long the task that reconnects waits, which holds nobody up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// How often a lost connection is tried again.
const BEAT: Duration = Duration::from_secs(1);
/// Every so many beats a node announces itself.
const BEATS_PER_ANNOUNCEMENT: u32 = 2;
/// For how many seconds a node counts that is not heard of again.
const NODE_SECONDS: u32 = 30;
/// For how many seconds the nodes that were there before are waited for. One that lives is back after two.
const TOLD_SECONDS: u32 = 10;
/// How many subjects are told at once.
const TOLD_AT_ONCE: usize = 200;
/// How many nodes are assumed at least until they have been counted for a while.
const NODES_ASSUMED: u32 = 2;
const KEY_PREFIX: &str = "quipu:limits";

/// The text is no Redis address. It is not repeated, because it may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("redis_url must have the form redis://[user:password@]host[:port][/database], or rediss:// for TLS")]
pub struct BadRedisUrl;

/// A limiter for several nodes, which count together in Redis and each by itself while Redis is away.
#[derive(Debug)]
pub struct RedisLimiter(Arc<Shared>);

struct Shared {
    client: Client,
    check: Script,
    announce: Script,
    tell: Script,
    /// The connection, if there is one, and the number of connections made before it.
    link: RwLock<Link>,
    local: LocalLimiter,
    patience: Duration,
    node: String,
    nodes: AtomicU32,
    /// How many there were when limits were last shared.
    sharing: AtomicU32,
}

#[derive(Clone, Default)]
struct Link {
    generation: u64,
    connection: Option<MultiplexedConnection>,
    /// The name of the memory that this node knows; none before it ever was connected.
    memory: Option<Arc<str>>,
    /// Whether that memory holds what all nodes know.
    is_complete: bool,
}

impl Link {
    /// Where to count together with others, if that is possible.
    fn shared(self) -> Option<(MultiplexedConnection, Arc<str>)> {
        if self.is_complete { self.connection.zip(self.memory) } else { None }
    }
}

/// What Redis says when a node announces itself.
struct Announced {
    nodes: u32,
    memory: Arc<str>,
    /// In seconds.
    age: u32,
    /// How many nodes have told what they know.
    told: u32,
}

/// Redis did not do what it was asked to, in time.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("no answer in time")]
    Timeout(#[from] tokio::time::error::Elapsed),
    // The category says enough; the whole text of an error may quote an address or a command.
    #[error("{}", .0.category())]
    Redis(#[from] redis::RedisError),
    #[error("its memory is lost")]
    Forgotten,
}

impl RedisLimiter {
    /// How long a check waits for Redis in production: many times what an answer takes, and nothing a payer notices.
    pub const PATIENCE: Duration = Duration::from_millis(50);

    /// Connects to Redis, or begins without it if it does not answer within a second, and keeps trying. A check waits no
    /// longer than `patience`, then it is judged without Redis, by `clock`. Must be called on a tokio runtime, which
    /// carries the connection from then on.
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
            sharing: AtomicU32::new(0),
        });
        if let Err(failure) = shared.reconnect().await {
            tracing::warn!(%failure, "Redis cannot be reached; rate limits are local shares until it can");
        }
        tokio::spawn(keep_connected(Arc::downgrade(&shared)));
        Ok(Self(shared))
    }
}

#[async_trait]
impl RateLimiter for RedisLimiter {
    fn take<'a>(&'a self, budget: Budget, subject: &'a str) -> RateDecision<'a> {
        let link = self.0.link();
        let generation = link.generation;
        match link.shared() {
            Some(shared) => RateDecision::Waiting(Box::pin(self.0.take(generation, shared, budget, subject))),
            None => RateDecision::Ready(self.0.take_share(budget, subject)),
        }
    }

    async fn probe(&self) -> Result<(), LimitsNotShared> {
        let (mut connection, _) = self.0.link().shared().ok_or(LimitsNotShared)?;
        let ping = async { redis::cmd("PING").query_async::<()>(&mut connection).await };
        within(self.0.patience, ping).await.map_err(|_| LimitsNotShared)
    }
}

impl Shared {
    async fn take(
        &self,
        generation: u64,
        shared: (MultiplexedConnection, Arc<str>),
        budget: Budget,
        subject: &str,
    ) -> RateVerdict {
        match self.ask(shared, budget, subject).await {
            Ok(shared) if shared.allowed => {
                let own = self.local.check(budget, subject);
                if own.allowed && own.remaining >= shared.remaining { shared } else { own }
            }
            Ok(shared) => shared,
            Err(failure) => {
                self.lose(generation, &failure);
                self.take_share(budget, subject)
            }
        }
    }

    fn take_share(&self, budget: Budget, subject: &str) -> RateVerdict {
        self.local.check_apart(budget.share(self.nodes.load(Ordering::Relaxed)), subject)
    }

    async fn ask(
        &self,
        (mut connection, memory): (MultiplexedConnection, Arc<str>),
        budget: Budget,
        subject: &str,
    ) -> Result<RateVerdict, Failure> {
        let mut call = self.check.key(key_of(budget.kind(), subject));
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
        Ok(RateVerdict { allowed, limit, remaining, reset_epoch_seconds, retry_after_seconds })
    }

    /// One beat of the task that keeps the connection.
    async fn tend(&self, beat: u32) {
        let link = self.link();
        let Some(connection) = link.connection else {
            if self.reconnect().await.is_ok() && self.link().is_complete {
                tracing::info!("Redis is back; rate limits are shared again");
            }
            return;
        };
        let tended = if link.is_complete {
            self.keep_up(connection, link.memory, beat).await
        } else {
            self.complete(connection, link.memory).await
        };
        if let Err(failure) = tended {
            self.lose(link.generation, &failure);
        }
    }

    /// Tells what was allowed while a connection was just being made, and now and then that this node is there.
    async fn keep_up(
        &self,
        connection: MultiplexedConnection,
        memory: Option<Arc<str>>,
        beat: u32,
    ) -> Result<(), Failure> {
        self.tell(&connection).await?;
        if beat.is_multiple_of(BEATS_PER_ANNOUNCEMENT) {
            let announced = self.announce(connection, false).await?;
            if memory != Some(announced.memory) {
                return Err(Failure::Forgotten);
            }
            self.nodes.store(announced.nodes, Ordering::Relaxed);
            self.sharing.store(announced.nodes, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Looks whether the others have told what they know, too.
    async fn complete(
        &self,
        connection: MultiplexedConnection,
        memory: Option<Arc<str>>,
    ) -> Result<(), Failure> {
        self.tell(&connection).await?;
        let announced = self.announce(connection, true).await?;
        if memory.as_ref() != Some(&announced.memory) {
            return Err(Failure::Forgotten);
        }
        if self.is_complete(&announced) {
            self.link.write().unwrap_or_else(PoisonError::into_inner).is_complete = true;
            tracing::info!("Redis knows what every node allowed; rate limits are shared again");
        }
        Ok(())
    }

    fn is_complete(&self, announced: &Announced) -> bool {
        announced.told >= self.sharing.load(Ordering::Relaxed) || announced.age >= TOLD_SECONDS
    }

    async fn reconnect(&self) -> Result<(), Failure> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(CONNECT_TIMEOUT));
        let connect = self.client.get_multiplexed_async_connection_with_config(&config);
        let connection = within(CONNECT_TIMEOUT, connect).await?;
        // A connection counts once Redis has answered on it: a host may accept what its Redis no longer serves.
        let found = self.announce(connection.clone(), false).await?;
        // The others may not be back yet, so this first count can only raise the number.
        self.nodes.fetch_max(found.nodes, Ordering::Relaxed);
        let known = self.link().memory;
        let is_known = known.as_ref().is_none_or(|known| *known == found.memory);
        if !is_known {
            self.local.forget_told();
        }
        self.tell(&connection).await?;
        let announced = self.announce(connection.clone(), true).await?;
        let is_complete = is_known || self.is_complete(&announced);
        let mut link = self.link.write().unwrap_or_else(PoisonError::into_inner);
        let generation = link.generation + 1;
        *link = Link { generation, connection: Some(connection), memory: Some(found.memory), is_complete };
        Ok(())
    }

    /// Tells Redis that this node is there, and whether it has told everything.
    async fn announce(
        &self,
        mut connection: MultiplexedConnection,
        has_told: bool,
    ) -> Result<Announced, Failure> {
        let mut call = self.announce.key(format!("{KEY_PREFIX}:nodes"));
        call.key(format!("{KEY_PREFIX}:memory")).key(format!("{KEY_PREFIX}:told"));
        call.arg(&self.node).arg(NODE_SECONDS).arg(uuid::Uuid::new_v4().to_string());
        call.arg(u8::from(has_told));
        let answered = within(CONNECT_TIMEOUT, call.invoke_async::<(u32, String, u32, u32)>(&mut connection));
        let (nodes, memory, age, told) = answered.await?;
        Ok(Announced { nodes: nodes.max(1), memory: memory.into(), age, told })
    }

    /// Tells Redis what this node allowed without it.
    async fn tell(&self, connection: &MultiplexedConnection) -> Result<(), Failure> {
        let untold = self.local.tell();
        for some in untold.chunks(TOLD_AT_ONCE) {
            let mut call = self.tell.prepare_invoke();
            for Untold { kind, subject, kept_for, ages } in some {
                call.key(key_of(*kind, subject)).arg(kept_for).arg(ages.len());
                for (age, count) in ages {
                    call.arg(age).arg(count);
                }
            }
            let told = within(CONNECT_TIMEOUT, call.invoke_async::<u32>(&mut connection.clone())).await;
            // Some may have arrived; rather count them twice than not at all.
            told.inspect_err(|_| self.local.forget_told())?;
        }
        Ok(())
    }

    fn link(&self) -> Link {
        self.link.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives up the connection of that generation, unless it was given up before.
    fn lose(&self, generation: u64, failure: &Failure) {
        let mut link = self.link.write().unwrap_or_else(PoisonError::into_inner);
        if link.generation == generation && link.connection.take().is_some() {
            link.is_complete = false;
            tracing::warn!(%failure, "Redis is lost; rate limits are local shares until it is back");
        }
    }
}

/// Tends the connection for as long as there is a limiter.
async fn keep_connected(shared: Weak<Shared>) {
    let mut beats = interval(BEAT);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beats.tick().await;
    for beat in 1_u32.. {
        beats.tick().await;
        let Some(shared) = shared.upgrade() else { return };
        shared.tend(beat).await;
    }
}

fn key_of(kind: BudgetKind, subject: &str) -> String {
    format!("{KEY_PREFIX}:{}:{subject}", kind.as_str())
}

async fn within<T>(limit: Duration, work: impl Future<Output = redis::RedisResult<T>>) -> Result<T, Failure> {
    Ok(timeout(limit, work).await??)
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("node", &self.node).field("nodes", &self.nodes).finish_non_exhaustive()
    }
}
