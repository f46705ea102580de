//! The chains of hashes over entries and audit log: rows are read and hashed on a connection of their own, after their
//! commits.
//!
//! A [`Place`] in a chain is old enough to be sealed when nothing can be committed before it any more. [`behind`]
//! finds chains with such rows, [`rows`] reads them, and small commits write their seals. The node that
//! holds the lease does this. Should two nodes do it at once, the second finds the chain longer than it was
//! and writes nothing.

pub(crate) mod behind;
pub(crate) mod rows;
pub(crate) mod sealed_until;

use std::{sync::atomic::Ordering, time::Duration};

use async_trait::async_trait;
use diesel::{BoolExpressionMethods as _, ExpressionMethods as _, QueryDsl as _, sql_types::Bool};
use quipu_kernel::{MerchantId, Page, StoreError, Timestamp};
use quipu_ledger::{Book, Chain, ChainHash, Chains, Head, Sealed};

use self::{
    behind::Behind,
    rows::{environment_key, merchant_key},
    sealed_until::sealed_until,
};
use crate::{
    common_time::common_time,
    connection::{Connection, execute, first, load},
    error::Fault,
    query::Reading,
    rows::{
        chain_place::Place,
        stored::{bigint, natural, parsed},
    },
    schema::{chains, sealing, seals},
    store::Store,
};

/// How many rows are read at once.
const CHUNK: usize = 2_000;
/// How many rows one turn seals, more or less.
const TURN: usize = 20_000;
/// The most chains whose seals are written in one commit, which has a time limit on a server and keeps others waiting in
/// a file.
const COMMIT: usize = 50;
/// For how long a node that seals keeps others from it, in milliseconds.
const LEASE: i64 = 180_000;

/// A chain that has grown.
#[derive(Clone)]
struct Grown {
    before: Behind,
    rows: i64,
    hash: ChainHash,
    upto: Place,
}

#[async_trait]
impl Chains for Store {
    async fn extend_chains(&self, now: Timestamp, age: Duration) -> Result<Sealed, StoreError> {
        let engine = &self.inner.engine;
        let node = self.inner.hub.node().to_owned();
        let taken: Result<_, Fault> = engine
            .write(move |conn: &mut Connection| {
                Box::pin(async move {
                    let until = common_time(conn, now).await?.minus(age);
                    let (is_ours, sealed_until) = take(conn, &node, now.millis(), until.millis()).await?;
                    Ok((is_ours, sealed_until, until))
                })
            })
            .await;
        let (is_ours, sealed_until, until) = taken?;
        // Rows that this node makes from now on must have places behind the sealed ones.
        self.inner.sealed_until.fetch_max(sealed_until, Ordering::Relaxed);
        if !is_ours {
            return Ok(Sealed::default());
        }
        let found: Result<_, Fault> = engine
            .read_as(Reading::Seals, move |conn: &mut Connection| {
                Box::pin(async move { grow(conn, until).await })
            })
            .await;
        let (mut grown, more) = found?;
        let rows = grown.iter().map(|chain| (chain.rows - chain.before.rows).unsigned_abs()).sum();
        while !grown.is_empty() {
            let some: Vec<_> = grown.drain(..grown.len().min(COMMIT)).collect();
            let written: Result<_, Fault> = engine
                .write(move |conn: &mut Connection| {
                    Box::pin(async move { put(conn, &some, now.millis()).await })
                })
                .await;
            written?;
        }
        Ok(Sealed { rows, more })
    }

    async fn heads(&self, merchant: Option<MerchantId>, page: Page) -> Result<(Vec<Head>, u64), StoreError> {
        let found: Result<_, Fault> = self
            .inner
            .engine
            .read_as(Reading::Page, move |conn: &mut Connection| {
                Box::pin(async move { heads(conn, merchant, page).await })
            })
            .await;
        Ok(found?)
    }

    async fn sealed(&self, chain: Chain, rows: u64) -> Result<Option<ChainHash>, StoreError> {
        let rows = bigint(rows);
        let found: Result<_, Fault> = self
            .inner
            .engine
            .read(move |conn: &mut Connection| {
                Box::pin(async move {
                    let key = (chain.book.as_str(), merchant_key(chain), environment_key(chain), rows);
                    let hash = first!(conn, String, seals::table.find(key).select(seals::hash))?;
                    hash.map(|hash| parsed("the hash of a chain", &hash)).transpose()
                })
            })
            .await;
        Ok(found?)
    }
}

impl Store {
    /// Learns the time up to which the chains are sealed already.
    pub(crate) async fn learn_what_is_sealed(&self) {
        let found: Result<i64, Fault> =
            self.inner.engine.read(|conn: &mut Connection| Box::pin(sealed_until(conn))).await;
        match found {
            Ok(until) => {
                self.inner.sealed_until.fetch_max(until, Ordering::Relaxed);
            }
            // Before the first migration there is nothing to know.
            Err(fault) => tracing::debug!(%fault, "the time up to which the chains are sealed is not known"),
        }
    }
}

