//! The embedded database's file in other hands: gone, replaced, cut short, read-only, or served twice.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use quipu_tests::{
    Answer, Client, Database, Gateway, ScratchFolder, Setup, draft, eventually, on_both_databases,
};
use serde_json::Value;
use tokio::task::JoinSet;

on_both_databases!(readiness_covers_writing);

fn database_of(gateway: &Gateway) -> PathBuf {
    gateway.data_folder().join("quipu.db")
}

/// What `/readyz` says once it says that something is wrong with the database.
async fn problem(gateway: &Gateway) -> String {
    eventually("the database to be missed", async || {
        let ready = gateway.anonymous().get("/readyz").await;
        let body: Value = ready.json();
        (ready.status == 503 && body["checks"]["database"] == false)
            .then(|| body["problems"]["database"].as_str().expect("words").to_owned())
    })
    .await
}

async fn found_again(gateway: &Gateway) {
    eventually("the database to be found again", async || {
        (gateway.anonymous().get("/readyz").await.status == 200).then_some(())
    })
    .await;
}

async fn nothing_is_served(gateway: &Gateway) {
    gateway.v1().create(&draft::deposit_mxn(100)).await.refused(503, "OVERLOADED");
    gateway.v1().get("/api/v1/payments").await.refused(503, "OVERLOADED");
}

/// How long after the file went a creation may be sent and still be acknowledged.
const NOTICED: Duration = Duration::from_millis(100);

/// What the callers know of each other and of the file.
#[derive(Default)]
struct Scene {
    /// The acknowledged payments, with the instants at which they were asked for.
    acknowledged: Mutex<Vec<(Instant, String)>>,
    /// When the file was certain to be gone.
    gone: OnceLock<Instant>,
}

