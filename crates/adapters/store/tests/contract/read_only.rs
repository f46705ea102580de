//! The server that a node is connected to has become read-only, and its address leads to another one: sessions
//! on the old one are replaced, those for reading too.
//!
//! The servers are real and of the test's own, since one is promoted and the settings of the other are changed.

use diesel_async::SimpleAsyncConnection as _;
use quipu_commit::{Commit as _, CommitError};
use quipu_kernel::StoreError;
use quipu_ledger::LedgerReads as _;
use quipu_store::{Store, StoreSettings};

use crate::{
    fixture::{handle, until},
    own_server::{Server, folder_of_servers},
    proxy::Proxy,
    sample::{MXN, funding, tenant},
};

const FUNDS: i64 = 1_000;
const ADDED: i64 = 7;

#[test]
fn sessions_on_a_server_that_became_read_only_are_replaced() {
    let local = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    local.block_on(async {
        let folder = folder_of_servers();
        let old = Server::at(folder.path().join("servers/old"));
        old.script("make", &[&old.port.to_string()]);
        let new = Server::at(folder.path().join("servers/new"));
        new.script("standby", &[&new.port.to_string(), &old.port.to_string()]);
        move_over(&old, &new).await;
    });
}

async fn available(store: &Store) -> i64 {
    store.balance(tenant(1), MXN).await.expect("read").available.get()
}

async fn move_over(old: &Server, new: &Server) {
    let proxy = Proxy::before(&old.url(), &handle()).await;
    let mut settings = StoreSettings::new(&proxy.url);
    (settings.lanes, settings.readers) = (1, 2);
    let store = Store::open(settings, handle()).await.expect("the store opens");
    store.migrate().await.expect("migrated");
    store.commit(funding(tenant(1), FUNDS)).await.expect("funded");
    assert_eq!(available(&store).await, FUNDS);
    new.catch_up_with(old).await;
    let mut admin = old.connect().await;
    for statement in ["ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()"] {
        admin.batch_execute(statement).await.expect("set");
    }
    // The server takes the setting up a moment later.
    until(async || admin.batch_execute("CREATE TABLE writes (at INTEGER)").await.is_err()).await;
    new.script("promote", &[]);
    proxy.redirect(&new.url());

    until(async || match store.commit(funding(tenant(1), ADDED)).await {
        Ok(_) => true,
        Err(CommitError::Store(StoreError::Unavailable(_))) => false,
        Err(error) => panic!("{error:?}"),
    })
    .await;
    assert_eq!(available(&store).await, FUNDS + ADDED, "reads come from where was written");
    let truth = Store::open(StoreSettings::new(new.url()), handle()).await.expect("the store opens");
    assert_eq!(available(&truth).await, FUNDS + ADDED, "written once");
    assert!(truth.check().await.expect("checked").is_clean());
    let as_before =
        "DO $$ BEGIN ASSERT (SELECT SUM(available) FROM balances WHERE merchant_id = 1) = 1000; END $$";
    admin.batch_execute(as_before).await.expect("nothing was written there");
}