/// Takes the lease, unless another living node holds it. Answers whether this node holds it now, and the time
/// up to which any node has sealed.
async fn take(conn: &mut Connection, node: &str, now: i64, until: i64) -> Result<(bool, i64), Fault> {
    let former = sealed_until(conn).await?;
    let sealed_until = former.max(until);
    let is_unknown = diesel::dsl::sql::<Bool>("node NOT IN (SELECT node FROM nodes)");
    let free = sealing::node.eq(node).or(sealing::lease_until.lt(now)).or(is_unknown);
    let free = sealing::table.filter(free);
    let lease = (
        sealing::node.eq(node),
        sealing::lease_until.eq(now + LEASE),
        sealing::sealed_until.eq(sealed_until),
    );
    let taken = execute!(conn, diesel::update(free).set(lease))?;
    Ok(if taken == 1 { (true, sealed_until) } else { (false, former) })
}

/// Reads the rows to be sealed and hashes them; answers whether there may be more of them.
async fn grow(conn: &mut Connection, until: Timestamp) -> Result<(Vec<Grown>, bool), Fault> {
    let (mut grown, mut budget, mut are_others) = (Vec::new(), TURN, false);
    for book in Book::ALL {
        let to = Place::of_time(book, until);
        let found = behind::behind(conn, book, until).await?;
        are_others |= found.len() >= behind::AT_ONCE;
        for before in found {
            let (mut rows, mut hash, mut upto) = (before.rows, before.hash, before.upto.clone());
            while budget > 0 {
                let chunk = rows::read(conn, before.chain, &upto, &to, CHUNK).await?;
                budget = budget.saturating_sub(chunk.len() + 1);
                let is_last = chunk.len() < CHUNK / 2;
                for (place, row) in chunk {
                    (rows, hash, upto) = (rows + 1, hash.followed_by(&row), place);
                }
                if is_last {
                    break;
                }
            }
            if rows > before.rows {
                grown.push(Grown { before, rows, hash, upto });
            }
        }
    }
    let more = budget == 0 || are_others && !grown.is_empty();
    Ok((grown, more))
}

/// Writes the new heads, each only if the chain is still as long as it was when it was read.
async fn put(conn: &mut Connection, grown: &[Grown], now: i64) -> Result<(), Fault> {
    for Grown { before, rows, hash, upto } in grown {
        let (book, merchant) = (before.chain.book.as_str(), merchant_key(before.chain));
        let environment = environment_key(before.chain);
        macro_rules! row {
            ($table:ident) => {
                diesel::insert_into($table::table).values((
                    $table::book.eq(book),
                    $table::merchant_id.eq(merchant),
                    $table::environment.eq(environment),
                    $table::rows.eq(rows),
                    $table::hash.eq(hash.to_string()),
                    $table::upto_at.eq(upto.at),
                    $table::upto_id.eq(&upto.id),
                    $table::sealed_at.eq(now),
                ))
            };
        }
        let moved = if before.rows == 0 {
            execute!(conn, row!(chains))?
        } else {
            let head = chains::table.find((book, merchant, environment)).filter(chains::rows.eq(before.rows));
            let moved = (
                chains::rows.eq(rows),
                chains::hash.eq(hash.to_string()),
                chains::upto_at.eq(upto.at),
                chains::upto_id.eq(&upto.id),
                chains::sealed_at.eq(now),
            );
            execute!(conn, diesel::update(head).set(moved))?
        };
        if moved != 1 {
            return Err(Fault::Overtaken);
        }
        execute!(conn, row!(seals))?;
    }
    if grown.is_empty() {
        return Ok(());
    }
    let more: i64 = grown.iter().map(|grown| grown.rows - grown.before.rows).sum();
    let counted = diesel::update(sealing::table).set(sealing::sealed_rows.eq(sealing::sealed_rows + more));
    execute!(conn, counted)?;
    Ok(())
}

type HeadRow = (String, i64, String, i64, String, i64);

async fn heads(
    conn: &mut Connection,
    merchant: Option<MerchantId>,
    page: Page,
) -> Result<(Vec<Head>, u64), Fault> {
    macro_rules! narrowed {
        ($query:expr) => {
            match merchant {
                Some(merchant) => $query.filter(chains::merchant_id.eq(merchant.0)),
                None => $query,
            }
        };
    }
    conn.begin_snapshot().await?;
    let total = first!(conn, i64, narrowed!(chains::table.count().into_boxed()))?.unwrap_or(0);
    let rows = load!(
        conn,
        HeadRow,
        narrowed!(chains::table.into_boxed())
            .order((chains::book.desc(), chains::merchant_id, chains::environment))
            .limit(page.limit().into())
            .offset(bigint(page.offset()))
            .select((
                chains::book,
                chains::merchant_id,
                chains::environment,
                chains::rows,
                chains::hash,
                chains::sealed_at,
            ))
    )?;
    conn.commit().await?;
    let heads = rows.into_iter().map(|(book, merchant, environment, rows, hash, sealed_at)| {
        Ok(Head {
            chain: behind::chain(parsed("a book", &book)?, merchant, &environment)?,
            rows: rows.unsigned_abs(),
            hash: parsed("the hash of a chain", &hash)?,
            sealed_at: Timestamp::from_millis(sealed_at),
        })
    });
    Ok((heads.collect::<Result<_, Fault>>()?, natural(total)?))
}
