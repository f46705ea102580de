//! Checks that entries and lines of the audit log are still those that were sealed.
//!
//! A chain is read once from its beginning, its rows and its seals in parallel, a part of each at a time. An
//! error between two seals is reported there, and the rows after it are checked by themselves.

use std::collections::{HashSet, VecDeque};

use diesel::{ExpressionMethods as _, QueryDsl as _};
use quipu_ledger::{Book, Breach, Chain, ChainHash, ChainedRow};

use super::LISTED;
use crate::{
    chain::{
        behind,
        rows::{self, environment_key, merchant_key},
    },
    connection::{Connection, first, load},
    error::Fault,
    rows::chain_place::Place,
    schema::{chains, sealing, seals},
};

/// The most rows, and the most seals, in memory.
const CHUNK: usize = 2_000;

/// A head that a chain had when it was sealed.
struct Seal {
    rows: i64,
    hash: String,
    upto: Place,
}

/// Reads the rows of a chain one after the other.
struct Walk {
    chain: Chain,
    read: VecDeque<(Place, ChainedRow)>,
    from: Place,
    is_over: bool,
}

impl Walk {
    /// The next row, if its place is not after `upto`.
    async fn next(&mut self, conn: &mut Connection, upto: &Place) -> Result<Option<ChainedRow>, Fault> {
        if self.read.is_empty() && !self.is_over {
            let end = Place { at: i64::MAX, id: "\u{10ffff}".to_owned() };
            self.read = rows::read(conn, self.chain, &self.from, &end, CHUNK).await?.into();
            match self.read.back() {
                Some((last, _)) => self.from = last.clone(),
                None => self.is_over = true,
            }
        }
        let is_here = self.read.front().is_some_and(|(place, _)| place <= upto);
        Ok(if is_here { self.read.pop_front().map(|(_, row)| row) } else { None })
    }
}

/// The breaches of all chains.
pub(super) async fn compared(conn: &mut Connection) -> Result<Vec<Breach>, Fault> {
    let mut breaches = Vec::new();
    for book in Book::ALL {
        let invariant = match book {
            Book::Entries => "entries_as_sealed",
            Book::AuditLog => "audit_log_as_sealed",
        };
        let mut of_book = Vec::new();
        for (chain, head) in chains_of(conn, book).await? {
            let found = verify(conn, chain, head).await?;
            let named = |detail| Breach { invariant, subject: chain.to_string(), detail };
            of_book.extend(found.into_iter().map(named));
        }
        breaches.extend(of_book.into_iter().take(LISTED));
    }
    breaches.extend(missed(conn).await?);
    Ok(breaches)
}

/// Chains of which everything is gone, including their seals.
async fn missed(conn: &mut Connection) -> Result<Option<Breach>, Fault> {
    let sealed = first!(conn, i64, sealing::table.select(sealing::sealed_rows))?.unwrap_or(0);
    let found: i64 = load!(conn, i64, chains::table.select(chains::rows))?.into_iter().sum();
    Ok((found < sealed).then(|| Breach {
        invariant: "entries_as_sealed",
        subject: "all chains".to_owned(),
        detail: format!("{sealed} rows were sealed, and the chains have {found}"),
    }))
}

/// Every chain that has a seal or a head, with its head.
async fn chains_of(conn: &mut Connection, book: Book) -> Result<Vec<(Chain, Option<(i64, String)>)>, Fault> {
    let heads = chains::table
        .filter(chains::book.eq(book.as_str()))
        .order((chains::merchant_id, chains::environment))
        .select((chains::merchant_id, chains::environment, chains::rows, chains::hash));
    let (mut all, mut known) = (Vec::new(), HashSet::new());
    for (merchant, environment, rows, hash) in load!(conn, (i64, String, i64, String), heads)? {
        known.insert((merchant, environment.clone()));
        all.push((behind::chain(book, merchant, &environment)?, Some((rows, hash))));
    }
    let sealed = seals::table
        .filter(seals::book.eq(book.as_str()))
        .select((seals::merchant_id, seals::environment))
        .distinct();
    for (merchant, environment) in load!(conn, (i64, String), sealed)? {
        let chain = behind::chain(book, merchant, &environment)?;
        if known.insert((merchant, environment)) {
            all.push((chain, None));
        }
    }
    Ok(all)
}

async fn verify(
    conn: &mut Connection,
    chain: Chain,
    head: Option<(i64, String)>,
) -> Result<Vec<String>, Fault> {
    let mut walk = Walk {
        chain,
        read: VecDeque::new(),
        from: Place { at: i64::MIN, id: String::new() },
        is_over: false,
    };
    let (mut wrong, mut last) = (Vec::new(), (0, ChainHash::BEGINNING.to_string()));
    loop {
        let stretch = seals_behind(conn, chain, last.0).await?;
        if stretch.is_empty() {
            break;
        }
        for seal in stretch {
            let (mut found, mut hash) = (0, last.1.parse::<ChainHash>().ok());
            while let Some(row) = walk.next(conn, &seal.upto).await? {
                (found, hash) = (found + 1, hash.map(|hash| hash.followed_by(&row)));
            }
            wrong.extend(judged(&last, &seal, found, hash));
            last = (seal.rows, seal.hash);
        }
    }
    if head.as_ref().is_none_or(|head| *head != last) {
        let told = head.map_or_else(|| "none".to_owned(), |(rows, _)| format!("one of {rows} rows"));
        wrong.push(format!(
            "the last seal is over {} rows, and the head is {told} or of another hash",
            last.0
        ));
    }
    Ok(wrong)
}

/// The breach between two seals, if there is one.
fn judged(last: &(i64, String), seal: &Seal, found: i64, hash: Option<ChainHash>) -> Option<String> {
    let (first, expected) = (last.0 + 1, seal.rows - last.0);
    let what = match found.cmp(&expected) {
        std::cmp::Ordering::Less => format!("{} were removed", expected - found),
        std::cmp::Ordering::Greater => format!("{} were slipped in", found - expected),
        std::cmp::Ordering::Equal if hash.is_none_or(|hash| hash.to_string() != seal.hash) => {
            "some were changed, or stand in another order".to_owned()
        }
        std::cmp::Ordering::Equal => return None,
    };
    Some(format!("rows {first} to {} are not what was sealed: {what}", seal.rows))
}

async fn seals_behind(conn: &mut Connection, chain: Chain, rows: i64) -> Result<Vec<Seal>, Fault> {
    let query = seals::table
        .filter(seals::book.eq(chain.book.as_str()))
        .filter(seals::merchant_id.eq(merchant_key(chain)))
        .filter(seals::environment.eq(environment_key(chain)))
        .filter(seals::rows.gt(rows))
        .order(seals::rows)
        .limit(i64::try_from(CHUNK).unwrap_or(i64::MAX))
        .select((seals::rows, seals::hash, seals::upto_at, seals::upto_id));
    let rows = load!(conn, (i64, String, i64, String), query)?;
    let seal = |(rows, hash, at, id)| Seal { rows, hash, upto: Place { at, id } };
    Ok(rows.into_iter().map(seal).collect())
}
