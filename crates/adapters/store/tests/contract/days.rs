//! Payments counted by the day they were made on, and pages found by these counters.

use futures_util::future::join_all;
use quipu_commit::Commit as _;
use quipu_kernel::{Currency, Page, Period, Timestamp};
use quipu_ledger::{Breach, LedgerReads as _};
use quipu_merchants::Method;
use quipu_payments::{Payment, PaymentFilter, PaymentReads as _, PaymentType, Status};

use crate::{
    fixture::{AnyStore, Fixture, funded, on_every_store},
    lists::matches,
    sample::{Sample, after, move_to, tenant},
};

on_every_store! {
    any_page_of_a_long_history_is_found,
    any_page_of_a_busy_day_is_found,
    a_cut_through_days_is_exact,
}

mod databases {
    use super::{
        a_page_asks_for_days_where_they_help, a_tampered_day_is_named, days_are_counted_for_what_was_there,
    };

    crate::fixture::on_both_databases! {
        a_page_asks_for_days_where_they_help, a_tampered_day_is_named, days_are_counted_for_what_was_there
    }
}

#[test]
fn nodes_of_an_earlier_release_are_counted_for() {
    crate::fixture::run(crate::fixture::Engine::Postgres, counted_by_the_server);
}

#[test]
fn what_was_there_before_is_in_its_class() {
    crate::fixture::run(crate::fixture::Engine::Postgres, classed_by_the_migration);
}

const HOUR: i64 = 60 * 60 * 1000;

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn maybe<T>(&mut self, values: &[T]) -> Option<T>
    where
        T: Copy,
    {
        let place = usize::try_from(self.below(2 * values.len() as u64)).unwrap_or(usize::MAX);
        values.get(place).copied()
    }
}

/// Some payments a day over a hundred days, a few of them in a rare currency, some of them moved; newest first.
async fn history(store: &AnyStore, numbers: &mut Numbers) -> Vec<Payment> {
    made_at(store, numbers, |number| number * HOUR * 24 / 15).await
}

/// Payments at the milliseconds that `time` says for each.
async fn made_at(store: &AnyStore, numbers: &mut Numbers, time: impl Fn(i64) -> i64) -> Vec<Payment> {
    let samples = (0..1_500).map(|number: i64| Sample {
        kind: if number % 3 == 0 { PaymentType::DepositPp } else { PaymentType::Deposit },
        method: if number % 4 == 0 { Method::Spei } else { Method::BankTransfer },
        currency: if number % 211 == 0 { Currency::UYU } else { Currency::MXN },
        at: after(time(number)),
        ..Sample::deposit(tenant(1), 100)
    });
    let samples: Vec<_> = samples.collect();
    let made = join_all(samples.iter().map(|sample| store.commit(sample.create()))).await;
    let made = made.into_iter().map(|made| made.expect("made").into_saved::<Payment>().expect("a payment"));
    let mut all: Vec<Payment> = made.map(|payment| *payment).collect();
    let moved = all.iter_mut().filter(|_| numbers.below(3) == 0).map(|payment| async {
        let at = payment.terms().created_at.plus(std::time::Duration::from_secs(1));
        let moved = store.commit(move_to(payment, Status::Failed, at)).await.expect("moved");
        *payment = *moved.into_saved::<Payment>().expect("a payment");
    });
    join_all(moved).await;
    all.sort_by(|one, other| other.id().cmp(one.id()));
    all
}

async fn any_page_of_a_long_history_is_found(fixture: Fixture) {
    let mut numbers = Numbers(7);
    let store = fixture.any().await;
    let all = history(&store, &mut numbers).await;
    pages_are_found(&store, &mut numbers, &all, [0, 24, 500, 1_001], [23, 25, 800, 2_300]).await;
}

/// Most payments come in bursts of some hundred.
async fn any_page_of_a_busy_day_is_found(fixture: Fixture) {
    let mut numbers = Numbers(8);
    let store = fixture.any().await;
    let all = made_at(&store, &mut numbers, |number| number / 400 * 5 * HOUR + number % 7 * 1_000).await;
    pages_are_found(&store, &mut numbers, &all, [0, 1, 6, 25], [1, 7, 11, 24]).await;
}

