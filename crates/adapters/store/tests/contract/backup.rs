//! What is refused as a database to copy, and as a copy.

use std::process::Command;

use quipu_store::{BackupError, StoreSettings, back_up, restore};

use crate::fixture::{Engine, Fixture, handle};

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_not_the_gateways_is_neither_copied_nor_restored() {
    let folder = tempfile::tempdir().expect("a folder");
    let (copy, foreign) = (folder.path().join("copy"), folder.path().join("foreign"));
    let (empty, made) = (Fixture::unmigrated(Engine::Postgres).await, Fixture::new(Engine::Postgres).await);
    let settings = |fixture: &Fixture| StoreSettings::new(&fixture.url);

    let settings_of_empty = settings(&empty);
    let into = copy.clone();
    let refused = off(move || back_up(&settings_of_empty, &into, &handle())).await;
    assert!(matches!(refused, Err(BackupError::NotMade)), "{refused:?}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);

    let mut dump = Command::new("pg_dump");
    dump.args(["--format=custom", "--file"]).arg(&foreign).arg(&empty.url);
    assert!(dump.status().expect("pg_dump").success());
    let settings_of_empty = settings(&empty);
    let from = foreign.clone();
    let refused = off(move || restore(&settings_of_empty, &from, &handle())).await;
    assert!(matches!(refused, Err(BackupError::NotACopy(_))), "{refused:?}");

    let (settings_of_made, settings_of_empty) = (settings(&made), settings(&empty));
    off(move || {
        back_up(&settings_of_made, &copy, &handle()).expect("copied");
        restore(&settings_of_empty, &copy, &handle()).expect("restored");
    })
    .await;
    assert!(!empty.open().await.pending_migrations().await.expect("read"));
}

/// A standby is the better place for a backup: it disturbs nobody who writes.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_only_reads_can_be_copied() {
    let folder = tempfile::tempdir().expect("a folder");
    let (copy, made) = (folder.path().join("copy"), Fixture::new(Engine::Postgres).await);
    let read_only = format!("ALTER DATABASE {} SET default_transaction_read_only = on", made.database());
    made.sql(&read_only).await.expect("set");
    let settings = StoreSettings::new(&made.url);
    off(move || back_up(&settings, &copy, &handle())).await.expect("copied");
}

/// What the copy's schema is called is the dump's; whether a session finds it there is the new database's.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_restored_where_nobody_finds_it_is_told_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy");
    let (empty, made) = (Fixture::unmigrated(Engine::Postgres).await, Fixture::new(Engine::Postgres).await);
    let aside = format!("ALTER DATABASE {} SET search_path = elsewhere", empty.database());
    empty.sql(&aside).await.expect("set");
    let (from, into) = (StoreSettings::new(&made.url), StoreSettings::new(&empty.url));
    let told = off(move || {
        back_up(&from, &copy, &handle()).expect("copied");
        restore(&into, &copy, &handle())
    })
    .await;
    assert!(matches!(told, Err(BackupError::OutOfSight)), "{told:?}");
    let found = format!("ALTER DATABASE {} RESET search_path", empty.database());
    empty.sql(&found).await.expect("set");
    assert!(!empty.open().await.pending_migrations().await.expect("read"));
}

/// Does what blocks where nothing waits for it.
async fn off<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("it ends")
}
