//! A standby is promoted while the answer to a `COMMIT` is lost: what the caller is told is so on the server
//! that took over.
//!
//! The servers are real and of the test's own. `QUIPU_EFFORT` says how often each case is gone through.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use diesel_async::{AsyncConnection as _, AsyncPgConnection, RunQueryDsl as _, SimpleAsyncConnection as _};
use quipu_commit::{Commit as _, CommitError};
use quipu_ledger::LedgerReads as _;
use quipu_merchants::StoreUnavailable;
use quipu_store::{Store, StoreSettings};

use crate::{
    fixture::{handle, until},
    proxy::{Action, Blow, Point, Proxy, Side},
    sample::{MXN, funding, tenant},
};

/// What there is before, and what the commit in question adds.
const FUNDS: i64 = 1_000;
const ADDED: i64 = 7;
/// Transactions of others on the promoted server, more than the lost ones: one of them has the number of the
/// commit in question.
const OTHERS: usize = 200;

#[test]
fn what_the_standby_has_is_told_as_done_and_done_once() {
    run(Standby::Follows);
}

#[test]
fn what_the_standby_never_had_is_not_told_as_done() {
    run(Standby::IsBehind);
}

/// Where the standby is when the commit in question happens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standby {
    Follows,
    IsBehind,
}

fn run(standby: Standby) {
    let effort = std::env::var("QUIPU_EFFORT").map_or(1, |text| text.parse().expect("a number"));
    let local = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for _ in 0..effort {
        local.block_on(fail_over(standby));
    }
}

async fn fail_over(standby: Standby) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("a folder for the server's user");
    let primary = Server::at(folder.path().join("servers/primary"));
    primary.script("make", &[&primary.port.to_string()]);
    let other = Server::at(folder.path().join("servers/standby"));
    other.script("standby", &[&other.port.to_string(), &primary.port.to_string()]);
    let proxy = Proxy::before(&primary.url(), &handle()).await;
    let mut settings = StoreSettings::new(&proxy.url);
    (settings.lanes, settings.readers) = (1, 2);
    let store = Store::open(settings, handle()).await.expect("the store opens");
    store.migrate().await.expect("migrated");
    store.commit(funding(tenant(1), FUNDS)).await.expect("funded");
    other.catch_up_with(&primary).await;
    if standby == Standby::IsBehind {
        other.script("kill", &[]);
    }

    let at = Point::Commit;
    let (arrives, gone_for) = (false, std::time::Duration::ZERO);
    proxy.arm(Some(Blow { side: Side::Server, at, arrives, action: Action::Swallow, gone_for }));
    let asked = store.clone();
    let asking = handle().spawn(async move { asked.commit(funding(tenant(1), ADDED)).await });
    until(async || proxy.has_struck()).await;
    if standby == Standby::Follows {
        other.catch_up_with(&primary).await;
    }
    primary.script("kill", &[]);
    if standby == Standby::IsBehind {
        other.script("start", &[]);
    }
    other.script("promote", &[]);
    other.let_others_commit().await;
    proxy.redirect(&other.url());

    let told = asking.await.expect("no panic");
    let truth = Store::open(StoreSettings::new(other.url()), handle()).await.expect("the store opens");
    let found = truth.balance(tenant(1), MXN).await.expect("read").available.get();
    match told {
        Ok(_) => assert_eq!(found, FUNDS + ADDED, "it was acknowledged"),
        // Only a machine that takes seconds to promote ends here, and then the caller asks again.
        Err(CommitError::Store(StoreUnavailable::Unknown(_))) => {
            println!("the standby took over too late for the outcome to be learnt");
            assert!([FUNDS, FUNDS + ADDED].contains(&found), "{found}");
        }
        Err(CommitError::Store(error)) => assert_eq!(found, FUNDS, "nothing happened: {error}"),
        Err(CommitError::Refused(refusal)) => panic!("{refusal:?}"),
    }
    let report = truth.check().await.expect("checked");
    assert!(report.is_clean(), "{:?}", report.breaches);
}

/// A server of the test's own, by the script of the test bed.
struct Server {
    folder: PathBuf,
    port: u16,
}

#[derive(diesel::QueryableByName)]
struct Yes {
    #[diesel(sql_type = diesel::sql_types::Bool)]
    yes: bool,
}

#[derive(diesel::QueryableByName)]
struct Position {
    #[diesel(sql_type = diesel::sql_types::Text)]
    position: String,
}

impl Server {
    /// One that will be there, on a port that is free now.
    fn at(folder: PathBuf) -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        Self { folder, port: free.local_addr().expect("an address").port() }
    }

    fn script(&self, word: &str, arguments: &[&str]) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/bed/own-server.sh");
        let output = Command::new(script).arg(word).arg(&self.folder).args(arguments).output().expect("bash");
        assert!(output.status.success(), "{word}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn url(&self) -> String {
        format!("postgres://quipu:none@127.0.0.1:{}/postgres", self.port)
    }

    async fn connect(&self) -> AsyncPgConnection {
        AsyncPgConnection::establish(&self.url()).await.expect("the server answers")
    }

    async fn catch_up_with(&self, primary: &Self) {
        let written = "SELECT CAST(pg_current_wal_flush_lsn() AS TEXT) AS position";
        let written: Position =
            diesel::sql_query(written).get_result(&mut primary.connect().await).await.expect("a position");
        let mut conn = self.connect().await;
        let replayed =
            format!("SELECT COALESCE(pg_last_wal_replay_lsn() >= '{}', false) AS yes", written.position);
        until(async || {
            let is_there: Yes = diesel::sql_query(&replayed).get_result(&mut conn).await.expect("an answer");
            is_there.yes
        })
        .await;
    }

    /// Gives away the numbers that transactions had which were lost.
    async fn let_others_commit(&self) {
        let mut conn = self.connect().await;
        for _ in 0..OTHERS {
            conn.batch_execute("SELECT pg_current_xact_id()").await.expect("committed");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // What is left goes with the folder.
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/bed/own-server.sh");
        let _ = Command::new(script).arg("remove").arg(&self.folder).output();
    }
}
