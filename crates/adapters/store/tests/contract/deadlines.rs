//! Whatever the server does, callers are answered in time, and nobody waits for what concerns somebody else.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use diesel_async::{AsyncConnection as _, AsyncPgConnection, SimpleAsyncConnection as _};
use futures_util::{FutureExt as _, future::join_all};
use quipu_commit::{CallWaits, Commit as _, CommitError, WorkQueue as _};
use quipu_kernel::{Page, StoreError};
use quipu_ledger::LedgerReads as _;
use quipu_payments::{Payment, PaymentFilter, PaymentReads as _};
use quipu_store::{Store, StoreSettings};
use tokio::time::timeout;

use crate::{
    every_call::{ANSWERED, ask_everything},
    fixture::{self, Engine, Fixture, until},
    proxy::{Action, Blow, Point, Proxy, Side},
    sample::{MXN, Sample, funding, payment_of, tenant},
};

macro_rules! on_a_server {
    ($($case:ident),+ $(,)?) => {
        mod on_postgres {
            $(#[test] fn $case() { crate::fixture::run(super::Engine::Postgres, super::$case); })+
        }
    };
}

on_a_server! {
    a_stopped_server_is_answered_for_in_time_and_used_again,
    the_steps_of_a_call_share_its_time,
    who_is_not_begun_in_time_is_told_that_nothing_happened,
    connections_that_lead_nowhere_are_replaced,
    a_server_that_is_gone_is_found_again,
    a_locked_balance_holds_up_its_merchant_alone,
    checks_hold_up_nobody_and_end_when_nobody_waits,
    the_session_of_a_lost_transaction_is_ended,
    the_session_of_an_unknown_outcome_is_ended_once_the_server_is_back,
    an_outcome_is_asked_for_on_one_connection,
    a_node_is_ready_only_if_all_that_commits_can,
    who_has_read_may_write_while_another_node_migrates,
    nobody_waits_behind_a_migration_that_waits_for_a_reader,
}

mod on_sqlite {
    #[test]
    fn checks_hold_up_no_reads() {
        crate::fixture::run(super::Engine::Sqlite, super::checks_hold_up_no_reads);
    }
}

/// How long the calls to a [`warm`] store may wait.
const CALL: Duration = Duration::from_secs(4);
/// Until when there must be a first success.
const BACK: Duration = Duration::from_secs(20);

async fn open(url: &str, call: Duration, lock: Duration) -> Store {
    let mut settings = StoreSettings::new(url);
    (settings.readers, settings.lanes) = (2, 1);
    (settings.call, settings.lock) = (call, lock);
    fixture::opened(settings).await
}

/// A store behind a proxy that has its connections, and the reads and writes that a caller may ask for.
async fn warm(fixture: &Fixture) -> (Proxy, Store) {
    warm_within(fixture, CALL).await
}

async fn warm_within(fixture: &Fixture, call: Duration) -> (Proxy, Store) {
    let proxy = Proxy::before(&fixture.url, &fixture::handle()).await;
    let store = open(&proxy.url, call, Duration::from_secs(1)).await;
    // On a busy machine the first ones may be too late.
    until(async || store.commit(funding(tenant(1), 1_000)).await.is_ok()).await;
    until(async || store.balance(tenant(1), MXN).await.is_ok()).await;
    (proxy, store)
}

async fn works_again(store: &Store) {
    let works = async {
        let pause = || tokio::time::sleep(Duration::from_millis(20));
        while store.commit(Sample::deposit(tenant(1), 10).create()).await.is_err() {
            pause().await;
        }
        while store.balance(tenant(1), MXN).await.is_err() {
            pause().await;
        }
    };
    timeout(BACK, works).await.expect("there is a first success in time");
    assert!(store.check().await.expect("checked").is_clean());
}

async fn a_stopped_server_is_answered_for_in_time_and_used_again(fixture: Fixture) {
    let (proxy, store) = warm(&fixture).await;
    let mut possible = HashSet::new();
    until(async || {
        let (done, failed) = ask_everything(&store).await;
        possible.extend(done);
        // On a busy machine some may be too late, though not always the same.
        failed.iter().all(|name| possible.contains(name))
    })
    .await;
    proxy.freeze(true);
    let (done, _) = ask_everything(&store).await;
    assert!(done.is_empty(), "{done:?}");
    let late = Sample::deposit(tenant(1), 10).create();
    let id = payment_of(&late).id().clone();
    let told = timeout(ANSWERED, store.commit(late)).await.expect("answered in time");
    assert!(matches!(told, Err(CommitError::Store(StoreError::Unavailable(_)))), "{told:?}");
    proxy.freeze(false);
    works_again(&store).await;
    assert_eq!(store.payment(tenant(1), &id).await.expect("read"), None);
}

async fn the_steps_of_a_call_share_its_time(fixture: Fixture) {
    let (proxy, store) = warm(&fixture).await;
    let stranger = Sample::withdrawal(tenant(1), 10).payment();
    let waits = Arc::<CallWaits>::default();
    proxy.freeze(true);
    while waits.until(Instant::now()) < CALL {
        let first = waits.clone().around(async { store.balances(tenant(1)).await.is_ok() });
        assert!(!timeout(ANSWERED, first).await.expect("answered in time"));
    }
    proxy.freeze(false);
    works_again(&store).await;
    let every_step = async {
        [
            store.balances(tenant(1)).await.is_ok(),
            store.payment(tenant(1), stranger.id()).await.is_ok(),
            store.payments(tenant(1), &PaymentFilter::default(), Page::default()).await.is_ok(),
            store.commit(Sample::deposit(tenant(1), 10).create()).await.is_ok(),
        ]
    };
    assert_eq!(waits.around(every_step).await, [false; 4], "the first steps have used up the call's time");
    store.balances(tenant(1)).await.expect("another call has time of its own");
}

/// More merchants are locked than there are connections for them.
async fn who_is_not_begun_in_time_is_told_that_nothing_happened(fixture: Fixture) {
    let store = open(&fixture.url, Duration::from_secs(4), Duration::from_secs(1)).await;
    for merchant in 1..=16 {
        until(async || store.commit(funding(tenant(merchant), 1_000)).await.is_ok()).await;
    }
    let mut locking = session(&fixture, "BEGIN; SELECT 1 FROM balances FOR UPDATE").await;
    let withdrawals = (0..64).map(|number| {
        let change = Sample::withdrawal(tenant(number % 16 + 1), 10).create();
        let id = payment_of(&change).id().clone();
        async { (id, store.commit(change).await) }
    });
    for (id, told) in join_all(withdrawals).await {
        assert!(matches!(told, Err(CommitError::Store(StoreError::Unavailable(_)))), "{id}: {told:?}");
    }
    locking.batch_execute("ROLLBACK").await.expect("unlocked");
    store.commit(Sample::withdrawal(tenant(1), 10).create()).await.expect("free again");
    assert!(store.check().await.expect("checked").is_clean());
}

async fn connections_that_lead_nowhere_are_replaced(fixture: Fixture) {
    let (proxy, store) = warm(&fixture).await;
    proxy.forget();
    works_again(&store).await;
}

async fn a_server_that_is_gone_is_found_again(fixture: Fixture) {
    let (proxy, store) = warm(&fixture).await;
    proxy.vanish(true);
    proxy.forget();
    let (done, _) = ask_everything(&store).await;
    assert!(done.is_empty(), "{done:?}");
    proxy.vanish(false);
    works_again(&store).await;
}

async fn session(fixture: &Fixture, statements: &str) -> AsyncPgConnection {
    let mut session = AsyncPgConnection::establish(&fixture.url).await.expect("a session");
    session.batch_execute(statements).await.expect("executed");
    session
}

async fn a_locked_balance_holds_up_its_merchant_alone(fixture: Fixture) {
    let store = open(&fixture.url, Duration::from_mins(1), Duration::from_secs(10)).await;
    for merchant in 1..=8 {
        store.commit(funding(tenant(merchant), 1_000)).await.expect("funded");
    }
    let lock = "BEGIN; SELECT 1 FROM balances WHERE merchant_id = 1 FOR UPDATE";
    let mut locking = session(&fixture, lock).await;
    let mut locked: Vec<_> =
        (0..3).map(|_| store.commit(Sample::withdrawal(tenant(1), 10).create()).boxed()).collect();
    for round in 0..20 {
        let others = (2..=8).map(|merchant| store.commit(Sample::withdrawal(tenant(merchant), 10).create()));
        let (mine, others) = (join_all(&mut locked).now_or_never(), join_all(others).await);
        assert!(mine.is_none(), "the locked ones are answered while they wait, in round {round}");
        for outcome in others {
            outcome.expect("nobody else waits");
        }
    }
    locking.batch_execute("ROLLBACK").await.expect("unlocked");
    for outcome in join_all(locked).await {
        outcome.expect("the lock was waited for");
    }
    // With a lock that outlasts its patience the merchant is told that nothing happened.
    let brief = open(&fixture.url, Duration::from_secs(10), Duration::from_millis(200)).await;
    let mut locking = session(&fixture, lock).await;
    let told = brief.commit(Sample::withdrawal(tenant(1), 10).create()).await;
    assert!(matches!(told, Err(CommitError::Store(StoreError::Unavailable(_)))), "{told:?}");
    locking.batch_execute("ROLLBACK").await.expect("unlocked");
    brief.commit(Sample::withdrawal(tenant(1), 10).create()).await.expect("free again");
    assert_eq!(brief.balance(tenant(1), MXN).await.expect("read").frozen.get(), 40);
    assert!(brief.check().await.expect("checked").is_clean());
}

async fn checks_hold_up_nobody_and_end_when_nobody_waits(fixture: Fixture) {
    let store = open(&fixture.url, Duration::from_secs(30), Duration::from_mins(1)).await;
    let made = store.commit(Sample::deposit(tenant(1), 10).create()).await.expect("committed");
    let payment = made.into_saved::<Payment>().expect("a payment");
    let mut locking = session(&fixture, "BEGIN; LOCK TABLE entries IN ACCESS EXCLUSIVE MODE").await;
    let mut checks: Vec<_> = (0..4).map(|_| store.check().boxed()).collect();
    assert!(join_all(&mut checks).now_or_never().is_none());
    let waiting =
        "DO $$ BEGIN ASSERT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event_type = 'Lock') = 1; END $$";
    until(async || fixture.sql(waiting).await.is_ok()).await;
    for _ in 0..20 {
        store.ping().await.expect("ready");
        store.payment(tenant(1), payment.id()).await.expect("read").expect("a payment");
        store.balance(tenant(1), MXN).await.expect("read");
        store.payments(tenant(1), &PaymentFilter::default(), Page::default()).await.expect("listed");
    }
    drop(checks);
    let nobody = waiting.replace("= 1", "= 0");
    until(async || fixture.sql(&nobody).await.is_ok()).await;
    locking.batch_execute("ROLLBACK").await.expect("unlocked");
    assert!(store.check().await.expect("checked").is_clean());
}

/// Every look at the books takes long, and each check looks at them several times.
async fn checks_hold_up_no_reads(fixture: Fixture) {
    let slow = "ALTER TABLE entries RENAME TO kept_entries;
        CREATE VIEW entries AS SELECT * FROM kept_entries WHERE (WITH RECURSIVE numbers (number) AS
            (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 4000000)
            SELECT COUNT(*) FROM numbers) > 0";
    let store = fixture.open().await;
    // Without an entry there would be nothing to evaluate the condition for.
    store.commit(funding(tenant(1), 1_000)).await.expect("funded");
    fixture.sql(slow).await.expect("executed");
    let payment = Sample::deposit(tenant(1), 10).payment();
    let reads = async || {
        store.ping().await.expect("ready");
        store.payment(tenant(1), payment.id()).await.expect("read");
        store.balance(tenant(1), MXN).await.expect("read");
        store.payments(tenant(1), &PaymentFilter::default(), Page::default()).await.expect("listed");
    };
    reads().await;
    let mut checks: Vec<_> = (0..4).map(|_| store.check().boxed()).collect();
    assert!(join_all(&mut checks).now_or_never().is_none());
    reads().await;
    assert!(join_all(&mut checks).now_or_never().is_none(), "the checks came first");
}

/// What a lost connection began must not lock the merchant's rows until the server notices.
async fn the_session_of_a_lost_transaction_is_ended(fixture: Fixture) {
    let (proxy, store) = warm_within(&fixture, 2 * CALL).await;
    let (side, at, action) = (Side::Client, Point::Commit, Action::Swallow);
    proxy.arm(Some(Blow { side, at, arrives: false, action, gone_for: Duration::ZERO }));
    store
        .commit(Sample::withdrawal(tenant(1), 10).create())
        .await
        .expect("tried again on another connection");
    let open = "DO $$ BEGIN ASSERT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND pid <> pg_backend_pid() AND (state LIKE 'idle in transaction%' OR backend_xid IS NOT NULL)) = 0; END $$";
    until(async || fixture.sql(open).await.is_ok()).await;
    assert_eq!(store.balance(tenant(1), MXN).await.expect("read").frozen.get(), 10);
}

/// A session that waits for the rest of a `COMMIT` is not idle, so that no time of the server's ends it.
async fn the_session_of_an_unknown_outcome_is_ended_once_the_server_is_back(fixture: Fixture) {
    let (proxy, store) = warm(&fixture).await;
    let (side, at, action) = (Side::Client, Point::Commit, Action::Swallow);
    proxy.arm(Some(Blow { side, at, arrives: false, action, gone_for: Duration::from_secs(8) }));
    let outcome = store.commit(Sample::withdrawal(tenant(1), 10).create()).await;
    let is_unknown = matches!(outcome, Err(CommitError::Store(StoreError::OutcomeUnknown(_))));
    assert!(is_unknown, "{outcome:?}");
    let again = async || store.commit(Sample::withdrawal(tenant(1), 10).create()).await.is_ok();
    timeout(ANSWERED, until(again)).await.expect("the balance is free again");
    assert_eq!(store.balance(tenant(1), MXN).await.expect("read").frozen.get(), 10);
}

/// However often it is asked for, and whether or not it is learnt in time.
async fn an_outcome_is_asked_for_on_one_connection(fixture: Fixture) {
    let never_ends = "CREATE FUNCTION public.pg_xact_status (xid8) RETURNS TEXT LANGUAGE SQL
            AS $$ SELECT 'in progress' $$;
        DO $$ BEGIN
            EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database());
        END $$";
    fixture.sql(never_ends).await.expect("put before the server's own");
    let (proxy, store) = warm(&fixture).await;
    for _ in 0..3 {
        let (side, at, action) = (Side::Server, Point::Commit, Action::Cut);
        proxy.arm(Some(Blow { side, at, arrives: false, action, gone_for: Duration::ZERO }));
        let outcome = store.commit(Sample::withdrawal(tenant(1), 10).create()).await;
        let is_unknown = matches!(outcome, Err(CommitError::Store(StoreError::OutcomeUnknown(_))));
        assert!(is_unknown, "{outcome:?}");
        let few = "DO $$ BEGIN ASSERT (SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()) <= 10; END $$";
        fixture.sql(few).await.expect("few sessions");
    }
}

