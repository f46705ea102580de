//! A standby is promoted while the answer to a `COMMIT` is lost: what the caller is told is so on the server
//! that took over.
//!
//! The servers are real and of the test's own. `QUIPU_EFFORT` says how often each case is gone through.

use quipu_commit::{Commit as _, CommitError};
use quipu_kernel::StoreError;
use quipu_ledger::LedgerReads as _;
use quipu_store::{Store, StoreSettings};

use crate::{
    fixture::{handle, until},
    own_server::{Server, folder_of_servers},
    proxy::{Action, Blow, Point, Proxy, Side},
    sample::{MXN, funding, tenant},
};

/// What there is before, and what the commit in question adds.
const FUNDS: i64 = 1_000;
const ADDED: i64 = 7;
/// Transactions of others on the promoted server, more than the lost ones: one of them has the number of the
/// commit in question.
const OTHERS: usize = 200;

/// How often a machine may take too long to promote before its outcome is learnt.
const TRIES: usize = 3;

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
        let is_known = (0..TRIES).any(|_| local.block_on(fail_over(standby)));
        assert!(is_known, "the outcome was never learnt in {TRIES} tries");
    }
}

/// Whether the caller was told what has happened, rather than that nobody knows.
async fn fail_over(standby: Standby) -> bool {
    let folder = folder_of_servers();
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
    other.let_others_commit(OTHERS).await;
    proxy.redirect(&other.url());

    let told = asking.await.expect("no panic");
    let truth = Store::open(StoreSettings::new(other.url()), handle()).await.expect("the store opens");
    let found = truth.balance(tenant(1), MXN).await.expect("read").available.get();
    let report = truth.check().await.expect("checked");
    assert!(report.is_clean(), "{:?}", report.breaches);
    // What the standby has can be asked for, and what it never had can be made again.
    assert!(standby == Standby::IsBehind || found == FUNDS + ADDED, "{found} and {told:?}");
    match told {
        Ok(_) => assert_eq!(found, FUNDS + ADDED, "it was acknowledged"),
        // Only a machine that takes seconds to promote ends here, and then the caller asks again.
        Err(CommitError::Store(StoreError::OutcomeUnknown(_))) => {
            println!("the standby took over too late for the outcome to be learnt");
            assert!([FUNDS, FUNDS + ADDED].contains(&found), "{found}");
            return false;
        }
        Err(CommitError::Store(error)) => assert_eq!(found, FUNDS, "nothing happened: {error}"),
        Err(CommitError::Refused(refusal)) => panic!("{refusal:?}"),
    }
    true
}
