//! A database of one's own for every test.

use std::sync::OnceLock;

use diesel_async::{AsyncConnection as _, AsyncPgConnection, SimpleAsyncConnection as _};
use quipu_commit::{Commit as _, CommitError, Refusal};
use quipu_store::{Store, StoreSettings};
use tokio::runtime::{Handle, Runtime};

use crate::sample::{funding, tenant};

/// Which database a test runs on.
#[derive(Clone, Copy)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

/// A migrated database, which any number of stores may open.
pub(crate) struct Fixture {
    pub(crate) engine: Engine,
    pub(crate) url: String,
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

impl Fixture {
    /// A database with its tables.
    pub(crate) async fn new(engine: Engine) -> Self {
        let fixture = Self::unmigrated(engine).await;
        fixture.open().await.migrate().await.expect("migrations apply");
        fixture
    }

    /// A database without any.
    pub(crate) async fn unmigrated(engine: Engine) -> Self {
        let (url, folder) = match engine {
            Engine::Sqlite => {
                let folder = tempfile::tempdir().expect("a folder");
                let file = folder.path().join("quipu.db");
                std::fs::write(&file, "").expect("an empty database");
                (format!("sqlite://{}", file.display()), Some(folder))
            }
            Engine::Postgres => {
                let name = format!("quipu_{}", uuid::Uuid::new_v4().simple());
                let server = server();
                let mut conn = AsyncPgConnection::establish(&server).await.expect("the test server answers");
                conn.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("a database");
                let base = server.rsplit_once('/').map_or(server.as_str(), |(base, _)| base);
                (format!("{base}/{name}"), None)
            }
        };
        Self { engine, url, _folder: folder }
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

    /// Runs SQL behind the store's back.
    pub(crate) async fn sql(&self, sql: &str) -> Result<(), diesel::result::Error> {
        match self.engine {
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

/// A store in which the first merchant has money.
pub(crate) async fn funded(fixture: &Fixture, units: i64) -> Store {
    let store = fixture.open().await;
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
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while !so().await {
        assert!(std::time::Instant::now() < deadline, "it never came to be");
        tokio::task::yield_now().await;
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

pub(crate) use on_both_databases;