/// Though there are connections to read by, and one to commit by.
async fn a_node_is_ready_only_if_all_that_commits_can(fixture: Fixture) {
    let proxy = Proxy::before(&fixture.url, &fixture::handle()).await;
    let store =
        Store::open(StoreSettings::new(&proxy.url), fixture::handle()).await.expect("the store opens");
    store.beat().await.expect("beaten");
    store.commit(Sample::deposit(tenant(1), 10).create()).await.expect("committed");
    proxy.vanish(true);
    store.commit(Sample::deposit(tenant(1), 10).create()).await.expect("this lane is connected");
    let others = (2..=40).map(|merchant| store.commit(Sample::deposit(tenant(merchant), 10).create()));
    assert!(join_all(others).await.iter().any(Result::is_err), "the other lanes are not");
    let problem = store.probe().await.expect_err("not ready");
    assert_eq!(problem, "it answers, but what commits changes cannot connect to it");
    proxy.vanish(false);
    let probes = (0..4).map(|_| store.probe());
    for ready in join_all(probes).await {
        ready.expect("ready again");
    }
    // What was written for it is seen by nobody.
    let one = "DO $$ BEGIN ASSERT (SELECT COUNT(*) FROM nodes) = 1; END $$";
    fixture.sql(one).await.expect("one node");
}