/// Looks for pages between some hours, and of what else a filter names.
async fn pages_are_found(
    store: &AnyStore,
    numbers: &mut Numbers,
    all: &[Payment],
    from: [i64; 4],
    to: [i64; 4],
) {
    let hour = |hours: Option<i64>| hours.map(|hours| after(hours * HOUR));
    for _ in 0..150 {
        let filter = PaymentFilter {
            status: numbers.maybe(&[Status::Failed, Status::Processing]),
            kind: numbers.maybe(&[PaymentType::DepositPp, PaymentType::Deposit, PaymentType::Withdrawal]),
            method: numbers.maybe(&[Method::Spei]),
            currency: numbers.maybe(&[Currency::UYU, Currency::MXN]),
            created: Period { from: hour(numbers.maybe(&from)), to: hour(numbers.maybe(&to)) },
            ..PaymentFilter::default()
        };
        let expected: Vec<_> = all.iter().filter(|payment| matches(payment, &filter)).collect();
        let offset = numbers.below(expected.len() as u64 + 10);
        let page = Page::new(1 + u32::try_from(numbers.below(100)).expect("small"), offset).expect("a page");
        let (found, total) = store.payments(tenant(1), &filter, page).await.expect("read");
        assert_eq!(total, expected.len() as u64, "{filter:?}");
        let expected = expected.into_iter().skip(usize::try_from(offset).expect("small"));
        let expected: Vec<_> = expected.take(page.limit() as usize).map(Payment::id).collect();
        assert_eq!(found.iter().map(Payment::id).collect::<Vec<_>>(), expected, "{filter:?} {page:?}");
    }
}

async fn a_cut_through_days_is_exact(fixture: Fixture) {
    let store = fixture.any().await;
    let day = 24 * HOUR;
    let times = [0, 1, day - 1, day, day + 1, 2 * day - 1, 2 * day, 3 * day];
    for millis in times {
        let sample = Sample { at: after(millis), ..Sample::deposit(tenant(1), 5) };
        store.commit(sample.create()).await.expect("committed");
    }
    let edges = [-1, 0, 1, 2, day - 1, day, day + 1, 2 * day - 1, 2 * day, 2 * day + 1, 9 * day];
    let ends = || edges.iter().map(|millis| Some(after(*millis))).chain([None]);
    for created in ends().flat_map(|from| ends().map(move |to| Period { from, to })) {
        let filter = PaymentFilter { created, ..PaymentFilter::default() };
        let (found, total) = store.payments(tenant(1), &filter, Page::default()).await.expect("read");
        let within = |at: &Timestamp| {
            created.from.is_none_or(|from| from <= *at) && created.to.is_none_or(|to| *at <= to)
        };
        let mut expected: Vec<_> = times.iter().map(|millis| after(*millis)).filter(within).collect();
        expected.reverse();
        let found: Vec<_> = found.iter().map(|payment| payment.terms().created_at).collect();
        assert_eq!((found, total), (expected.clone(), expected.len() as u64), "{filter:?}");
    }
}

/// Without counters of days, what asks for them finds nothing, and what does not finds everything.
async fn a_page_asks_for_days_where_they_help(fixture: Fixture) {
    let store = fixture.any().await;
    let all = history(&store, &mut Numbers(7)).await.len() as u64;
    fixture.sql("DELETE FROM counters WHERE name LIKE 'payments/%'").await.expect("forgotten");
    let plain = PaymentFilter::default;
    let of_type = PaymentFilter { kind: Some(PaymentType::DepositPp), ..plain() };
    let rare = PaymentFilter { currency: Some(Currency::UYU), ..plain() };
    let since = PaymentFilter { created: Period { from: Some(after(0)), to: None }, ..plain() };
    let near = [(plain(), 0, all), (plain(), 1_000, all), (of_type.clone(), 100, 500), (rare, 0, 8)];
    let by_days = [(plain(), 1_001, 0), (of_type, 101, 0), (since, 0, 0)];
    for (filter, offset, expected) in near.into_iter().chain(by_days) {
        let page = Page::new(20, offset).expect("a page");
        let (_, total) = store.payments(tenant(1), &filter, page).await.expect("read");
        assert_eq!(total, expected, "{filter:?} from {offset}");
    }
}

async fn a_tampered_day_is_named(fixture: Fixture) {
    let store = funded(&fixture, 1_000).await;
    store.commit(Sample::deposit(tenant(1), 5).create()).await.expect("committed");
    assert!(store.check().await.expect("checked").is_clean());
    fixture.sql("UPDATE counters SET count = 2 WHERE name LIKE 'payments/%'").await.expect("tampered");
    let report = store.check().await.expect("checked");
    let named = |breach: &Breach| (breach.invariant, breach.subject.clone(), breach.detail.clone());
    let subject = "1/test payments/2026-01-01 processing deposit spei MXN".to_owned();
    let expected = [("counters_equal_rows", subject, "counted 2; there are 1".to_owned())];
    assert_eq!(report.breaches.iter().map(named).collect::<Vec<_>>(), expected);
}

