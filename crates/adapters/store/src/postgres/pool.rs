//! A pool of connections to a server: it makes a limited number, keeps idle ones for the next user, and
//! closes those that failed.

use std::{
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use quipu_kernel::locked;

use diesel_async::SimpleAsyncConnection as _;
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout, timeout_at},
};

use crate::{
    error::{Fault, OpenError},
    postgres::{
        health::Health,
        session::{self, Address, Home, Process, Session},
    },
    settings::{StoreSettings, Times},
};

/// Sets that a commit is on disk when it returns, and that a statement sees what was committed before it
/// began, whatever the defaults of the database or role are. `quipu.counts_days` and `quipu.keeps_classes`
/// tell the triggers of the server that this node writes those rows itself; for nodes of an earlier release,
/// which do not set them, the triggers do it.
const SESSION: &str = "SET synchronous_commit = on; SET default_transaction_isolation = 'read committed';
    SET client_min_messages = warning; SET quote_all_identifiers = off; SET quipu.counts_days = on;
    SET quipu.keeps_classes = on;";

/// Makes a server notice within twenty seconds that a client's machine has disappeared. A transaction that
/// was cut off in the middle of a message is not idle, and would hold its locks for hours.
const KEEPALIVES: &str =
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3;";

/// Sets the language of messages. Waiting too long for a lock is told from other failures by the server's
/// message.
pub(crate) const ENGLISH: &str =
    "DO $$ BEGIN SET lc_messages = 'C'; EXCEPTION WHEN insufficient_privilege THEN NULL; END $$;";

/// For statements that want few rows: using an index is always right, whatever the statistics say. Statistics
/// of a queue are never up to date, and a planner that takes an empty queue for a full one, or a full one for
/// an empty one, reads all of it.
const FEW_ROWS: &str = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;";

/// For statements whose plan is the same whatever their parameters are: the plan is made once and not for
/// every call. By default the planner plans each page again because of its limit, which takes longer than
/// reading the page.
const ONE_PLAN: &str = "SET plan_cache_mode = force_generic_plan;";

/// No query here takes long enough to be worth compiling.
const UNCOMPILED: &str = "SET jit = off;";

/// Without statistics the planner takes every index that begins with merchant and environment for as good as
/// the right one, and reads a merchant's whole history to find one row. The server analyses a table by itself
/// only after a minute or so; until then this statement does, if the table's file has grown since the last
/// time: the server's count of changes may be seconds old. Neither the test nor the analysis waits for a lock,
/// nor its commit for a standby: statistics need not survive.
const ANALYSE_WHILE_YOUNG: &str = "DO $$
    DECLARE young TEXT;
    BEGIN
        PERFORM set_config('synchronous_commit', 'off', true);
        FOR young IN SELECT oid::regclass FROM pg_class
            WHERE oid IN (to_regclass('payments'), to_regclass('payment_classes'), to_regclass('customers'),
                    to_regclass('kept_answers'), to_regclass('nonces'), to_regclass('events'),
                    to_regclass('deliveries'), to_regclass('work'),
                    to_regclass('tickets'))
                AND CASE WHEN reltuples < 1000
                    THEN reltuples < 0 OR pg_relation_size(oid) > relpages * current_setting('block_size')::BIGINT
                    ELSE reltuples < 10000 AND pg_stat_get_mod_since_analyze(oid) > reltuples END
        LOOP
            EXECUTE 'ANALYZE (SKIP_LOCKED) ' || young;
        END LOOP;
    END $$";

/// How long a caller waits for a session that is in use before another one is made. A new one costs the
/// server a process, and when a node starts, all its workers ask at the same moment, for queries that take a
/// millisecond each.
const SHARE: Duration = Duration::from_millis(50);

/// The purpose of a pool's connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Batches of a lane. Many callers wait behind them, so locks are waited for only briefly. The same goes for looking
    /// whether the lock of a merchant that waits aside is gone.
    Lanes,
    /// Changes of a merchant that waits aside, which may wait for a lock. Only this merchant waits behind them.
    Asides,
    /// Look-ups by key.
    BatchedReads,
    /// Short queries of every other kind, and writes that do not go through a lane.
    Queries,
    /// Pages of payments, by a few statements that never vary.
    Payments,
    /// Pages of other lists.
    Lists,
    /// Checks of whole tables, without a limit of time.
    Checks,
}

/// A pool of connections to a server.
pub(crate) struct Pool {
    address: Address,
    beginning: String,
    times: Times,
    idle: Mutex<Vec<Session>>,
    /// Notified of each session that is put back.
    returned: Notify,
    places: Arc<Semaphore>,
    size: usize,
    health: Arc<Health>,
    is_young: bool,
}

impl Pool {
    /// A pool that makes no connection yet.
    pub(crate) fn new(
        settings: &StoreSettings,
        health: &Arc<Health>,
        purpose: Purpose,
        size: usize,
    ) -> Result<Arc<Self>, OpenError> {
        let times = settings.times();
        let address = session::configured(&settings.url, times.connect, times.call);
        let address = address.map_err(|fault| OpenError::Unreachable(fault.to_string()))?;
        Ok(Arc::new(Self {
            address,
            beginning: beginning(purpose, times),
            times,
            idle: Mutex::new(Vec::with_capacity(size)),
            returned: Notify::new(),
            places: Arc::new(Semaphore::new(size)),
            size,
            health: Arc::clone(health),
            is_young: matches!(purpose, Purpose::Lanes | Purpose::Asides | Purpose::BatchedReads),
        }))
    }