impl Scene {
    fn acknowledged(&self) -> MutexGuard<'_, Vec<(Instant, String)>> {
        self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether what was sent at this instant must be refused.
    fn is_too_late(&self, sent: Instant) -> bool {
        self.gone.get().is_some_and(|gone| sent > *gone + NOTICED)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_acknowledged_into_a_file_that_was_moved_away() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let (database, away) = (database_of(&gateway), gateway.data_folder().join("away.db"));
    let scene = Arc::new(Scene::default());
    let mut callers = JoinSet::new();
    for _ in 0..8 {
        callers.spawn(create_until_it_is_too_late(gateway.v1(), Arc::clone(&scene)));
    }
    eventually("payments to be acknowledged", async || (scene.acknowledged().len() > 100).then_some(()))
        .await;
    fs::rename(&database, &away).expect("moved");
    scene.gone.set(Instant::now()).expect("it goes once");
    // Every caller stops at the first answer to what it sent too late.
    callers.join_all().await;
    for (sent, id) in scene.acknowledged().iter() {
        assert!(!scene.is_too_late(*sent), "{id} was acknowledged, though sent too late");
    }
    nothing_is_served(&gateway).await;
    assert!(problem(&gateway).await.contains("is gone"));
    assert!(!database.exists(), "nobody made another");

    fs::rename(&away, &database).expect("moved back");
    found_again(&gateway).await;
    let acknowledged = std::mem::take(&mut *scene.acknowledged());
    for (_, id) in acknowledged {
        assert_eq!(gateway.v1().payment(&id).await["transaction_id"], *id);
    }
    gateway.check();
}

async fn create_until_it_is_too_late(api: Client, scene: Arc<Scene>) {
    loop {
        let sent = Instant::now();
        let answer: Answer = api.create(&draft::deposit_mxn(100)).await;
        if answer.status == 200 {
            let id = answer.ok()["transaction_id"].as_str().expect("a string").to_owned();
            scene.acknowledged().push((sent, id));
        } else {
            // One whose commit was under way when the file went cannot be told what became of it.
            assert!([503, 504].contains(&answer.status), "{answer}");
        }
        if scene.is_too_late(sent) {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_file_under_the_same_name_is_not_taken_for_it() {
    let mut gateway = Gateway::start(Database::Sqlite).await;
    let (database, copy) = (database_of(&gateway), gateway.data_folder().join("copy.db"));
    gateway.run(&["backup", copy.to_str().expect("UTF-8")]).ok();
    gateway.v1().create(&draft::deposit_mxn(100)).await.ok();
    fs::rename(&copy, &database).expect("replaced");
    nothing_is_served(&gateway).await;
    assert!(problem(&gateway).await.contains("replaced"));
    assert!(gateway.run(&["merchant", "list"]).stderr.contains("the running `quipu serve` has open"));
    gateway.kill();
    // The log of the former file is not for this one.
    let copied_in_vain = gateway.data_folder().join("another-copy.db");
    let copied_in_vain = copied_in_vain.to_str().expect("UTF-8");
    for command in [
        &["check"][..],
        &["migrate"],
        &["merchant", "list"],
        &["backup", copied_in_vain],
        &["serve", "--dev"],
    ] {
        let told = gateway.run(command);
        assert_eq!(told.status, Some(2), "{command:?}: {}", told.stderr);
        assert!(told.stderr.contains("left by another database"), "{command:?}: {}", told.stderr);
    }
    for suffix in ["wal", "shm"] {
        fs::remove_file(database.with_extension(format!("db-{suffix}"))).expect("moved away");
    }
    gateway.restart().await;
    assert_eq!(gateway.v1().get("/api/v1/payments").await.ok()["total"], 0);
    gateway.check();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_was_cut_short_or_made_read_only_is_noticed() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let database = database_of(&gateway);
    let set_mode = |mode| fs::set_permissions(&database, fs::Permissions::from_mode(mode)).expect("changed");
    set_mode(0o444);
    nothing_is_served(&gateway).await;
    assert!(problem(&gateway).await.contains("read-only"));
    set_mode(0o600);
    found_again(&gateway).await;
    gateway.v1().create(&draft::deposit_mxn(100)).await.ok();

    // What was written is in the log until it is copied.
    gateway.execute_sql("PRAGMA wal_checkpoint(TRUNCATE)").expect("copied");
    gateway.v1().create(&draft::deposit_mxn(100)).await.ok();
    cut(&database, 4096);
    nothing_is_served(&gateway).await;
    assert!(problem(&gateway).await.contains("file was truncated"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_was_cut_short_is_noticed() {
    let gateway = Gateway::start(Database::Sqlite).await;
    gateway.v1().create(&draft::deposit_mxn(100)).await.ok();
    cut(&database_of(&gateway).with_extension("db-wal"), 0);
    nothing_is_served(&gateway).await;
    assert!(problem(&gateway).await.contains("log was truncated"));
}

/// Flushes that fail while a file exists.
const BROKEN_DISK: &str = r#"
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int flush(long call, int file) {
    if (access(getenv("BROKEN_DISK"), F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    return syscall(call, file);
}

int fsync(int file) { return flush(SYS_fsync, file); }
int fdatasync(int file) { return flush(SYS_fdatasync, file); }
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_broken_disk_may_have_kept_is_not_told_not_to_have_happened() {
    let folder = ScratchFolder::new();
    let [source, library, broken] = ["disk.c", "disk.so", "broken"].map(|name| folder.path().join(name));
    fs::write(&source, BROKEN_DISK).expect("written");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    assert!(built.expect("a compiler").success());
    let [library, flag] = [&library, &broken].map(|path| path.to_str().expect("UTF-8"));
    let setup = Setup::new(Database::Sqlite).set("DEADLINES__CALL", "3s");
    let setup = setup.environment("LD_PRELOAD", library).environment("BROKEN_DISK", flag);
    let mut gateway = setup.start().await;
    gateway.v1().create(&draft::deposit_mxn(100)).await.ok();

    fs::write(&broken, "").expect("written");
    let told = gateway.v1().create(&draft::deposit_mxn(100)).await;
    assert_eq!(told.status, 504, "it may be found after a crash: {told}");
    gateway.kill();
    fs::remove_file(&broken).expect("mended");
    gateway.restart().await;
    let found = gateway.v1().get("/api/v1/payments").await.ok()["total"].as_i64();
    assert!(matches!(found, Some(1 | 2)), "{found:?}");
    gateway.v1().create(&draft::deposit_mxn(100)).await.ok();
    gateway.check();
}

fn cut(file: &Path, length: u64) {
    fs::OpenOptions::new().write(true).open(file).and_then(|file| file.set_len(length)).expect("cut");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn production_makes_no_database_and_serves_none_twice() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let key = fs::read_to_string(gateway.data_folder().join("master.key")).expect("made by --dev");
    let key = ("QUIPU__MASTER_KEY", key.trim());
    let folder = gateway.data_folder().join("elsewhere");
    fs::create_dir(&folder).expect("a folder");
    let missing = folder.join("quipu.db");
    let serve = |database: &Path| {
        let url = format!("sqlite://{}", database.display());
        gateway.run_under(&[key, ("QUIPU__DATABASE_URL", &url)], &["serve"])
    };
    let told = serve(&missing);
    assert_eq!(told.status, Some(2), "{}", told.stderr);
    assert!(
        told.stderr.contains("there is no database") && told.stderr.contains("quipu migrate"),
        "{}",
        told.stderr
    );
    let url = format!("sqlite://{}", missing.display());
    let told = gateway.run_under(&[("QUIPU__DATABASE_URL", &url)], &["migrate", "--existing"]);
    assert!(told.status == Some(2) && told.stderr.contains("there is no database"), "{}", told.stderr);
    assert!(!missing.exists());
    fs::write(&missing, "").expect("an empty file");
    let told = serve(&missing);
    assert!(told.status == Some(2) && told.stderr.contains("is an empty file"), "{}", told.stderr);

    let database = database_of(&gateway);
    let [soft, hard] = ["soft.db", "hard.db"].map(|name| folder.join(name));
    std::os::unix::fs::symlink(&database, &soft).expect("linked");
    fs::hard_link(&database, &hard).expect("linked");
    for name in [&database, &soft, &hard] {
        let told = serve(name);
        assert_eq!(told.status, Some(2), "{}: {}", name.display(), told.stderr);
        assert!(told.stderr.contains("another `quipu serve`"), "{}", told.stderr);
    }
    gateway.check();
}

/// The file of the database whose name has this ending in addition.
fn beside(database: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", database.display()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_command_works_beside_a_server_that_has_other_files_open() {
    let mut gateway = Gateway::start(Database::Sqlite).await;
    let database = database_of(&gateway);
    let file = |ending: &str| beside(&database, ending);
    let away = |ending: &str| file(&format!("{ending}.away"));
    gateway.v1().create(&draft::deposit_mxn(100)).await.ok();
    for endings in [&["-wal"][..], &[""], &["-wal", "-shm", ""], &["-shm"]] {
        gateway.check();
        for ending in endings.iter().rev() {
            fs::rename(file(ending), away(ending)).expect("moved away");
        }
        for command in [&["merchant", "create", "--name", "Tienda"][..], &["migrate"]] {
            let told = gateway.run(command);
            assert_eq!(told.status, Some(2), "{endings:?} {command:?}: {}", told.stderr);
            assert!(told.stderr.contains("the running `quipu serve` has open"), "{}", told.stderr);
        }
        problem(&gateway).await;
        assert!(!gateway.anonymous().get("/readyz").await.text.contains("quipu migrate"));
        for ending in endings {
            assert!(!file(ending).exists(), "nobody made another");
            fs::rename(away(ending), file(ending)).expect("moved back");
        }
        if endings != ["-shm"] {
            found_again(&gateway).await;
        }
    }
    assert!(problem(&gateway).await.contains("restart"));
    gateway.terminate().await;
    gateway.restart().await;
    assert_eq!(gateway.operator().get("/operator/v1/merchants").await.ok()["total"], 2, "those of the demo");
    assert_eq!(gateway.v1().get("/api/v1/payments").await.ok()["total"], 1);
    gateway.check();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_database_is_made_beside_the_log_of_a_former_one() {
    let mut gateway = Gateway::start(Database::Sqlite).await;
    let (database, away) = (database_of(&gateway), gateway.data_folder().join("away.db"));
    gateway.v1().create(&draft::deposit_mxn(100)).await.ok();
    gateway.kill();
    fs::rename(&database, &away).expect("moved away");
    for is_there in [false, true] {
        let told = gateway.run(&["migrate"]);
        assert_eq!(told.status, Some(2), "{}", told.stderr);
        assert!(told.stderr.contains("is left of the former one"), "{}", told.stderr);
        assert_eq!(database.exists(), is_there);
        fs::write(&database, "").expect("written");
    }
    fs::rename(&away, &database).expect("moved back");
    gateway.restart().await;
    assert_eq!(gateway.v1().get("/api/v1/payments").await.ok()["total"], 1);
    gateway.check();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_deleted_is_rescued_before_the_stop_as_the_message_says() {
    for deleted in [&["-wal"][..], &["", "-wal", "-shm"]] {
        let mut gateway = Gateway::start(Database::Sqlite).await;
        let database = database_of(&gateway);
        let file = |ending: &str| beside(&database, ending);
        let copy = |ending: &str| file(&format!("{ending}.copy"));
        gateway.v1().create(&draft::deposit_mxn(100)).await.ok();
        for ending in deleted {
            fs::remove_file(file(ending)).expect("deleted");
        }
        assert!(problem(&gateway).await.contains("copy it from /proc/PID/fd before you stop"));
        for ending in ["", "-wal"] {
            let names = [file(ending), file(&format!("{ending} (deleted)"))];
            let opened = fs::read_dir(format!("/proc/{}/fd", gateway.pid())).expect("open files");
            let mut opened = opened.map(|it| it.expect("an open file").path());
            let found = opened.find(|it| fs::read_link(it).is_ok_and(|to| names.contains(&to)));
            fs::copy(found.expect("it is open"), copy(ending)).expect("copied");
        }
        gateway.terminate().await;
        let _none = fs::remove_file(file("-shm"));
        for ending in ["", "-wal"] {
            fs::rename(copy(ending), file(ending)).expect("put in place");
        }
        gateway.restart().await;
        assert_eq!(gateway.v1().get("/api/v1/payments").await.ok()["total"], 1, "{deleted:?}");
        gateway.check();
    }
}

async fn readiness_covers_writing(database: Database) {
    const FUNCTION: &str = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
        $$ BEGIN RAISE EXCEPTION 'no space'; END $$";
    let gateway = Gateway::start(database).await;
    let (trigger, repair) = match database {
        Database::Sqlite => (
            "CREATE TRIGGER refuse BEFORE INSERT ON nodes BEGIN SELECT RAISE (ABORT, 'no space'); END",
            "DROP TRIGGER refuse",
        ),
        Database::Postgres => {
            gateway.execute_sql(FUNCTION).expect("the owner of a database may do this");
            (
                "CREATE TRIGGER refuse BEFORE INSERT ON nodes EXECUTE FUNCTION refuse()",
                "DROP TRIGGER refuse ON nodes",
            )
        }
    };
    gateway.execute_sql(trigger).expect("the owner of a database may do this");
    let told = problem(&gateway).await;
    assert!(told.contains("cannot be written") && !told.contains("space"), "{told}");
    gateway.execute_sql(repair).expect("the owner of a database may do this");
    found_again(&gateway).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_master_key_is_refused_before_there_is_a_merchant() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let folder = gateway.data_folder().join("elsewhere");
    fs::create_dir(&folder).expect("a folder");
    let url = format!("sqlite://{}", folder.join("quipu.db").display());
    let run = |key: &str, arguments: &[&str]| {
        gateway.run_under(&[("QUIPU__MASTER_KEY", key), ("QUIPU__DATABASE_URL", &url)], arguments)
    };
    let (key, slip) =
        ("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "HxAREhMUFRYXGBkaGxwdHgABAgMEBQYHCAkKCwwNDg8=");
    run(key, &["migrate"]).ok();
    run(key, &["operator", "create", "--name", "Ana", "--role", "admin"]).ok();
    for arguments in [&["serve"][..], &["operator", "list"], &["merchant", "create", "--name", "Tienda"]] {
        let told = run(slip, arguments);
        assert_eq!(told.status, Some(2), "{}", told.stderr);
        assert!(told.stderr.contains("master_key is not the key"), "{}", told.stderr);
    }
    run(key, &["merchant", "create", "--name", "Tienda"]).ok();
}
