//! The chains over entries and audit log: whole, in order, and made once.

use std::time::Duration;

use futures_util::future::join_all;
use quipu_commit::{Changes, Commit as _, WorkQueue as _};
use quipu_kernel::{Clock as _, Environment, MerchantId, Page, SystemClock, Timestamp};
use quipu_ledger::{Book, Chain, Chains as _, Head, LedgerReads as _, Sealed};
use quipu_merchants::Merchants as _;
use quipu_store::Store;

use crate::{
    directory::{audit, merchant},
    fixture::{Engine, Fixture, funded, on_both_databases, run},
    sample::{MXN, adjust, after, funding, tenant},
};

on_both_databases! {
    what_is_old_enough_is_sealed_once,
    a_long_history_is_read_in_pieces,
    no_chain_waits_behind_others_for_ever,
    one_node_seals_at_a_time,
    a_node_that_is_known_no_more_keeps_nobody_from_sealing,
    what_comes_later_stands_behind_what_is_sealed,
    what_was_sealed_is_told_from_what_is_there,
    seals_are_never_changed,
}

const ENTRIES: Chain =
    Chain { book: Book::Entries, merchant: Some(MerchantId(1)), environment: Some(Environment::Test) };

async fn heads(store: &Store) -> Vec<Head> {
    let (heads, total) = store.heads(None, Page::default()).await.expect("read");
    assert_eq!(heads.len() as u64, total);
    heads
}

async fn head_of_entries(store: &Store) -> Head {
    heads(store).await.into_iter().find(|head| head.chain == ENTRIES).expect("a chain of entries")
}

/// Seals everything that is made before `until`, and answers how many rows that were.
async fn seal_all(store: &Store, until: Timestamp) -> u64 {
    let mut rows = 0;
    loop {
        let sealed = store.extend_chains(until, Duration::ZERO).await.expect("sealed");
        rows += sealed.rows;
        if !sealed.more {
            return rows;
        }
    }
}

async fn what_is_old_enough_is_sealed_once(fixture: Fixture) {
    let store = funded(&fixture, 5).await;
    store.commit(funding(tenant(2), 5)).await.expect("funded");
    assert_eq!(seal_all(&store, after(0)).await, 0, "what was made at that instant is not older than it");
    assert_eq!(heads(&store).await, []);
    // Two entries and a line of the audit log for each merchant.
    assert_eq!(seal_all(&store, after(1)).await, 6);
    let first = heads(&store).await;
    assert_eq!(first.iter().map(|head| head.rows).collect::<Vec<_>>(), [2, 2, 1, 1]);
    assert_eq!(store.heads(Some(MerchantId(2)), Page::default()).await.expect("read").1, 2);
    assert_eq!(seal_all(&store, after(1)).await, 0);
    assert_eq!(heads(&store).await, first);
    assert!(store.check().await.expect("checked").is_clean());
}

/// A node whose clock is ahead would seal before others have made their rows, which would then count as slipped in.
#[test]
fn nothing_is_sealed_before_its_time_by_the_servers_clock() {
    run(Engine::Postgres, |fixture: Fixture| async move {
        let store = funded(&fixture, 5).await;
        let an_hour = SystemClock.now().plus(Duration::from_hours(1));
        let soon = an_hour.since(after(0)).as_millis().try_into().expect("a few months");
        store.commit(funding_at(soon)).await.expect("funded");
        assert_eq!(seal_all(&store, an_hour.plus(Duration::from_hours(1))).await, 3, "what is past");
        assert_eq!(head_of_entries(&store).await.rows, 2);
    });
}

async fn a_long_history_is_read_in_pieces(fixture: Fixture) {
    let store = funded(&fixture, 5).await;
    join_all((0..2_500).map(|_| store.commit(funding(tenant(1), 1)))).await;
    assert_eq!(seal_all(&store, after(1)).await, 3 * 2_501);
    assert_eq!(head_of_entries(&store).await.rows, 2 * 2_501);
    assert!(store.check().await.expect("checked").is_clean());
}

async fn no_chain_waits_behind_others_for_ever(fixture: Fixture) {
    const MERCHANTS: i64 = 600;
    let store = fixture.open().await;
    let fund_all = async |millis| {
        let funded = (1..=MERCHANTS).map(|merchant| store.commit(funding_of(merchant, millis)));
        join_all(funded).await.into_iter().for_each(|funded| drop(funded.expect("funded")));
    };
    fund_all(0).await;
    assert_eq!(seal_all(&store, after(1)).await, 3 * MERCHANTS.unsigned_abs(), "in several turns");
    // There is always more than one turn seals.
    for round in 1..=3 {
        fund_all(round).await;
        assert!(store.extend_chains(after(round + 1), Duration::ZERO).await.expect("sealed").more);
    }
    for merchant in 1..=MERCHANTS {
        let (heads, _) = store.heads(Some(MerchantId(merchant)), Page::default()).await.expect("read");
        assert!(
            heads.iter().all(|head| head.rows > 2 || head.chain.book == Book::AuditLog && head.rows > 1),
            "{heads:?}"
        );
    }
}

