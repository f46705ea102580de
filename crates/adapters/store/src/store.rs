//! The store: one value that implements every port.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::Instant,
};

use async_trait::async_trait;
use diesel::{Connection as _, SqliteConnection};
use quipu_commit::{Changes, Commit, CommitError, Committed, Listener, NewsDesk};
use quipu_kernel::{Currency, MerchantId, PaymentId, StoreError, Tenant};
use quipu_ledger::Balance;
use quipu_payments::Payment;
use tokio::{runtime::Handle, sync::oneshot};

use crate::{
    batched_reads::{balances, gather::BatchedReads, payments},
    cache::Cache,
    call_wait::CallWait,
    commit::{job::Job, lane::Work},
    connection::Connection,
    disabled_endpoints::DisabledEndpoints,
    engine::{Engine, other_processes},
    error::{Fault, OpenError},
    hub::Hub,
    language,
    merchant_queues::MerchantQueues,
    migrate,
    postgres::session,
    pruned::Pruned,
    settings::StoreSettings,
    single_flight::PaymentLists,
    ticket_search::tally::Tallies,
    transaction::job_state::JobState,
};

/// A database with its workers. Cheap to clone; all clones share the same workers.
#[derive(Clone)]
pub struct Store {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    settings: StoreSettings,
    pub(crate) runtime: Handle,
    pub(crate) engine: Arc<Engine>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) payments: BatchedReads<(Tenant, PaymentId), Payment>,
    pub(crate) balances: BatchedReads<(Tenant, Currency), Balance>,
    pub(crate) lists: PaymentLists,
    pub(crate) cache: Arc<Cache>,
    pub(crate) tallies: Arc<Tallies>,
    /// Turns to read a page, which may take long: a search for a text reads all tickets of its merchant.
    pub(crate) page_turns: MerchantQueues,
    /// The time up to which any node has sealed, as far as this one knows, in milliseconds since 1970.
    pub(crate) sealed_until: AtomicI64,
    pub(crate) pruned: Pruned,
    /// Nodes without a heartbeat that hold work, with the time at which each was first seen so. There is none for one
    /// that this node has forgotten itself.
    pub(crate) unlisted: Mutex<HashMap<String, Option<Instant>>>,
    /// Endpoints that the gateway has disabled, until what is owed to them has failed.
    pub(crate) disabled_endpoints: DisabledEndpoints,
}

/// The first release in which a reset of the write-ahead log cannot corrupt the database.
const OLDEST_SQLITE: &[u32] = &[3, 51, 3];

impl Store {
    /// Opens a database and starts its workers: threads for SQLite and for the lanes of PostgreSQL, and tasks on
    /// `runtime`, which must be multi-threaded. It does not migrate.
    pub async fn open(settings: StoreSettings, runtime: Handle) -> Result<Self, OpenError> {
        let cache = Arc::new(Cache::new());
        let hub = Arc::new(Hub::new(settings.node.clone(), settings.times().call, Arc::clone(&cache)));
        let engine = if let Some(path) = settings.sqlite_path() {
            check_release()?;
            Engine::sqlite(&settings, path, &hub, &runtime)?
        } else if settings.is_postgres() {
            let times = settings.times();
            match session::configured(&settings.url, times.connect, times.call) {
                Err(Fault::Unconnected(what)) => return Err(OpenError::Address(what)),
                address => address.map(drop).map_err(StoreError::from)?,
            }
            Engine::postgres(&settings, &hub, &runtime)?
        } else {
            return Err(OpenError::UnknownScheme);
        };
        let inner = Inner {
            settings,
            runtime,
            engine: Arc::new(engine),
            hub,
            payments: BatchedReads::new(payments::look_up),
            balances: BatchedReads::new(balances::look_up),
            lists: PaymentLists::new(),
            cache,
            tallies: Arc::new(Tallies::new()),
            page_turns: MerchantQueues::default(),
            sealed_until: AtomicI64::new(0),
            pruned: Pruned::default(),
            unlisted: Mutex::default(),
            disabled_endpoints: DisabledEndpoints::default(),
        };
        let store = Self { inner: Arc::new(inner) };
        store.ping().await.map_err(OpenError::from)?;
        store.learn_what_is_sealed().await;
        if store.is_embedded() {
            let (engine, hub) = (Arc::downgrade(&store.inner.engine), Arc::clone(&store.inner.hub));
            store.inner.runtime.spawn(other_processes::hear(engine, hub));
        }
        Ok(store)
    }

    /// Hands the deliveries of this node's commits to `deliverer` from now on. Before, and in a process that
    /// delivers nothing, they wait until a node claims them.
    pub fn deliver_by(&self, deliverer: Arc<dyn quipu_webhooks::Deliverer>) {
        self.inner.hub.deliver_by(deliverer);
    }

