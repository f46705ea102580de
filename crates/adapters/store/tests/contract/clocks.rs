//! Nodes whose clocks disagree.

use std::{sync::Arc, time::Duration};

use quipu_commit::Commit as _;
use quipu_kernel::{Clock, SystemClock, Timestamp};
use quipu_ledger::Chains as _;
use quipu_payments::{CrossTenantReads as _, Payment, Status};
use quipu_webhooks::{EndpointChange, RetrySelection};

use crate::{
    deliveries::{HEARD, add, claim, counts, endpoint, opened, tell},
    fixture::{Fixture, funded, on_every_store},
    sample::{Sample, after, move_to, tenant},
};

on_every_store! {
    what_is_owed_when_an_endpoint_is_disabled_fails_though_the_clock_there_lags,
}

/// What nobody but staff reads.
mod databases {
    use super::{
        a_timeline_has_all_entries_though_the_clock_was_set_back,
        how_far_a_clock_is_ahead_of_a_server_is_told,
    };

    crate::fixture::on_both_databases! {
        a_timeline_has_all_entries_though_the_clock_was_set_back,
        how_far_a_clock_is_ahead_of_a_server_is_told,
    }
}

/// A clock that is a minute behind.
struct Behind;

impl Clock for Behind {
    fn now(&self) -> Timestamp {
        SystemClock.now().minus(Duration::from_mins(1))
    }
}

async fn how_far_a_clock_is_ahead_of_a_server_is_told(fixture: Fixture) {
    let store = fixture.open().await;
    let (right, behind): (Arc<dyn Clock>, Arc<dyn Clock>) = (Arc::new(SystemClock), Arc::new(Behind));
    for (clock, around) in [(&right, 0), (&behind, -60_000)] {
        let ahead = store.clock_ahead(clock).await.expect("asked");
        assert_eq!(ahead.is_some(), fixture.is_server());
        assert!(ahead.is_none_or(|ahead| (ahead - around).abs() < 30_000), "{ahead:?}");
    }
}

async fn a_timeline_has_all_entries_though_the_clock_was_set_back(fixture: Fixture) {
    let store = funded(&fixture, 1_000).await;
    let sample = Sample { fee: 3, at: after(10), ..Sample::withdrawal(tenant(1), 600) };
    let saved = async |changes| {
        let committed = store.commit(changes).await.expect("committed");
        *committed.into_saved::<Payment>().expect("the payment")
    };
    let created = saved(sample.create()).await;
    // Nothing comes before what is sealed, whatever a clock says: the keys of what follows are later than its time.
    store.extend_chains(after(60_000), Duration::ZERO).await.expect("sealed");
    let processing = saved(move_to(&created, Status::Processing, after(20))).await;
    let completed = saved(move_to(&processing, Status::Completed, after(30))).await;
    let entries = store.timeline(&completed).await.expect("read").entries;
    let of = |at| {
        let lines = entries.iter().filter(|line| line.created_at == at);
        lines.map(|line| (line.reason.as_str(), line.amount.get().abs())).collect::<Vec<_>>()
    };
    assert_eq!(of(after(10)), [("withdrawal_created", 603); 2]);
    let (reason, of_completion) = ("withdrawal_completed", of(after(30)));
    assert_eq!(of_completion.len(), 3, "{entries:?}");
    for amount in [603, 600, 3] {
        assert!(of_completion.contains(&(reason, amount)), "{entries:?}");
    }
    assert_eq!(entries.len(), 5, "{entries:?}");
}

async fn what_is_owed_when_an_endpoint_is_disabled_fails_though_the_clock_there_lags(fixture: Fixture) {
    let (store, lags) = (opened(&fixture).await, fixture.any_deliveries().await);
    let hears = endpoint(1);
    add(&store, &hears).await;
    for at in [60_000, 60_001, 60_002] {
        tell(&store, HEARD, at).await;
    }
    assert_eq!(claim(&store, &hears, 60_002, 1).await.len(), 1);
    lags.change(tenant(1), &hears.id, EndpointChange::Disable, after(10)).await.expect("disabled");
    assert_eq!(counts(&store, &hears).await, [0, 0, 3, 3]);
    lags.change(tenant(1), &hears.id, EndpointChange::Enable, after(20)).await.expect("enabled");
    let all = store.retry(tenant(1), &hears.id, RetrySelection::default(), after(60_010)).await;
    assert_eq!(all.expect("retried"), 3);
}