    /// The limits of time.
    pub(crate) const fn times(&self) -> Times {
        self.times
    }

    /// A session that was in order after its last use, or a new one.
    pub(crate) async fn get(self: &Arc<Self>) -> Result<Session, Fault> {
        let place = self.place().await?;
        let patience = Instant::now() + SHARE;
        loop {
            while let Some(mut session) = self.idle() {
                let is_fresh = session.age == self.health.age();
                if !is_fresh || session.is_closed() || !self.look_after(&mut session).await {
                    continue;
                }
                session.place = Some(place);
                return Ok(session);
            }
            if !self.others_are_in_use() || timeout_at(patience, self.returned.notified()).await.is_err() {
                return self.connect(place).await;
            }
        }
    }

    /// Refuses a write, of which nothing was sent yet, while the server waits for its standby.
    pub(crate) async fn admit_write(&self, session: &mut Session) -> Result<(), Fault> {
        let admitted = timeout(self.times.connect, self.health.admit_write(session)).await;
        admitted.unwrap_or(Err(Fault::Silent))
    }

    /// Whether other sessions of the pool are in use and may soon be put back.
    fn others_are_in_use(&self) -> bool {
        self.places.available_permits() + 1 < self.size
    }

    /// A new session; if the pool is full, it replaces an idle one.
    pub(crate) async fn fresh(self: &Arc<Self>) -> Result<Session, Fault> {
        let place = self.place().await?;
        locked(&self.idle).truncate(self.places.available_permits());
        self.connect(place).await
    }

    fn idle(&self) -> Option<Session> {
        locked(&self.idle).pop()
    }

    fn grow_older(&self) {
        self.health.grow_older();
        locked(&self.idle).clear();
    }

    async fn place(&self) -> Result<OwnedSemaphorePermit, Fault> {
        let free = timeout(self.times.attempt, Arc::clone(&self.places).acquire_owned()).await;
        match free {
            Ok(Ok(place)) => Ok(place),
            _ => Err(Fault::Unconnected("all connections are in use".to_owned())),
        }
    }

    async fn connect(self: &Arc<Self>, place: OwnedSemaphorePermit) -> Result<Session, Fault> {
        let age = self.health.age();
        let slow = |_| Fault::Unconnected("the server does not answer".to_owned());
        let begun = timeout(self.times.connect, async {
            let mut session = Session::begin(&self.address, &self.beginning).await?;
            if let Err(fault) = self.health.end_abandoned(&mut session).await {
                tracing::warn!(%fault, "abandoned sessions could not be ended");
            }
            Ok::<_, Fault>(session)
        });
        let mut session = begun.await.map_err(slow)??;
        (session.age, session.place, session.home) =
            (age, Some(place), Some(Arc::downgrade(self) as Weak<dyn Home>));
        Ok(session)
    }

    /// Maintains a session after 1, 2, 4, 8, … uses: often while it is new, and rarely later. Answers whether
    /// it is in order.
    async fn look_after(&self, session: &mut Session) -> bool {
        session.uses += 1;
        if !self.is_young || !session.uses.is_power_of_two() {
            return true;
        }
        let analysed = timeout(self.times.connect, session.batch_execute(ANALYSE_WHILE_YOUNG)).await;
        matches!(analysed, Ok(Ok(())))
    }
}

impl Home for Pool {
    fn put_back(&self, mut session: Session) {
        // The place is free once the session can be found.
        let _place = session.place.take();
        if session.age != self.health.age() {
            return;
        }
        let mut idle = locked(&self.idle);
        if idle.len() < self.size {
            idle.push(session);
            self.returned.notify_one();
        }
    }

    fn abandon(&self, session: Session, fault: &Fault) {
        if fault.is_about_the_connection() {
            self.grow_older();
        }
        if let Some(process) = session.process {
            self.health.remember(process);
        }
    }

    fn distrust_others(&self) {
        self.grow_older();
    }

    fn keep_awaiting(&self, process: Process) {
        self.health.keep_awaiting(process);
    }

    fn end_later(&self, process: Process) {
        self.health.remember(process);
    }
}

/// The statements with which a session begins. They limit how long the server waits or works for a caller.
fn beginning(purpose: Purpose, times: Times) -> String {
    let lock = match purpose {
        Purpose::Lanes => times.brief_lock,
        _ => times.lock,
    };
    let statement = match purpose {
        Purpose::Lanes | Purpose::Asides | Purpose::BatchedReads => times.attempt,
        Purpose::Queries | Purpose::Payments | Purpose::Lists => times.call,
        Purpose::Checks => Duration::ZERO,
    };
    let (few_rows, one_plan) = match purpose {
        Purpose::Lanes | Purpose::Asides | Purpose::BatchedReads | Purpose::Payments => (FEW_ROWS, ONE_PLAN),
        Purpose::Queries | Purpose::Lists => (FEW_ROWS, ""),
        Purpose::Checks => ("", ""),
    };
    // What these commit are statistics, which need not wait for a standby.
    let commit = if purpose == Purpose::Checks { "SET synchronous_commit = off;" } else { "" };
    format!(
        "{SESSION} {commit} {KEEPALIVES} {ENGLISH} {UNCOMPILED} {few_rows} {one_plan}
            SET lock_timeout = {}; SET statement_timeout = {}; SET idle_in_transaction_session_timeout = {};",
        lock.as_millis(),
        statement.as_millis(),
        times.call.as_millis(),
    )
}
