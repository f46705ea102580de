//! `quipu backup` beside a server that works, and `quipu restore`.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use quipu_tests::{Client, CommandOutput, Database, Gateway, draft, eventually, on_both_databases};
use serde_json::Value;
use tokio::task::{JoinSet, block_in_place};

on_both_databases!(a_backup_made_under_load_brings_back_all_that_was_acknowledged, nothing_is_overwritten);

type Acknowledged = Arc<Mutex<Vec<String>>>;

async fn a_backup_made_under_load_brings_back_all_that_was_acknowledged(database: Database) {
    const CALLERS: usize = 16;
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000_000_000).await;
    let (acknowledged, enough) = (Acknowledged::default(), Arc::new(AtomicBool::new(false)));
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        callers.spawn(create_until(Arc::clone(&enough), merchant.api.clone(), Arc::clone(&acknowledged)));
    }
    until_more_than(200, &acknowledged).await;
    let before = ids(&acknowledged);
    let file = gateway.data_folder().join("backup");
    let made = block_in_place(|| gateway.run(&["backup", text(&file)]));
    let made: Value = serde_json::from_str(made.ok()).expect("JSON is printed");
    assert_eq!(made["bytes"], std::fs::metadata(&file).expect("the copy").len());
    assert!(made["not_included"]["attachments"].is_string(), "{made}");
    // The load goes on.
    until_more_than(ids(&acknowledged).len() + CALLERS, &acknowledged).await;
    enough.store(true, Ordering::Relaxed);
    callers.join_all().await;
    gateway.check();

    let mut other = gateway.elsewhere().await;
    let restored: Value = serde_json::from_str(other.run(&["restore", text(&file)]).ok()).expect("JSON");
    assert_eq!(restored["clean"], true, "{restored}");
    assert!(restored["payments"].as_u64() >= Some(before.len() as u64), "{restored}");
    other.restart().await;
    let merchant = merchant.moved_to(&other);
    for id in before {
        assert_eq!(merchant.api.payment(&id).await["transaction_id"], *id);
    }
    merchant.create(&draft::withdrawal_ars(100)).await;
    other.check();
}

async fn create_until(enough: Arc<AtomicBool>, api: Client, acknowledged: Acknowledged) {
    while !enough.load(Ordering::Relaxed) {
        let answer = api.create(&draft::withdrawal_ars(100)).await.ok();
        let id = answer["transaction_id"].as_str().expect("a string").to_owned();
        acknowledged.lock().unwrap_or_else(PoisonError::into_inner).push(id);
    }
}

async fn until_more_than(count: usize, acknowledged: &Acknowledged) {
    eventually("payments to be acknowledged", async || (ids(acknowledged).len() > count).then_some(())).await;
}

fn ids(acknowledged: &Acknowledged) -> Vec<String> {
    acknowledged.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

async fn nothing_is_overwritten(database: Database) {
    let mut gateway = Gateway::start(database).await;
    let payment = gateway.v1().create(&draft::deposit_mxn(100)).await.ok();
    let (file, broken) = (gateway.data_folder().join("backup"), gateway.data_folder().join("broken"));
    gateway.run(&["backup", text(&file)]).ok();
    let copy = std::fs::read(&file).expect("the copy");
    refused(&gateway.run(&["backup", text(&file)]), "exists already");
    assert_eq!(std::fs::read(&file).expect("the copy"), copy);

    let running = match database {
        Database::Sqlite => "another `quipu serve`",
        Database::Postgres => "stop every server",
    };
    refused(&gateway.run(&["restore", text(&file)]), running);
    assert_eq!(gateway.terminate().await, Some(0));
    refused(&gateway.run(&["restore", text(&file)]), "nothing is overwritten");

    let mut other = gateway.elsewhere().await;
    refused(&other.run(&["restore", "nowhere"]), "nowhere");
    std::fs::write(&broken, "something else").expect("written");
    refused(&other.run(&["restore", text(&broken)]), "no backup of Quipu");
    std::fs::write(&broken, &copy[..copy.len() / 2]).expect("written");
    let half = other.run(&["restore", text(&broken)]);
    assert_eq!(half.status, Some(2), "{}", half.stderr);
    if database == Database::Sqlite {
        let remains = other.data_folder().join("quipu.db-wal");
        std::fs::write(&remains, "of the database before").expect("written");
        refused(&other.run(&["restore", text(&file)]), "quipu.db-wal exists");
        std::fs::remove_file(remains).expect("moved away");
    }
    // What was refused left nothing behind.
    other.run(&["restore", text(&file)]).ok();
    other.restart().await;
    let id = payment["transaction_id"].as_str().expect("a string");
    assert_eq!(other.v1().payment(id).await["transaction_id"], id);
    let unfinished = |folder: &Path| -> Vec<PathBuf> {
        let files = std::fs::read_dir(folder).expect("a folder");
        let paths = files.map(|file| file.expect("a file").path());
        paths.filter(|path| text(path).contains("unfinished")).collect()
    };
    assert_eq!(unfinished(other.data_folder()), unfinished(gateway.data_folder()));
    assert!(unfinished(other.data_folder()).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_books_are_restored_and_said_to_be_broken() {
    const THROUGH_PYTHON: &str = "python3 -c \"import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as copy:
    copy.execute('UPDATE balances SET available = available + 1, adjustment = adjustment + 1')\" ";
    let gateway = Gateway::start(Database::Sqlite).await;
    let file = gateway.data_folder().join("backup");
    gateway.run(&["backup", text(&file)]).ok();
    gateway.bash(&format!("{THROUGH_PYTHON} {}", text(&file))).ok();
    let mut other = gateway.elsewhere().await;
    let restored = other.run(&["restore", text(&file)]);
    assert_eq!(restored.status, Some(1), "{}", restored.stderr);
    assert!(restored.stdout.contains("balance_equals_entries"), "{}", restored.stdout);
    other.restart().await;
}

#[track_caller]
fn refused(output: &CommandOutput, said: &str) {
    assert_eq!(output.status, Some(2), "{}{}", output.stdout, output.stderr);
    assert!(output.stderr.contains(said), "{}", output.stderr);
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}
