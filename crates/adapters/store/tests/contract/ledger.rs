//! Balances, and a verification that finds what is broken.

use quipu_commit::{Changes, Commit as _};
use quipu_kernel::Currency;
use quipu_ledger::{Balance, LedgerReads as _};
use quipu_payments::Payment;

use crate::{
    fixture::{Fixture, funded, funded_any, on_every_store},
    sample::{MXN, START, Sample, adjust, tenant},
};

on_every_store! {
    a_currency_without_activity_is_zero,
    balances_are_listed_by_currency,
}

mod databases {
    use super::{a_schema_that_a_newer_release_added_to_is_in_order, a_verification_names_what_is_broken};

    crate::fixture::on_both_databases! {
        a_verification_names_what_is_broken,
        a_schema_that_a_newer_release_added_to_is_in_order,
    }
}

async fn a_schema_that_a_newer_release_added_to_is_in_order(fixture: Fixture) {
    let store = funded(&fixture, 1_000).await;
    fixture.sql("ALTER TABLE refunds ADD COLUMN newer TEXT").await.expect("added");
    assert!(!store.check().await.expect("checked").is_clean(), "nobody has migrated it");
    let migrated = "INSERT INTO __diesel_schema_migrations (version) VALUES ('99990101000001')";
    fixture.sql(migrated).await.expect("migrated");
    assert_eq!(store.check().await.expect("checked").breaches, []);
    let broken = if fixture.is_server() {
        "ALTER TABLE entries DISABLE TRIGGER entries_are_never_changed"
    } else {
        "DROP TRIGGER entries_are_never_updated"
    };
    fixture.sql(broken).await.expect("broken");
    let breaches = store.check().await.expect("checked").breaches;
    assert!(breaches.iter().any(|breach| breach.subject.contains("entries_are_never")), "{breaches:?}");
}

async fn a_currency_without_activity_is_zero(fixture: Fixture) {
    let store = funded_any(&fixture, 5).await;
    assert_eq!(store.balance(tenant(1), Currency::ARS).await.expect("read"), Balance::zero(Currency::ARS));
    assert_eq!(store.balances(tenant(2)).await.expect("read"), Vec::new());
}

async fn balances_are_listed_by_currency(fixture: Fixture) {
    let store = funded_any(&fixture, 5).await;
    let mut change = Changes::new(tenant(1), START);
    adjust(&mut change, Currency::UYU, 7);
    adjust(&mut change, Currency::ARS, 6);
    store.commit(change).await.expect("committed");
    let balances = store.balances(tenant(1)).await.expect("read");
    let found: Vec<_> = balances.iter().map(|balance| (balance.currency, balance.available.get())).collect();
    assert_eq!(found, [(Currency::ARS, 6), (MXN, 5), (Currency::UYU, 7)]);
}

async fn a_verification_names_what_is_broken(fixture: Fixture) {
    let store = funded(&fixture, 1_000).await;
    let made = store.commit(Sample::withdrawal(tenant(1), 10).create()).await.expect("committed");
    let id = made.into_saved::<Payment>().expect("a payment").id().clone();
    assert!(store.check().await.expect("checked").is_clean());
    let breaks = [
        ("balance_equals_entries", "UPDATE balances SET available = available + 1, adjustment = adjustment + 1"),
        (
            "transaction_sums_to_zero",
            "INSERT INTO entries (merchant_id, environment, transaction_id, line, currency, account, amount, reason, created_at)
             VALUES (1, 'test', 'x', 1, 'MXN', 'available', 5, 'adjustment', 0)",
        ),
        ("frozen_equals_open_withdrawals", "UPDATE payments SET fee = fee + 1"),
        ("counters_equal_rows", "UPDATE counters SET count = count + 1"),
        ("status_versions_gapless", "UPDATE events SET status_version = 2"),
        ("status_versions_gapless", "UPDATE payments SET status_version = 7"),
    ];
    for (invariant, sql) in breaks {
        fixture.sql(sql).await.expect("broken");
        let report = store.check().await.expect("checked");
        let found: Vec<_> = report.breaches.iter().filter(|breach| breach.invariant == invariant).collect();
        assert!(!found.is_empty(), "{invariant}: {:?}", report.breaches);
        assert!(found.iter().all(|breach| breach.subject.starts_with("1/test")), "{found:?}");
    }
    let report = store.check().await.expect("checked");
    assert!(report.breaches.iter().any(|breach| breach.subject.contains(id.as_str())));
}