async fn days_are_counted_for_what_was_there(fixture: Fixture) {
    let store = funded(&fixture, 1_000).await;
    for number in 0..5 {
        let sample = Sample { at: after(number * 11 * HOUR), ..Sample::deposit(tenant(1), 5) };
        store.commit(sample.create()).await.expect("committed");
    }
    fixture.sql("DELETE FROM counters WHERE name LIKE 'payments/%'").await.expect("forgotten");
    assert!(!store.check().await.expect("checked").is_clean());
    let server = include_str!("../../../../../migrations/postgres/2026-11-22-000011_days_until_now/up.sql");
    let file = include_str!("../../../../../migrations/sqlite/2026-11-22-000011_days_until_now/up.sql");
    fixture.sql(if fixture.is_server() { server } else { file }).await.expect("counted");
    assert_eq!(store.check().await.expect("checked").breaches, []);
    if fixture.is_server() {
        // What was counted meanwhile is not counted again.
        fixture.sql(server).await.expect("counted");
        assert_eq!(store.check().await.expect("checked").breaches, []);
    }
}

/// What writes to a server without counting days or keeping classes, as a node of an earlier release does.
async fn counted_by_the_server(fixture: Fixture) {
    let store = funded(&fixture, 1_000).await;
    let made = store.commit(Sample::deposit(tenant(1), 5).create()).await.expect("committed");
    let made = made.into_saved::<Payment>().expect("a payment");
    let earlier = "CREATE TEMPORARY TABLE one AS SELECT * FROM payments;
        UPDATE one SET id = replace(id, 'pay_', 'pay_0'), merchant_reference = 'another';
        INSERT INTO payments SELECT * FROM one;
        UPDATE counters SET count = count + 1 WHERE name = 'payments';
        UPDATE payments SET status = 'failed' WHERE merchant_reference <> 'another';
        UPDATE payments SET status = 'failed', fee = fee + 1 WHERE merchant_reference <> 'another';
        INSERT INTO counters SELECT merchant_id, environment, name, 'failed', key2, key3, key4, 1 FROM counters
            WHERE name = 'payments';
        UPDATE counters SET count = count - 1 WHERE name = 'payments' AND key1 = 'processing';";
    fixture.sql(earlier).await.expect("moved");
    let failed = PaymentFilter {
        status: Some(Status::Failed),
        created: Period { from: Some(made.terms().created_at), to: None },
        ..PaymentFilter::default()
    };
    let (_, total) = store.payments(tenant(1), &failed, Page::default()).await.expect("read");
    assert_eq!(total, 1);
    let of_status = PaymentFilter { created: Period::default(), ..failed };
    let (listed, _) = store.payments(tenant(1), &of_status, Page::default()).await.expect("read");
    assert_eq!(listed.iter().map(Payment::id).collect::<Vec<_>>(), [made.id()]);
    let found: Vec<_> = store.check().await.expect("checked").breaches;
    let is_kept =
        |breach: &Breach| matches!(breach.invariant, "counters_equal_rows" | "classes_equal_payments");
    assert!(!found.iter().any(is_kept), "{found:?}");
}

async fn classed_by_the_migration(fixture: Fixture) {
    let store = funded(&fixture, 1_000).await;
    let all = history(&fixture.any().await, &mut Numbers(11)).await;
    let down = "DROP TRIGGER payments_are_classed ON payments;
        DROP FUNCTION keep_payment_class;
        DROP TABLE payment_classes;";
    let up = include_str!("../../../../../migrations/postgres/2026-11-24-000015_class_rows/up.sql");
    fixture.sql(&format!("BEGIN; {down} {up} COMMIT")).await.expect("migrated again");
    let found = store.check().await.expect("checked").breaches;
    assert!(!found.iter().any(|breach| breach.invariant == "classes_equal_payments"), "{found:?}");
    for status in [Status::Processing, Status::Failed] {
        let filter = PaymentFilter { status: Some(status), ..PaymentFilter::default() };
        let (page, total) = store.payments(tenant(1), &filter, Page::default()).await.expect("read");
        let expected: Vec<_> = all.iter().filter(|payment| payment.status() == status).collect();
        assert_eq!(total, expected.len() as u64, "{status:?}");
        let newest = expected.iter().take(page.len()).map(|payment| payment.id());
        assert_eq!(page.iter().map(Payment::id).collect::<Vec<_>>(), newest.collect::<Vec<_>>());
    }
}
