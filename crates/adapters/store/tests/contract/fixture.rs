//! A database of one's own for every test.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use diesel_async::{AsyncConnection as _, AsyncPgConnection, SimpleAsyncConnection as _};
use quipu_commit::{Commit, CommitError, Refusal, UsedKeys, WorkQueue};
use quipu_ledger::LedgerReads;
use quipu_merchants::{CallerBook, Directory};
use quipu_payments::PaymentReads;
use quipu_simulation::{MemoryDirectory, MemoryStore};
use quipu_store::{Store, StoreSettings};
use quipu_webhooks::{DeliveryLog, DeliveryQueue, Endpoints};
use tokio::runtime::{Handle, Runtime};

use crate::sample::{funding, tenant};

/// Which store a test runs on.
#[derive(Clone, Copy)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
    Memory,
}

/// The ports that every store has, the one in memory too.
pub(crate) trait StorePorts: Commit + PaymentReads + LedgerReads + WorkQueue + UsedKeys {}

impl<S: Commit + PaymentReads + LedgerReads + WorkQueue + UsedKeys> StorePorts for S {}

/// A store, whichever it is.
pub(crate) type AnyStore = Arc<dyn StorePorts>;

/// The ports of webhooks, which every store has too. They are apart from the others, some of which are named alike.
pub(crate) trait DeliveryPorts: Commit + Endpoints + DeliveryLog + DeliveryQueue {}

impl<S: Commit + Endpoints + DeliveryLog + DeliveryQueue> DeliveryPorts for S {}

/// A store through which deliveries go, whichever it is.
pub(crate) type AnyDeliveries = Arc<dyn DeliveryPorts>;

/// The ports of merchants and staff.
pub(crate) trait DirectoryPorts: CallerBook + Directory {}

impl<S: CallerBook + Directory> DirectoryPorts for S {}

/// A directory of merchants and staff, whichever store has it.
pub(crate) type AnyDirectory = Arc<dyn DirectoryPorts>;

/// A migrated database, which any number of stores may open, or what is in memory.
pub(crate) struct Fixture {
    pub(crate) engine: Engine,
    pub(crate) url: String,
    memory: MemoryStore,
    directory: MemoryDirectory,
    /// Whether the database outlives this value.
    is_kept: bool,
    _folder: Option<tempfile::TempDir>,
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
    })
}

/// Where stores and proxies work.
pub(crate) fn handle() -> Handle {
    runtime().handle().clone()
}

/// The server that tests make their databases on.
fn server() -> String {
    std::env::var("QUIPU_TEST_POSTGRES")
        .unwrap_or_else(|_| panic!("QUIPU_TEST_POSTGRES names no server; run `make test`, which starts one"))
}

async fn at_server(sql: &str) {
    let mut conn = AsyncPgConnection::establish(&server()).await.expect("the test server answers");
    conn.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// The name of a migrated database that nobody is connected to.
async fn template() -> &'static str {
    static TEMPLATE: tokio::sync::OnceCell<String> = tokio::sync::OnceCell::const_new();
    let made = TEMPLATE.get_or_init(|| async {
        let mut fixture = Fixture::unmigrated(Engine::Postgres).await;
        fixture.open().await.migrate().await.expect("migrations apply");
        let name = fixture.database().to_owned();
        fixture.is_kept = true;
        at_server(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false")).await;
        at_server(&format!(
            "SELECT pg_terminate_backend (pid) FROM pg_stat_activity WHERE datname = '{name}'"
        ))
        .await;
        name
    });
    made.await
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if self.is_server() && !self.is_kept {
            let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.database());
            runtime().spawn(async move { at_server(&sql).await });
        }
    }
}

impl Fixture {
    /// A database with its tables. On a server it is a copy, which is made sooner than tables are.
    pub(crate) async fn new(engine: Engine) -> Self {
        let template = match engine {
            Engine::Postgres => Some(template().await),
            Engine::Memory | Engine::Sqlite => None,
        };
        let fixture = Self::made(engine, template).await;
        if matches!(engine, Engine::Sqlite) {
            fixture.open().await.migrate().await.expect("migrations apply");
        }
        fixture
    }

    /// A database without any.
    pub(crate) async fn unmigrated(engine: Engine) -> Self {
        Self::made(engine, None).await
    }

    /// A server's database without any, which keeps texts in this encoding.
    pub(crate) async fn encoded(encoding: &str) -> Self {
        let template = format!("template0 ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C'");
        Self::made(Engine::Postgres, Some(&template)).await
    }

    async fn made(engine: Engine, template: Option<&str>) -> Self {
        let (url, folder) = match engine {
            Engine::Memory => (String::new(), None),
            Engine::Sqlite => {
                let folder = tempfile::tempdir().expect("a folder");
                let file = folder.path().join("quipu.db");
                std::fs::write(&file, "").expect("an empty database");
                (format!("sqlite://{}", file.display()), Some(folder))
            }
            Engine::Postgres => {
                let name = format!("quipu_{}", uuid::Uuid::new_v4().simple());
                let server = server();
                let how = std::env::var("QUIPU_TEST_COPYING").unwrap_or_default();
                let copied =
                    template.map_or_else(String::new, |template| format!(" TEMPLATE {template} {how}"));
                at_server(&format!("CREATE DATABASE {name}{copied}")).await;
                let base = server.rsplit_once('/').map_or(server.as_str(), |(base, _)| base);
                (format!("{base}/{name}"), None)
            }
        };
        Self {
            engine,
            url,
            memory: MemoryStore::default(),
            directory: MemoryDirectory::default(),
            is_kept: false,
            _folder: folder,
        }
    }

