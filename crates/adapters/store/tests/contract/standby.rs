//! The server waits for a synchronous standby that is gone: what is not on two servers is not acknowledged, what
//! waits uses up no connections, and reads go on.
//!
//! The server is real and of the test's own, since its settings are changed.

use std::{collections::HashSet, time::Duration};

use diesel::sql_types::Integer;
use diesel_async::{AsyncPgConnection, RunQueryDsl as _, SimpleAsyncConnection as _};
use quipu_commit::{Commit as _, CommitError};
use quipu_kernel::StoreError;
use quipu_ledger::LedgerReads as _;
use quipu_store::{Store, StoreSettings};

use crate::{
    fixture::{handle, until},
    own_server::{Server, folder_of_servers},
    sample::{MXN, funding, tenant},
};

const LANES: usize = 2;
/// What there is before.
const FUNDS: i64 = 1_000;
/// How often a write of each kind is tried.
const TRIES: usize = 10;

#[test]
fn a_standby_that_is_gone_uses_up_no_connections_and_delays_no_read() {
    let local = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    local.block_on(async {
        let folder = folder_of_servers();
        let server = Server::at(folder.path().join("servers/primary"));
        server.script("make", &[&server.port.to_string()]);
        lose_the_standby_of(&server).await;
    });
}

async fn lose_the_standby_of(server: &Server) {
    let store = opened(server).await;
    let mut tally = Tally { acknowledged: FUNDS, unknown: 0 };
    store.commit(funding(tenant(1), FUNDS)).await.expect("funded");
    read(&store).await;
    let mut admin = server.connect().await;
    let before = processes(&mut admin, "application_name = 'quipu'").await;
    set_standby(&mut admin, "nobody").await;
    // The server takes the setting up a moment later.
    until(async || !tally.count(&store).await).await;
    for _ in 0..TRIES {
        assert!(!tally.count(&store).await);
        assert!(store.probe().await.is_err(), "nothing can be written");
        read(&store).await;
    }
    let waiting = processes(&mut admin, "wait_event = 'SyncRep'").await;
    assert!((1..=LANES).contains(&waiting.len()), "{waiting:?}");
    let now = processes(&mut admin, "application_name = 'quipu'").await;
    assert!(now.is_superset(&before), "sessions that were in order were closed: {before:?} {now:?}");
    assert_eq!(store.probe().await, Err("it answers, but a commit waits for a synchronous standby".into()));

    let unknown = tally.unknown;
    until(async || {
        let cutting = async {
            loop {
                cut_waits_short(&mut admin).await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let acknowledged = tokio::select! {
            acknowledged = tally.count(&store) => acknowledged,
            never = cutting => never,
        };
        assert!(!acknowledged, "it is on one server");
        tally.unknown > unknown
    })
    .await;

    set_standby(&mut admin, "").await;
    until(async || tally.count(&store).await).await;
    until(async || store.probe().await.is_ok()).await;
    let found = store.balance(tenant(1), MXN).await.expect("read").available.get();
    let possible = tally.acknowledged..=tally.acknowledged + tally.unknown;
    assert!(possible.contains(&found), "{found}, and not in {possible:?}");
    assert!(store.check().await.expect("checked").is_clean());
}

/// A store that gives up soon, on a database that another process has migrated.
async fn opened(server: &Server) -> Store {
    let url = format!("{}?application_name=migration", server.url());
    let migrating = Store::open(StoreSettings::new(url), handle()).await.expect("the store opens");
    migrating.migrate().await.expect("migrated");
    let mut settings = StoreSettings::new(server.url());
    (settings.lanes, settings.readers, settings.call) = (LANES, 2, Duration::from_secs(4));
    Store::open(settings, handle()).await.expect("the store opens")
}

/// Reads by key and by a short query. A young table is analysed after some of them.
async fn read(store: &Store) {
    for _ in 0..3 {
        store.balance(tenant(1), MXN).await.expect("reads go on");
        store.ping().await.expect("reads go on");
    }
}

struct Tally {
    acknowledged: i64,
    unknown: i64,
}

impl Tally {
    /// Adds one unit. Answers whether that was acknowledged.
    async fn count(&mut self, store: &Store) -> bool {
        match store.commit(funding(tenant(1), 1)).await {
            Ok(_) => self.acknowledged += 1,
            Err(CommitError::Store(StoreError::Unavailable(_))) => return false,
            Err(CommitError::Store(StoreError::OutcomeUnknown(_))) => {
                self.unknown += 1;
                return false;
            }
            Err(error) => panic!("{error:?}"),
        }
        true
    }
}

async fn set_standby(admin: &mut AsyncPgConnection, name: &str) {
    let set = format!("ALTER SYSTEM SET synchronous_standby_names = '{name}'");
    for statement in [set.as_str(), "SELECT pg_reload_conf()"] {
        admin.batch_execute(statement).await.expect("set");
    }
}

/// Ends the sessions that wait for a standby, which makes their commits count.
async fn cut_waits_short(admin: &mut AsyncPgConnection) {
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    admin.batch_execute(cut).await.expect("ended");
}

#[derive(diesel::QueryableByName)]
struct Process {
    #[diesel(sql_type = Integer)]
    pid: i32,
}

async fn processes(admin: &mut AsyncPgConnection, which: &str) -> HashSet<i32> {
    let query = format!("SELECT pid FROM pg_stat_activity WHERE {which}");
    let found: Vec<Process> = diesel::sql_query(query).load(admin).await.expect("an answer");
    found.into_iter().map(|process| process.pid).collect()
}
