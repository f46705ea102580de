//! Random histories against a model, as `quipu-simulation` drives them, on a real database.

use futures_util::{StreamExt as _, stream};
use quipu_ledger::LedgerReads as _;
use quipu_simulation::{Ports, Seeds, run_history};
use quipu_store::{Store, StoreSettings};

use crate::fixture::{self, Fixture, on_both_databases};

on_both_databases! {
    random_histories_agree_with_the_model,
}

/// Histories in an ordinary run, of about twenty steps each.
const RUNS: u64 = 120;
/// Histories at a time, each of another merchant: they share commits and stand in each other's way like real ones.
const AT_ONCE: usize = 100;

async fn random_histories_agree_with_the_model(fixture: Fixture) {
    // As many connections as a node has: so many histories at once read many lists at once.
    let settings = StoreSettings { lanes: 2, ..StoreSettings::new(&fixture.url) };
    let store = Store::open(settings, fixture::handle()).await.expect("the store opens");
    let ports = Ports::of(&store);
    let histories = stream::iter(Seeds::of(RUNS).0).map(|seed| run_history(ports.clone(), seed));
    histories.buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
    let report = store.check().await.expect("checked");
    assert_eq!(report.breaches, Vec::new());
}