async fn one_node_seals_at_a_time(fixture: Fixture) {
    let (one, other) = (funded(&fixture, 5).await, fixture.open().await);
    one.beat().await.expect("beaten");
    assert_eq!(one.extend_chains(after(1), Duration::ZERO).await.expect("sealed").rows, 3);
    one.commit(funding_at(1)).await.expect("funded");
    let later = after(60_000);
    let sealed = other.extend_chains(later, Duration::ZERO).await.expect("asked");
    assert_eq!(sealed, Sealed::default(), "the first one does it");
    let much_later = after(600_000);
    let sealed = other.extend_chains(much_later, much_later.since(later)).await.expect("sealed");
    assert_eq!(sealed.rows, 3, "the first one has gone");
    assert!(one.check().await.expect("checked").is_clean());
    // Should two believe that it is theirs, each row is in its chain once all the same.
    one.commit(funding_at(60_000)).await.expect("funded");
    let last = after(1_200_000);
    let turns = [&one, &other, &one, &other].map(|store| async {
        store.extend_chains(last, last.since(much_later)).await.map_or(0, |sealed| sealed.rows)
    });
    assert_eq!(join_all(turns).await.into_iter().sum::<u64>(), 3);
    assert!(one.check().await.expect("checked").is_clean());
}

async fn a_node_that_is_known_no_more_keeps_nobody_from_sealing(fixture: Fixture) {
    let (one, other) = (funded(&fixture, 5).await, fixture.open().await);
    one.beat().await.expect("beaten");
    assert_eq!(one.extend_chains(after(1), Duration::ZERO).await.expect("sealed").rows, 3);
    one.commit(funding_at(1)).await.expect("funded");
    let sealed = other.extend_chains(after(2), Duration::ZERO).await.expect("asked");
    assert_eq!(sealed, Sealed::default(), "the first one beats");
    fixture.sql("DELETE FROM nodes").await.expect("deleted");
    assert_eq!(other.extend_chains(after(2), Duration::ZERO).await.expect("sealed").rows, 3);
    assert!(one.check().await.expect("checked").is_clean());
}

/// Money that comes so many milliseconds later.
fn funding_at(millis: i64) -> Changes {
    funding_of(1, millis)
}

fn funding_of(merchant: i64, millis: i64) -> Changes {
    let mut change = Changes::new(tenant(merchant), after(millis));
    adjust(&mut change, MXN, 5);
    change
}

async fn what_comes_later_stands_behind_what_is_sealed(fixture: Fixture) {
    let (store, other) = (funded(&fixture, 5).await, fixture.open().await);
    let tomorrow = after(86_400_000);
    store.beat().await.expect("beaten");
    assert_eq!(seal_all(&store, tomorrow).await, 3);
    // The other node has not sealed, but has asked whether it may.
    assert_eq!(other.extend_chains(tomorrow, Duration::ZERO).await.expect("asked"), Sealed::default());
    // The clocks are a day slow from now on.
    for node in [&store, &other] {
        node.commit(funding(tenant(1), 1)).await.expect("funded");
    }
    // Whoever opens the database later knows it too, and so does whoever writes beside the lanes.
    let third = fixture.open().await;
    third.commit(funding(tenant(1), 1)).await.expect("funded");
    third.add_merchant(merchant(2), Vec::new(), audit("merchant.create")).await.expect("added");
    assert_eq!(store.check().await.expect("checked").breaches, []);
    // Two entries and a line for each, and the line about the merchant.
    assert_eq!(seal_all(&store, tomorrow.plus(Duration::from_millis(1))).await, 10);
    assert_eq!(store.check().await.expect("checked").breaches, []);
    assert_eq!(head_of_entries(&store).await.rows, 8);
}

async fn what_was_sealed_is_told_from_what_is_there(fixture: Fixture) {
    let store = funded(&fixture, 5).await;
    store.commit(funding(tenant(1), 7)).await.expect("funded");
    seal_all(&store, after(1)).await;
    let head = head_of_entries(&store).await;
    assert_eq!(store.sealed(ENTRIES, head.rows).await.expect("read"), Some(head.hash));
    assert_eq!(store.sealed(ENTRIES, head.rows + 1).await.expect("read"), None);
    if fixture.is_server() {
        fixture.sql("ALTER TABLE entries DISABLE TRIGGER USER").await.expect("unguarded");
    } else {
        fixture.sql("DROP TRIGGER entries_are_never_updated").await.expect("unguarded");
    }
    fixture.sql("UPDATE entries SET created_at = created_at + 1 WHERE amount = 7").await.expect("tampered");
    let report = store.check().await.expect("checked");
    let breach = report.breaches.iter().find(|breach| breach.invariant == "entries_as_sealed");
    let breach = breach.expect("it is named");
    assert_eq!(breach.subject, "1/test");
    assert!(breach.detail.starts_with("rows 1 to 4 are not what was sealed"), "{}", breach.detail);
}

async fn seals_are_never_changed(fixture: Fixture) {
    let store = funded(&fixture, 5).await;
    seal_all(&store, after(1)).await;
    for statement in [
        "UPDATE seals SET hash = ''",
        "DELETE FROM seals",
        "INSERT INTO seals SELECT * FROM seals WHERE true ON CONFLICT (book, merchant_id, environment, rows)
            DO UPDATE SET hash = ''",
    ] {
        let refused = fixture.sql(statement).await.expect_err(statement);
        assert!(refused.to_string().contains("never changed"), "{statement}: {refused}");
    }
}
