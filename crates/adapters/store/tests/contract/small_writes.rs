//! Small writes that wait at the same time, beside changes of payments.

use futures_util::{
    FutureExt as _,
    future::{join, join_all},
};
use quipu_commit::Commit as _;
use quipu_kernel::Page;
use quipu_ledger::LedgerReads as _;
use quipu_merchants::{AuditFilter, DirectoryError, Merchants as _, Staff as _};

use crate::{
    directory::{audit, merchant},
    fixture::{Fixture, on_both_databases},
    sample::{Sample, tenant},
};

on_both_databases! {
    writes_that_wait_together_fail_one_by_one,
}

async fn writes_that_wait_together_fail_one_by_one(fixture: Fixture) {
    const NUMBERS: i64 = 30;
    let store = fixture.open().await;
    let twice = (1..=NUMBERS).chain(1..=NUMBERS);
    let adding =
        join_all(twice.map(|id| store.add_merchant(merchant(id), Vec::new(), audit("merchant.create"))));
    let paying = join_all((1..=NUMBERS).map(|of| store.commit(Sample::deposit(tenant(of), 10).create())));
    let (added, paid) = join(adding, paying.boxed()).await;
    for outcome in paid {
        outcome.expect("created");
    }
    let refused = added.iter().filter(|outcome| matches!(outcome, Err(DirectoryError::Conflict(_)))).count();
    let done = added.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!((done, refused), (30, 30), "{added:?}");
    let filter = AuditFilter::default();
    let (_, told) = store.audit_log(filter, Page::default()).await.expect("read");
    assert_eq!(told, 30, "only what happened is in the log");
    assert!(store.check().await.expect("checked").is_clean());
}