    /// The name of a server's database.
    pub(crate) fn database(&self) -> &str {
        self.url.rsplit_once('/').map_or("", |(_, name)| name)
    }

    /// Whether it is a server's.
    pub(crate) const fn is_server(&self) -> bool {
        matches!(self.engine, Engine::Postgres)
    }

    /// One more store on the database, as another node has it.
    pub(crate) async fn open(&self) -> Store {
        let mut settings = StoreSettings::new(&self.url);
        settings.readers = 3;
        settings.lanes = 2;
        let handle: Handle = runtime().handle().clone();
        Store::open(settings, handle).await.expect("the store opens")
    }

    /// One more store, as another node has it, whichever it is.
    pub(crate) async fn any(&self) -> AnyStore {
        match self.engine {
            Engine::Memory => Arc::new(self.memory.another_node()),
            Engine::Sqlite | Engine::Postgres => Arc::new(self.open().await),
        }
    }

    /// The same, for merchants and staff.
    pub(crate) async fn directory(&self) -> AnyDirectory {
        match self.engine {
            Engine::Memory => Arc::new(self.directory.clone()),
            Engine::Sqlite | Engine::Postgres => Arc::new(self.open().await),
        }
    }

    /// The same, for deliveries.
    pub(crate) async fn any_deliveries(&self) -> AnyDeliveries {
        match self.engine {
            Engine::Memory => Arc::new(self.memory.another_node()),
            Engine::Sqlite | Engine::Postgres => Arc::new(self.open().await),
        }
    }

    /// Runs SQL behind the store's back.
    pub(crate) async fn sql(&self, sql: &str) -> Result<(), diesel::result::Error> {
        match self.engine {
            Engine::Memory => panic!("nothing in memory takes SQL"),
            Engine::Sqlite => {
                use diesel::{Connection as _, connection::SimpleConnection as _};
                let path = self.url.trim_start_matches("sqlite://");
                let mut conn = diesel::SqliteConnection::establish(path).expect("the database opens");
                conn.batch_execute("PRAGMA busy_timeout = 10000").expect("a pragma");
                conn.batch_execute(sql)
            }
            Engine::Postgres => {
                let mut conn = AsyncPgConnection::establish(&self.url).await.expect("the database answers");
                conn.batch_execute(sql).await
            }
        }
    }
}

/// How long it may take on a busy machine until a store is open that gives up soon.
const OPENED: Duration = Duration::from_mins(2);

/// A store that gives up soon: on a busy machine even before it is open.
pub(crate) async fn opened(settings: StoreSettings) -> Store {
    let end = Instant::now() + OPENED;
    loop {
        match Store::open(settings.clone(), handle()).await {
            Ok(store) => return store,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
        // Those who are opened at the same time are not to keep each other from it.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// A store on a database in which the first merchant has money.
pub(crate) async fn funded(fixture: &Fixture, units: i64) -> Store {
    let store = fixture.open().await;
    store.commit(funding(tenant(1), units)).await.expect("funded");
    store
}

/// The same, whichever store it is.
pub(crate) async fn funded_any(fixture: &Fixture, units: i64) -> AnyStore {
    let store = fixture.any().await;
    store.commit(funding(tenant(1), units)).await.expect("funded");
    store
}

/// The rule that refused a commit.
pub(crate) fn refusal<T: std::fmt::Debug>(outcome: Result<T, CommitError>) -> Refusal {
    match outcome.expect_err("a refusal") {
        CommitError::Refused(refusal) => refusal,
        CommitError::Store(error) => panic!("{error}"),
    }
}

/// Waits until something is so, and gives up after a minute.
pub(crate) async fn until(mut so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !so().await {
        assert!(Instant::now() < deadline, "it never came to be");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Runs a case on a fresh database. The caller's thread is no thread of the runtime, as a handler's is none.
pub(crate) fn run<F: Future<Output = ()>>(engine: Engine, case: impl FnOnce(Fixture) -> F) {
    let local = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    local.block_on(async {
        let fixture = Fixture::new(engine).await;
        case(fixture).await;
    });
}

/// Declares every case as a test on either database.
macro_rules! on_both_databases {
    ($($case:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[test] fn $case() { crate::fixture::run(crate::fixture::Engine::Sqlite, super::$case); })+
        }
        mod on_postgres {
            $(#[test] fn $case() { crate::fixture::run(crate::fixture::Engine::Postgres, super::$case); })+
        }
    };
}

/// The same, and in memory.
macro_rules! on_every_store {
    ($($case:ident),+ $(,)?) => {
        crate::fixture::on_both_databases! { $($case),+ }
        mod in_memory {
            $(#[test] fn $case() { crate::fixture::run(crate::fixture::Engine::Memory, super::$case); })+
        }
    };
}

pub(crate) use {on_both_databases, on_every_store};
