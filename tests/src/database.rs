//! One fresh database for each test.

use std::process::Command;

use tokio::sync::OnceCell;
use tokio_postgres::NoTls;

use crate::{
    gateway::binary,
    scratch::{ScratchFolder, unique_name},
};

/// The database that a scenario runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    /// Embedded, in the gateway's data folder.
    Sqlite,
    /// A separate database on the server of the test bed.
    Postgres,
}

/// A database that exists as long as this value.
#[derive(Debug)]
pub enum TestDatabase {
    /// The file is in the gateway's data folder and is removed with it.
    Sqlite,
    /// Dropped by name.
    Postgres {
        /// The database's name on the bed's server.
        name: String,
        /// Its `postgres://` URL.
        url: String,
    },
}

impl TestDatabase {
    /// Creates an empty database without tables.
    pub async fn create(database: Database) -> Self {
        match database {
            Database::Sqlite => Self::Sqlite,
            Database::Postgres => {
                let name = unique_name("quipu_test");
                execute_as_superuser(&format!("CREATE DATABASE {name}")).await;
                let (server, _) =
                    server_url().rsplit_once('/').map(owned).expect("the URL ends in a database");
                Self::Postgres { url: format!("{server}/{name}"), name }
            }
        }
    }

    /// Creates a database with its tables; for SQLite the gateway creates them. On a server it is a copy of a
    /// template, which is faster than creating the tables.
    pub async fn migrated(database: Database) -> Self {
        match database {
            Database::Sqlite => Self::Sqlite,
            Database::Postgres => Self::copy_of(template().await).await,
        }
    }

    /// Copies a database of the bed's server that has no connections.
    pub async fn copy_of(url: &str) -> Self {
        let (server, original) = url.rsplit_once('/').expect("the URL ends in a database");
        let name = unique_name("quipu_test");
        let how = std::env::var("QUIPU_TEST_COPYING").unwrap_or_default();
        execute_as_superuser(&format!("CREATE DATABASE {name} TEMPLATE {original} {how}")).await;
        Self::Postgres { url: format!("{server}/{name}"), name }
    }

    /// The value of `database_url`; `None` leaves the default, which is SQLite in the data folder.
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres { url, .. } => Some(url),
        }
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let Self::Postgres { name, .. } = self else { return };
        let statement = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
        // A destructor cannot await, and blocking here would stall the test's own runtime.
        let dropping = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(execute_as_superuser(&statement));
        });
        // A database left behind is removed with the bed's cluster.
        let _ = dropping.join();
    }
}

/// The URL of a migrated database without connections, one for all tests of this process.
async fn template() -> &'static str {
    static TEMPLATE: OnceCell<String> = OnceCell::const_new();
    let made = TEMPLATE.get_or_init(|| async {
        let empty = TestDatabase::create(Database::Postgres).await;
        let url = empty.url().expect("a database on a server").to_owned();
        let folder = ScratchFolder::new();
        let migrating = Command::new(binary())
            .args(["migrate", "--data"])
            .arg(folder.path())
            .env("QUIPU__DATABASE_URL", &url)
            .current_dir(folder.path())
            .output()
            .expect("the gateway runs");
        assert!(migrating.status.success(), "{}", String::from_utf8_lossy(&migrating.stderr));
        // It is needed until the last test has ended, and is removed with the bed's cluster.
        std::mem::forget(empty);
        url
    });
    made.await
}

/// The URL of a superuser on the bed's server. Without PostgreSQL the run fails here, since half a suite
/// would prove nothing.
fn server_url() -> String {
    std::env::var("QUIPU_TEST_POSTGRES")
        .expect("QUIPU_TEST_POSTGRES is not set: run `make test`, or `make shell` for single tests")
}

/// The bed's Redis, for tests with several nodes.
pub fn redis_url() -> String {
    std::env::var("QUIPU_TEST_REDIS")
        .expect("QUIPU_TEST_REDIS is not set: run `make test`, or `make shell` for single tests")
}

async fn execute_as_superuser(statement: &str) {
    let (client, connection) =
        tokio_postgres::connect(&server_url(), NoTls).await.expect("the bed's PostgreSQL answers");
    let driving = tokio::spawn(connection);
    client.batch_execute(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
    drop(client);
    let _ = driving.await;
}

fn owned((left, right): (&str, &str)) -> (String, String) {
    (left.to_owned(), right.to_owned())
}