/// Takes back the migration that changes endpoints of webhooks.
const OF_ENDPOINTS: &str = "DELETE FROM __diesel_schema_migrations WHERE version = '20261127000017';
    DROP INDEX webhook_endpoints_by_creation;
    DROP INDEX beneficiaries_by_id;
    DROP INDEX bank_exports_by_id;
    CREATE INDEX webhook_endpoints_of_tenant ON webhook_endpoints (merchant_id);
    CREATE INDEX webhook_endpoints_removed ON webhook_endpoints (removed_at)";

async fn who_has_read_may_write_while_another_node_migrates(fixture: Fixture) {
    let of_payments = "DELETE FROM __diesel_schema_migrations
            WHERE version IN ('20261122000012', '20261123000013', '20261124000015', '20261124000016');
        DROP TRIGGER payments_are_classed ON payments;
        DROP FUNCTION keep_payment_class;
        DROP TABLE payment_classes;
        CREATE INDEX payments_by_status ON payments (merchant_id, environment, status, id)";
    let applied = migrated_around_a_reader(&fixture, of_payments, "payments", "fee").await;
    assert_eq!(applied, ["20261122000012", "20261123000013", "20261124000015", "20261124000016"]);
    let applied = migrated_around_a_reader(&fixture, OF_ENDPOINTS, "webhook_endpoints", "url").await;
    assert_eq!(applied, ["20261127000017"]);
}