    /// Applies the missing migrations and answers their names. Any number of nodes may do so at the same
    /// time.
    pub async fn migrate(&self) -> Result<Vec<String>, OpenError> {
        migrate::migrate(&self.inner.settings, &self.inner.runtime).await
    }

    /// Whether migrations are missing.
    pub async fn pending_migrations(&self) -> Result<bool, OpenError> {
        let pending = self.inner.engine.read(|conn: &mut Connection| Box::pin(migrate::is_pending(conn)));
        pending.await.map_err(|fault: Fault| StoreError::from(fault).into())
    }

    /// Whether the database has ever been migrated; one that has not holds nothing of the gateway's.
    pub async fn is_made(&self) -> Result<bool, OpenError> {
        let begun = self.inner.engine.read(|conn: &mut Connection| Box::pin(migrate::is_begun(conn)));
        begun.await.map_err(|fault: Fault| StoreError::from(fault).into())
    }

    /// Warns if the server's messages are not English, in which the store understands them.
    pub async fn warn_of_language(&self) -> Result<(), StoreError> {
        let asked = self.inner.engine.read(|conn: &mut Connection| Box::pin(language::not_understood(conn)));
        if let Some(language) = asked.await.map_err(|fault: Fault| StoreError::from(fault))? {
            language::warn(&language, "while a merchant's rows are locked, others wait too");
        }
        Ok(())
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        Ok(self.inner.engine.ping().await?)
    }

    /// Whether changes can be committed; otherwise the reason, in words that reveal nothing of the database.
    /// It makes a test commit on every connection that commits changes. A database that is only busy passes.
    pub async fn probe(&self) -> Result<(), Cow<'static, str>> {
        self.inner.engine.require_intact().map_err(|trouble| Cow::Owned(trouble.to_string()))?;
        match self.ping().await {
            Ok(()) => {}
            // The driver's words, for a server that it was not to connect to.
            Err(StoreError::Unavailable(said)) if said.contains("does not allow writes") => {
                return Err("it answers, but allows no writes".into());
            }
            Err(_) => return Err("it does not answer".into()),
        }
        let Err(fault) = self.try_lanes().await else { return Ok(()) };
        // The file may have gone while it was written.
        self.inner.engine.require_intact().map_err(|trouble| Cow::Owned(trouble.to_string()))?;
        Err(match fault {
            Fault::AwaitsStandby => "it answers, but a commit waits for a synchronous standby".into(),
            Fault::Unconnected(_) => "it answers, but what commits changes cannot connect to it".into(),
            _ => "it answers, but cannot be written".into(),
        })
    }

    /// Whether the database is a file.
    pub(crate) fn is_embedded(&self) -> bool {
        !self.inner.settings.is_postgres()
    }

    /// Finishes the accepted changes and stops. Later calls are refused.
    pub async fn close(self) {
        self.inner.engine.close().await;
        if !self.is_embedded() {
            self.inner.hub.hints_sent().await;
        }
    }
}

#[async_trait]
impl Commit for Store {
    async fn commit(&self, changes: Changes) -> Result<Committed, CommitError> {
        let lane = self.inner.engine.lane(changes.tenant.merchant());
        let (reply, outcome) = oneshot::channel();
        let times = self.inner.engine.times();
        let wait = CallWait::begin(times);
        let job_state = Arc::new(JobState::until(wait.deadline));
        let not_before = self.inner.sealed_until.load(Ordering::Relaxed);
        let job = Job::new(changes, not_before, Arc::clone(&job_state), reply);
        let job = job.ok_or_else(|| StoreError::Failed("a record has no table".to_owned()))?;
        lane.put(Work::Change(Box::new(job)))?;
        job_state.outcome(outcome, times).await
    }

    fn is_pressed(&self, merchant: MerchantId) -> bool {
        self.inner.engine.lane(merchant).is_pressed()
    }
}

impl Store {
    /// How many commits and small writes wait in all lanes.
    pub fn waiting_changes(&self) -> usize {
        self.inner.engine.waiting_changes()
    }
}

fn check_release() -> Result<(), OpenError> {
    let unreachable = |error: &dyn std::fmt::Display| OpenError::Unreachable(error.to_string());
    let mut conn = SqliteConnection::establish(":memory:").map_err(|error| unreachable(&error))?;
    let version = diesel::select(diesel::dsl::sql::<diesel::sql_types::Text>("sqlite_version()"));
    let found: String =
        diesel::RunQueryDsl::get_result(version, &mut conn).map_err(|error| unreachable(&error))?;
    let numbers: Vec<u32> = found.split('.').filter_map(|part| part.parse().ok()).collect();
    if numbers.as_slice() < OLDEST_SQLITE { Err(OpenError::OldSqlite { found }) } else { Ok(()) }
}

impl NewsDesk for Store {
    fn listen(&self) -> Box<dyn Listener> {
        self.inner.hub.subscribe()
    }
}
