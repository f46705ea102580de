//! Migrations, embedded in the program: one folder for each database, and in it one for each step.

use diesel::{Connection as _, SqliteConnection, connection::SimpleConnection as _, migration::Migration};
use diesel_async::{AsyncMigrationHarness, AsyncPgConnection, SimpleAsyncConnection as _};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use tokio::{runtime::Handle, time::timeout};

use crate::{connection::sqlite_address, error::OpenError, session, settings::StoreSettings};

const SQLITE: EmbeddedMigrations = embed_migrations!("../../../migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("../../../migrations/postgres");

/// Nodes that start together must not migrate together: the others wait here and then find nothing left to do.
const LOCK: &str = "SELECT pg_advisory_lock(7310867)";
const UNLOCK: &str = "SELECT pg_advisory_unlock(7310867)";

/// How often a migration is tried that the server ends to break a deadlock.
const ATTEMPTS: u32 = 5;

/// Applies what is missing; the names of what was applied.
pub(crate) async fn migrate(settings: &StoreSettings, runtime: &Handle) -> Result<Vec<String>, OpenError> {
    if let Some(path) = settings.sqlite_path() {
        let mut conn = connect_sqlite(path)?;
        // The write lock is what keeps two processes apart; a migration runs inside a transaction of its own.
        return run(&mut conn, SQLITE);
    }
    let settings = settings.clone();
    let task = runtime.spawn(async move {
        let mut conn = connect_postgres(&settings).await?;
        conn.batch_execute(LOCK).await.map_err(|error| OpenError::Migration(error.to_string()))?;
        let mut harness = AsyncMigrationHarness::new(conn);
        let applied = run(&mut harness, POSTGRES);
        // The lock ends with the connection in any case.
        let _unlocked = harness.into_inner().batch_execute(UNLOCK).await;
        applied
    });
    task.await.map_err(|error| OpenError::Migration(error.to_string()))?
}

/// Makes the tables of an embedded database, all of them.
pub(crate) fn make_embedded(conn: &mut SqliteConnection) -> Result<(), OpenError> {
    run(conn, SQLITE).map(drop)
}

/// Whether something is missing.
pub(crate) async fn pending(settings: &StoreSettings, runtime: &Handle) -> Result<bool, OpenError> {
    if let Some(path) = settings.sqlite_path() {
        return is_pending(&mut connect_sqlite(path)?, SQLITE);
    }
    let settings = settings.clone();
    let task = runtime.spawn(async move {
        is_pending(&mut AsyncMigrationHarness::new(connect_postgres(&settings).await?), POSTGRES)
    });
    task.await.map_err(|error| OpenError::Migration(error.to_string()))?
}

fn connect_sqlite(path: &str) -> Result<SqliteConnection, OpenError> {
    let unreachable = |error: &dyn std::fmt::Display| OpenError::Unreachable(error.to_string());
    let mut conn = SqliteConnection::establish(&sqlite_address(path)).map_err(|error| unreachable(&error))?;
    conn.batch_execute("PRAGMA busy_timeout = 60000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
        .map_err(|error| unreachable(&error))?;
    Ok(conn)
}

/// Migrations wait for each other for as long as they take; only the connection is bounded.
pub(crate) async fn connect_postgres(settings: &StoreSettings) -> Result<AsyncPgConnection, OpenError> {
    let unreachable = |error: &dyn std::fmt::Display| OpenError::Unreachable(error.to_string());
    let times = settings.times();
    let address = session::configured(&settings.url, times.connect, times.call);
    let address = address.map_err(|fault| unreachable(&fault))?;
    let slow = |_| OpenError::Unreachable("the server does not answer".to_owned());
    timeout(times.connect, address.connect()).await.map_err(slow)?.map_err(|fault| unreachable(&fault))
}

fn run<DB: diesel::backend::Backend>(
    harness: &mut impl MigrationHarness<DB>,
    migrations: EmbeddedMigrations,
) -> Result<Vec<String>, OpenError>
where
    EmbeddedMigrations: diesel::migration::MigrationSource<DB>,
{
    let pending = harness.pending_migrations(migrations);
    let pending = pending.map_err(|error| OpenError::Migration(error.to_string()))?;
    pending.iter().map(|migration| apply(harness, migration.as_ref())).collect()
}

/// Others go on while it is applied, so the server may end it to break a deadlock with them; then it is tried again.
fn apply<DB: diesel::backend::Backend>(
    harness: &mut impl MigrationHarness<DB>,
    migration: &dyn Migration<DB>,
) -> Result<String, OpenError> {
    let mut attempt = 1;
    loop {
        let applied = harness.run_migration(migration).map(|version| version.to_string());
        match applied.map_err(|error| error.to_string()) {
            Ok(version) => return Ok(version),
            Err(message) if attempt < ATTEMPTS && message.contains("deadlock detected") => attempt += 1,
            Err(message) => return Err(OpenError::Migration(message)),
        }
    }
}

fn is_pending<DB: diesel::backend::Backend>(
    harness: &mut impl MigrationHarness<DB>,
    migrations: EmbeddedMigrations,
) -> Result<bool, OpenError>
where
    EmbeddedMigrations: diesel::migration::MigrationSource<DB>,
{
    harness.has_pending_migration(migrations).map_err(|error| OpenError::Migration(error.to_string()))
}