async fn nobody_waits_behind_a_migration_that_waits_for_a_reader(fixture: Fixture) {
    let store = fixture.open().await;
    fixture.sql(OF_ENDPOINTS).await.expect("taken back");
    let mut reader = AsyncPgConnection::establish(&fixture.url).await.expect("the database answers");
    reader.batch_execute("BEGIN; SELECT FROM webhook_endpoints LIMIT 1").await.expect("read");
    let migrating = fixture::handle().spawn(async move { store.migrate().await });
    until(async || fixture.sql(&one_waits("webhook_endpoints")).await.is_ok()).await;
    for _ in 0..3 {
        let read = "SET statement_timeout = '10s'; SELECT COUNT(*) FROM webhook_endpoints";
        fixture.sql(read).await.expect("it goes on while the reader reads");
    }
    reader.batch_execute("COMMIT").await.expect("it ends");
    let applied = migrating.await.expect("no panic").expect("migrated");
    assert_eq!(applied, ["20261127000017"]);
}

/// A division by zero as long as nobody waits for a lock of this table.
fn one_waits(table: &str) -> String {
    format!(
        "SELECT 1 / COUNT(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
            WHERE NOT granted AND relation = '{table}'::regclass AND datname = current_database()"
    )
}

/// Takes migrations back and applies them again, while a node reads a table and then writes a column of it.
async fn migrated_around_a_reader(
    fixture: &Fixture,
    as_before: &str,
    table: &str,
    column: &str,
) -> Vec<String> {
    let store = fixture.open().await;
    fixture.sql(as_before).await.expect("taken back");
    let mut node = AsyncPgConnection::establish(&fixture.url).await.expect("the database answers");
    node.batch_execute(&format!("BEGIN; SELECT FROM {table} LIMIT 1")).await.expect("read");
    let migrating = fixture::handle().spawn(async move { store.migrate().await });
    until(async || fixture.sql(&one_waits(table)).await.is_ok()).await;
    node.batch_execute(&format!("UPDATE {table} SET {column} = {column}; COMMIT")).await.expect("written");
    migrating.await.expect("no panic").expect("migrated")
}
