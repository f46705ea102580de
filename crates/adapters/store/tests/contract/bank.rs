//! Reads for bank files.

use std::time::Duration;

use futures_util::future::join_all;
use quipu_commit::{Changes, Commit as _};
use quipu_kernel::PaymentId;
use quipu_merchants::Method;
use quipu_payments::{BankExport, BankReads as _, CustomerClaim, ExportRoute, Payment, Status, Terms};
use quipu_store::Store;

use crate::{
    fixture::{Fixture, funded, on_both_databases},
    sample::{MXN, START, Sample, after, fresh_customer, move_to, tenant},
};

on_both_databases! {
    the_search_goes_on_behind_what_one_read_looks_at,
    the_latest_file_and_the_one_before_it_are_found,
}

const ROUTE: ExportRoute =
    ExportRoute { tenant: tenant(1), currency: MXN, method: Method::Spei, partner: false };

/// Submitted withdrawals of the merchant on a rail, one a millisecond; their identifiers.
async fn submitted(store: &Store, rail: &str, times: std::ops::Range<i64>) -> Vec<PaymentId> {
    let submit = async |at| {
        let sample = Sample { at: after(at), ..Sample::withdrawal(tenant(1), 1) };
        let payment = sample.payment();
        let terms = Terms { rail: rail.to_owned(), ..payment.terms().clone() };
        let payment = Payment::restore(terms, payment.state().clone());
        let claim = CustomerClaim::MatchOrCreate(fresh_customer());
        store.commit(sample.create_as(payment.clone(), claim)).await.expect("created");
        store.commit(move_to(&payment, Status::Processing, after(at))).await.expect("submitted");
        payment.id().clone()
    };
    let mut all = join_all(times.map(submit)).await;
    all.sort_unstable();
    all
}

/// What all reads together find, and how many there were.
async fn exportable(store: &Store) -> (Vec<PaymentId>, usize) {
    let (mut seen, mut reads, mut last) = (Vec::new(), 0, None);
    loop {
        let stretch = store.exportable(&ROUTE, last.as_ref()).await.expect("read");
        seen.extend(stretch.payments.iter().map(|payment| payment.id().clone()));
        reads += 1;
        assert!(reads < 9, "it comes to an end");
        match stretch.last {
            Some(next) => last = Some(next),
            None => return (seen, reads),
        }
    }
}

async fn the_search_goes_on_behind_what_one_read_looks_at(fixture: Fixture) {
    let store = funded(&fixture, 10_000).await;
    assert_eq!(exportable(&store).await, (Vec::new(), 1));
    submitted(&store, "http:bank", 0..500).await;
    assert_eq!(
        exportable(&store).await,
        (Vec::new(), 2),
        "one read looks at so many, and there might be more"
    );
    submitted(&store, "http:bank", 500..600).await;
    let by_hand = submitted(&store, "manual", 600..1_001).await;
    assert_eq!(exportable(&store).await, (by_hand, 3), "all of them, ascending, none twice");
}

async fn the_latest_file_and_the_one_before_it_are_found(fixture: Fixture) {
    let store = fixture.open().await;
    let latest = async |before| store.latest_bank_export(&ROUTE, before).await.expect("read");
    assert_eq!(latest(None).await, None);
    let file = |number: i64| {
        let created_at = START.plus(Duration::from_secs(number.unsigned_abs()));
        let export_id = format!("exp_{}_a", created_at.millis());
        BankExport { export_id, currency: MXN, method: Method::Spei, partner: false, created_at }
    };
    let files = [file(1), file(2), file(3)];
    let others = [
        (tenant(2), BankExport { export_id: "exp_of_another".to_owned(), ..file(4) }),
        (tenant(1), BankExport { partner: true, ..file(5) }),
        (tenant(1), BankExport { method: Method::BankTransfer, ..file(6) }),
    ];
    let of_route = files.iter().map(|file| (tenant(1), file.clone()));
    for (tenant, export) in of_route.chain(others) {
        let mut changes = Changes::new(tenant, export.created_at);
        changes.add(export);
        store.commit(changes).await.expect("made");
    }
    assert_eq!(latest(None).await.as_ref(), Some(&files[2]));
    assert_eq!(latest(Some(&files[2])).await.as_ref(), Some(&files[1]));
    assert_eq!(latest(Some(&files[1])).await.as_ref(), Some(&files[0]));
    assert_eq!(latest(Some(&files[0])).await, None);
}
