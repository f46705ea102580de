//! Limits shared between nodes through Redis.
//!
//! Requests use a connection if there is one and never wait for one to be made. A task of its own keeps it: once a second
//! it reconnects if the connection was lost, and every few seconds it announces this node and learns how many there
//! are, which is what the shares of the fall-back are divided by.

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
use quipu_merchants::{Budget, Decision, LimitsNotShared, RateLimiter, Verdict};
use redis::{AsyncConnectionConfig, Client, Script, aio::MultiplexedConnection};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::{
    local::LocalLimiter,
    script::{ANNOUNCE, CHECK},
};

/// How long the task that reconnects waits, which holds nobody up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// How often a lost connection is tried again.
const BEAT: Duration = Duration::from_secs(1);
/// Every so many beats a node announces itself.
const BEATS_PER_ANNOUNCEMENT: u32 = 5;
/// For how many seconds a node counts that is not heard of again.
const NODE_SECONDS: u32 = 30;
/// How many nodes are assumed at least until they have been counted for a while.
const NODES_ASSUMED: u32 = 2;
const KEY_PREFIX: &str = "quipu:limits";

/// The text is no Redis address. It is not repeated, because it may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("redis_url must have the form redis://[user:password@]host[:port][/database]")]
pub struct BadRedisUrl;

/// A limiter for several nodes, which count together in Redis and each by itself while Redis is away.
#[derive(Debug)]
pub struct RedisLimiter(Arc<Shared>);

struct Shared {
    client: Client,
    check: Script,
    announce: Script,
    /// The connection, if there is one, and the number of connections made before it.
    link: RwLock<Link>,
    local: LocalLimiter,
    patience: Duration,
    node: String,
    nodes: AtomicU32,
}

#[derive(Clone, Default)]
struct Link {
    generation: u64,
    connection: Option<MultiplexedConnection>,
}

/// Redis did not do what it was asked to, in time.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("no answer in time")]
    Timeout(#[from] tokio::time::error::Elapsed),
    // The category says enough; the whole text of an error may quote an address or a command.
    #[error("{}", .0.category())]
    Redis(#[from] redis::RedisError),
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
            link: RwLock::default(),
            local: LocalLimiter::new(clock),
            patience,
            node: uuid::Uuid::new_v4().to_string(),
            nodes: AtomicU32::new(NODES_ASSUMED),
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
    fn take<'a>(&'a self, budget: Budget, subject: &'a str) -> Decision<'a> {
        let link = self.0.link();
        match link.connection {
            Some(connection) => {
                Decision::Waiting(Box::pin(self.0.take(link.generation, connection, budget, subject)))
            }
            None => Decision::Ready(self.0.take_share(budget, subject)),
        }
    }

    async fn probe(&self) -> Result<(), LimitsNotShared> {
        let mut connection = self.0.link().connection.ok_or(LimitsNotShared)?;
        let ping = async { redis::cmd("PING").query_async::<()>(&mut connection).await };
        within(self.0.patience, ping).await.map_err(|_| LimitsNotShared)
    }
}

impl Shared {
    async fn take(
        &self,
        generation: u64,
        connection: MultiplexedConnection,
        budget: Budget,
        subject: &str,
    ) -> Verdict {
        match within(self.patience, self.ask(connection, budget, subject)).await {
            Ok(shared) if shared.allowed => {
                // A Redis that lost its memory would let everybody begin anew; this node knows what it allowed itself.
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

    fn take_share(&self, budget: Budget, subject: &str) -> Verdict {
        self.local.check(budget.share(self.nodes.load(Ordering::Relaxed)), subject)
    }

    async fn ask(
        &self,
        mut connection: MultiplexedConnection,
        budget: Budget,
        subject: &str,
    ) -> redis::RedisResult<Verdict> {
        let mut call = self.check.key(format!("{KEY_PREFIX}:{}:{subject}", budget.kind().as_str()));
        for window in budget.windows() {
            call.arg(window.limit()).arg(window.seconds());
        }
        let (allowed, limit, remaining, reset_epoch_seconds, retry_after_seconds) =
            call.invoke_async(&mut connection).await?;
        Ok(Verdict { allowed, limit, remaining, reset_epoch_seconds, retry_after_seconds })
    }

    /// One beat of the task that keeps the connection.
    async fn tend(&self, beat: u32) {
        let Link { generation, connection } = self.link();
        match connection {
            Some(connection) if beat.is_multiple_of(BEATS_PER_ANNOUNCEMENT) => {
                match self.announce(connection).await {
                    Ok(nodes) => self.nodes.store(nodes, Ordering::Relaxed),
                    Err(failure) => self.lose(generation, &failure),
                }
            }
            Some(_) => {}
            None => {
                if self.reconnect().await.is_ok() {
                    tracing::info!("Redis is back; rate limits are shared again");
                }
            }
        }
    }

    async fn reconnect(&self) -> Result<(), Failure> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(CONNECT_TIMEOUT));
        let connect = self.client.get_multiplexed_async_connection_with_config(&config);
        let connection = within(CONNECT_TIMEOUT, connect).await?;
        // A connection counts once Redis has answered on it: a host may accept what its Redis no longer serves.
        let nodes = self.announce(connection.clone()).await?;
        // The others may not be back yet, so this first count can only raise the number.
        self.nodes.fetch_max(nodes, Ordering::Relaxed);
        let mut link = self.link.write().unwrap_or_else(PoisonError::into_inner);
        *link = Link { generation: link.generation + 1, connection: Some(connection) };
        Ok(())
    }

    /// Tells Redis that this node is there, and returns how many are.
    async fn announce(&self, mut connection: MultiplexedConnection) -> Result<u32, Failure> {
        let mut call = self.announce.key(format!("{KEY_PREFIX}:nodes"));
        call.arg(&self.node).arg(NODE_SECONDS);
        let nodes: u32 = within(CONNECT_TIMEOUT, call.invoke_async(&mut connection)).await?;
        Ok(nodes.max(1))
    }

    fn link(&self) -> Link {
        self.link.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives up the connection of that generation, unless it was given up before.
    fn lose(&self, generation: u64, failure: &Failure) {
        let mut link = self.link.write().unwrap_or_else(PoisonError::into_inner);
        if link.generation == generation && link.connection.take().is_some() {
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

async fn within<T>(limit: Duration, work: impl Future<Output = redis::RedisResult<T>>) -> Result<T, Failure> {
    Ok(timeout(limit, work).await??)
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("node", &self.node).field("nodes", &self.nodes).finish_non_exhaustive()
    }
}
