//! Migrations, embedded in the program: one folder for each database, and in it one for each step.

use std::{path::Path, time::Duration};

use diesel::{
    Connection as _, QueryDsl as _, QueryResult, RunQueryDsl as _, SqliteConnection,
    backend::Backend,
    connection::SimpleConnection as _,
    migration::{Migration, MigrationSource},
    pg::Pg,
    sql_types::{BigInt, Text},
    sqlite::Sqlite,
};
use diesel_async::{AsyncMigrationHarness, AsyncPgConnection, SimpleAsyncConnection as _};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use tokio::{runtime::Handle, time::timeout};

use crate::{
    connection::{Connection, either, keep_log, sqlite_address, sqlite_address_to_read},
    error::{Fault, OpenError},
    language,
    postgres::{
        pool::ENGLISH,
        session::{self, Address},
    },
    schema::page_keys,
    settings::StoreSettings,
    sqlite::log_owner::refuse_foreign_log,
    statement::statement,
};

const SQLITE: EmbeddedMigrations = embed_migrations!("../../../migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("../../../migrations/postgres");

/// Nodes that start at the same time must not migrate at the same time: the others wait for this lock and
/// then find nothing left to do.
const LOCK: &str = "SELECT pg_advisory_lock(7310867)";
const UNLOCK: &str = "SELECT pg_advisory_unlock(7310867)";

/// The messages of a server when other sessions are in the way.
const OF_OTHERS: [&str; 2] = ["lock timeout", "deadlock detected"];
/// How long a migration waits for a lock: half a second longer than until the server looks for a deadlock, since it
/// sends an `autovacuum` away only then. Whoever asks for the same table behind the migration waits as long.
const BRIEFLY: &str = "SELECT set_config('lock_timeout', CAST (500 + setting::int AS text), false) FROM pg_settings \
    WHERE name = 'deadlock_timeout'";
/// How long the others then go on before it is tried again.
const PAUSE: Duration = Duration::from_secs(2);
/// How often a migration is tried in all, if others hold its lock or the server ends it to break a deadlock: for an
/// hour and more, as long as a backup may read.
const ATTEMPTS: u32 = 1_500;

/// Applies the missing migrations; answers their names.
pub(crate) async fn migrate(settings: &StoreSettings, runtime: &Handle) -> Result<Vec<String>, OpenError> {
    if let Some(path) = settings.sqlite_path() {
        // Waits for the lock of another process for up to a minute.
        let path = path.to_owned();
        let task = runtime.spawn_blocking(move || make_embedded(&mut connect_sqlite(&path)?));
        return task.await.map_err(|error| OpenError::Migration(error.to_string()))?;
    }
    let settings = settings.clone();
    let task = runtime.spawn(async move {
        let mut conn = connect_postgres(&settings).await?;
        require_unicode(&mut conn).await?;
        let begun = conn.batch_execute(&format!("{ENGLISH} {LOCK}")).await;
        begun.map_err(|error| OpenError::Migration(error.to_string()))?;
        wait_briefly(&mut conn).await.map_err(|error| OpenError::Migration(error.to_string()))?;
        let mut harness = AsyncMigrationHarness::new(conn);
        let applied = run(&mut harness, POSTGRES);
        // The lock ends with the connection in any case.
        let _unlocked = harness.into_inner().batch_execute(UNLOCK).await;
        applied
    });
    task.await.map_err(|error| OpenError::Migration(error.to_string()))?
}

statement! { EncodingOfServer on Pg => Text {
    ; "SELECT current_setting('server_encoding')"
} }

/// Refuses a database that cannot hold every text: those that it cannot hold would fail for ever. `SQL_ASCII` holds
/// the bytes of any.
async fn require_unicode(conn: &mut AsyncPgConnection) -> Result<(), OpenError> {
    let encoding: Result<String, _> = diesel_async::RunQueryDsl::get_result(EncodingOfServer {}, conn).await;
    let encoding = encoding.map_err(|error| OpenError::Migration(error.to_string()))?;
    if matches!(encoding.as_str(), "UTF8" | "SQL_ASCII") {
        return Ok(());
    }
    Err(OpenError::Unreachable(format!(
        "its encoding is {encoding}, which cannot hold every text: create it with `ENCODING 'UTF8' TEMPLATE template0`"
    )))
}

/// Lets migrations wait briefly for a lock. Where it would not be understood that they have, they wait for it in one
/// piece.
async fn wait_briefly(conn: &mut AsyncPgConnection) -> diesel::QueryResult<()> {
    let Some(language) = language::of_session_not_understood(conn).await? else {
        return conn.batch_execute(BRIEFLY).await;
    };
    language::warn(&language, "while a migration waits for a lock, others wait behind it");
    Ok(())
}

/// Applies the missing migrations to an embedded database; answers their names. Each is looked for under the
/// write lock in which it is applied, so that of two processes the second finds it done.
pub(crate) fn make_embedded(conn: &mut SqliteConnection) -> Result<Vec<String>, OpenError> {
    let mut applied = Vec::new();
    loop {
        match conn.immediate_transaction(apply_next) {
            Ok(Some(version)) => applied.push(version),
            Ok(None) => return Ok(applied),
            Err(error) => return Err(OpenError::Migration(error.to_string())),
        }
    }
}

fn apply_next(conn: &mut SqliteConnection) -> diesel::migration::Result<Option<String>> {
    let pending = conn.pending_migrations(SQLITE)?;
    let Some(next) = pending.first() else { return Ok(None) };
    Ok(Some(conn.run_migration(next.as_ref())?.to_string()))
}

/// Whether the file of an embedded database was ever migrated. A file that was not may belong to another
/// program, or be left of a database whose log is lost. The file is not changed.
pub fn is_made(file: &Path) -> Result<bool, OpenError> {
    read(file, |conn| {
        let lists: i64 = ListOfApplied {}.get_result(conn)?;
        Ok(lists > 0 && !Applied {}.load::<String>(conn)?.is_empty())
    })
}

/// Whether the file of an embedded database holds secrets that are sealed with a master key: the first process that has
/// one seals the key of hosted pages. The file is not changed.
pub fn has_secrets(file: &Path) -> Result<bool, OpenError> {
    read(file, |conn| {
        let tables: i64 = TableOfPageKeys {}.get_result(conn)?;
        Ok(tables > 0 && page_keys::table.count().get_result::<i64>(conn)? > 0)
    })
}

/// Reads the file of an embedded database, which is not made if there is none.
fn read<T>(file: &Path, query: impl FnOnce(&mut SqliteConnection) -> QueryResult<T>) -> Result<T, OpenError> {
    let unreadable = |error: &dyn std::fmt::Display| OpenError::Unreachable(error.to_string());
    let path = file.to_str().ok_or_else(|| unreadable(&"its name must be UTF-8"))?;
    refuse_foreign_log(path).map_err(|trouble| unreadable(&trouble))?;
    let address = sqlite_address_to_read(path);
    let mut conn = SqliteConnection::establish(&address).map_err(|error| unreadable(&error))?;
    conn.batch_execute("PRAGMA busy_timeout = 60000;").map_err(|error| unreadable(&error))?;
    query(&mut conn).map_err(|error| unreadable(&error))
}

statement! { TableOfPageKeys on Sqlite => BigInt {
    ; "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'page_keys'"
} }

statement! { ListOfApplied on Sqlite => BigInt {
    ; "SELECT COUNT(*) FROM sqlite_schema WHERE name = '__diesel_schema_migrations'"
} }

statement! { ListOfAppliedOnServer on Pg => BigInt {
    ; "SELECT COUNT(*) FROM pg_class WHERE oid = to_regclass ('__diesel_schema_migrations')"
} }

statement! { Applied on Sqlite => Text {
    ; "SELECT version FROM __diesel_schema_migrations"
} }

statement! { AppliedOnServer on Pg => Text {
    ; "SELECT CAST (version AS TEXT) FROM __diesel_schema_migrations"
} }

/// Whether migrations are missing. It only reads, and takes no longer than any other read.
pub(crate) async fn is_pending(conn: &mut Connection) -> Result<bool, Fault> {
    let applied = applied(conn).await?;
    let known = match conn {
        Connection::Sqlite(_) => versions::<Sqlite>(&SQLITE),
        Connection::Postgres(_) => versions::<Pg>(&POSTGRES),
    };
    Ok(known?.iter().any(|version| !applied.contains(version)))
}

/// Whether a newer release has applied migrations that this one does not know.
pub(crate) async fn is_newer(conn: &mut Connection) -> Result<bool, Fault> {
    let known = match conn {
        Connection::Sqlite(_) => versions::<Sqlite>(&SQLITE),
        Connection::Postgres(_) => versions::<Pg>(&POSTGRES),
    }?;
    Ok(applied(conn).await?.iter().any(|version| !known.contains(version)))
}

/// Whether a migration was ever applied.
pub(crate) async fn is_begun(conn: &mut Connection) -> Result<bool, Fault> {
    Ok(!applied(conn).await?.is_empty())
}

async fn applied(conn: &mut Connection) -> Result<Vec<String>, Fault> {
    let lists: i64 = either!(conn, get_result, ListOfApplied, ListOfAppliedOnServer)?;
    if lists == 0 {
        return Ok(Vec::new());
    }
    Ok(either!(conn, load, Applied, AppliedOnServer)?)
}

fn versions<DB: Backend>(migrations: &EmbeddedMigrations) -> Result<Vec<String>, Fault>
where
    EmbeddedMigrations: MigrationSource<DB>,
{
    let known = migrations.migrations().map_err(|error| Fault::Mistaken(error.to_string()))?;
    Ok(known.iter().map(|migration| migration.name().version().to_string()).collect())
}

fn connect_sqlite(path: &str) -> Result<SqliteConnection, OpenError> {
    let unreachable = |error: &dyn std::fmt::Display| OpenError::Unreachable(error.to_string());
    refuse_foreign_log(path).map_err(|trouble| unreachable(&trouble))?;
    let mut conn = SqliteConnection::establish(&sqlite_address(path)).map_err(|error| unreachable(&error))?;
    let begun = conn.batch_execute("PRAGMA busy_timeout = 60000; PRAGMA synchronous = FULL;");
    begun.map_err(|error| unreachable(&error))?;
    keep_log(&mut conn, Duration::from_mins(1)).map_err(|error| unreachable(&error))?;
    Ok(conn)
}

/// Connects to a server for migrations. Migrations wait for each other without a limit, so only connecting is
/// limited.
pub(crate) async fn connect_postgres(settings: &StoreSettings) -> Result<AsyncPgConnection, OpenError> {
    let times = settings.times();
    connect(session::configured(&settings.url, times.connect, times.call), times.connect).await
}

/// The same, for whoever only reads: a standby will do.
pub(crate) async fn connect_postgres_to_read(
    settings: &StoreSettings,
) -> Result<AsyncPgConnection, OpenError> {
    let times = settings.times();
    connect(session::configured_to_read(&settings.url, times.connect, times.call), times.connect).await
}

async fn connect(address: Result<Address, Fault>, time: Duration) -> Result<AsyncPgConnection, OpenError> {
    let unreachable = |error: &dyn std::fmt::Display| OpenError::Unreachable(error.to_string());
    let address = address.map_err(|fault| unreachable(&fault))?;
    let slow = |_| OpenError::Unreachable("the server does not answer".to_owned());
    timeout(time, address.connect()).await.map_err(slow)?.map_err(|fault| unreachable(&fault))
}

fn run<DB: Backend>(
    harness: &mut impl MigrationHarness<DB>,
    migrations: EmbeddedMigrations,
) -> Result<Vec<String>, OpenError>
where
    EmbeddedMigrations: MigrationSource<DB>,
{
    let pending = harness.pending_migrations(migrations);
    let pending = pending.map_err(|error| OpenError::Migration(error.to_string()))?;
    pending.iter().map(|migration| apply(harness, migration.as_ref())).collect()
}

/// Applies a migration. Other sessions go on meanwhile, so they may hold its lock, or the server may end it to break
/// a deadlock with them; then it is tried again.
fn apply<DB: Backend>(
    harness: &mut impl MigrationHarness<DB>,
    migration: &dyn Migration<DB>,
) -> Result<String, OpenError> {
    let mut attempt = 1;
    loop {
        let applied = harness.run_migration(migration).map(|version| version.to_string());
        match applied.map_err(|error| error.to_string()) {
            Ok(version) => return Ok(version),
            Err(message) if attempt < ATTEMPTS && OF_OTHERS.iter().any(|words| message.contains(words)) => {
                if attempt.is_power_of_two() {
                    tracing::warn!(attempt, cause = message, "a migration waits for other sessions");
                }
                attempt += 1;
                tokio::task::block_in_place(|| std::thread::sleep(PAUSE));
            }
            Err(message) => return Err(OpenError::Migration(message)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn of_many_that_migrate_a_new_database_at_once_each_migration_is_applied_by_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("quipu.db");
        std::fs::write(&file, "").expect("a file");
        let path = file.to_str().expect("UTF-8");
        let start = Barrier::new(6);
        let migrate = || {
            start.wait();
            make_embedded(&mut connect_sqlite(path).expect("opened")).expect("migrated")
        };
        let mut applied = std::thread::scope(|scope| {
            let all: Vec<_> = (0..6).map(|_| scope.spawn(migrate)).collect();
            all.into_iter().flat_map(|one| one.join().expect("no panic")).collect::<Vec<_>>()
        });
        applied.sort();
        assert_eq!(applied, versions::<Sqlite>(&SQLITE).expect("known"));
        assert_eq!(make_embedded(&mut connect_sqlite(path).expect("opened")).expect("migrated"), [""; 0]);
    }

    #[test]
    fn a_file_is_a_database_of_ours_once_a_migration_was_applied() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("quipu.db");
        let path = file.to_str().expect("UTF-8");
        is_made(&file).expect_err("there is none, and none is made");
        assert!(!file.exists());
        std::fs::write(&file, "").expect("a file");
        let mut conn = connect_sqlite(path).expect("opened");
        for foreign in [
            "PRAGMA user_version = 1;",
            "CREATE TABLE foreign_one (id INTEGER);",
            "CREATE TABLE __diesel_schema_migrations (version TEXT PRIMARY KEY, run_on TEXT);",
        ] {
            conn.batch_execute(foreign).expect("written");
            assert!(!is_made(&file).expect("read"), "{foreign}");
        }
        conn.batch_execute("DROP TABLE __diesel_schema_migrations").expect("dropped");
        make_embedded(&mut conn).expect("migrated");
        assert!(is_made(&file).expect("read"), "beside the process that writes");
        assert!(!has_secrets(&file).expect("read"));
        conn.batch_execute("INSERT INTO page_keys (id, sealed) VALUES (1, 'sealed')").expect("written");
        assert!(has_secrets(&file).expect("read"));
        drop(conn);
        let before = std::fs::read(&file).expect("read");
        assert!(is_made(&file).expect("read"), "alone");
        assert_eq!(std::fs::read(&file).expect("read"), before);
        std::fs::write(&file, "no database at all, whatever it is named").expect("written");
        is_made(&file).expect_err("what cannot be read is not taken for an empty one");
    }
}
