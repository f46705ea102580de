//! Checks that entries and lines of the audit log are still those that were sealed.
//!
//! A chain is read once from its beginning, its rows and its seals in parallel, a part of each at a time. An
//! error between two seals is reported there, and the rows after it are checked by themselves. The sealer goes on
//! behind the place in the head, so a place that is not that of the last sealed row would keep it from ever sealing
//! again, and so would a time far ahead in the table `sealing`.

use std::collections::{HashSet, VecDeque};

use diesel::{ExpressionMethods as _, QueryDsl as _, sql_query};
use quipu_ledger::{Book, Breach, Chain, ChainHash, ChainedRow};

use super::{CountRow, LISTED, dialect, unreadable};
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

/// A day in milliseconds: more than any clock that sealed can have been ahead.
const DAY: i64 = 86_400_000;

/// A head that a chain had when it was sealed.
#[derive(Clone, PartialEq, Eq)]
struct Seal {
    rows: i64,
    hash: String,
    upto: Place,
}

/// The columns of a seal or a head.
type SealRow = (i64, String, i64, String);

impl Seal {
    /// The head of a chain before its first row.
    fn beginning() -> Self {
        Self { rows: 0, hash: ChainHash::BEGINNING.to_string(), upto: Place::default() }
    }

    fn read((rows, hash, at, id): SealRow) -> Self {
        Self { rows, hash, upto: Place { at, id } }
    }
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
    async fn next(
        &mut self,
        conn: &mut Connection,
        upto: &Place,
    ) -> Result<Option<(Place, ChainedRow)>, Fault> {
        if self.read.is_empty() && !self.is_over {
            let end = Place { at: i64::MAX, id: "\u{10ffff}".to_owned() };
            self.read = rows::read(conn, self.chain, &self.from, &end, CHUNK).await?.into();
            match self.read.back() {
                Some((last, _)) => self.from = last.clone(),
                None => self.is_over = true,
            }
        }
        let is_here = self.read.front().is_some_and(|(place, _)| place <= upto);
        Ok(if is_here { self.read.pop_front() } else { None })
    }
}

/// Adds the breaches of all chains.
pub(super) async fn compare(conn: &mut Connection, breaches: &mut Vec<Breach>) -> Result<(), Fault> {
    for book in Book::ALL {
        let invariant = match book {
            Book::Entries => "entries_as_sealed",
            Book::AuditLog => "audit_log_as_sealed",
        };
        match of_book(conn, book, invariant).await {
            Ok(found) => breaches.extend(found.into_iter().take(LISTED)),
            Err(fault) => breaches.push(unreadable(invariant, fault)?),
        }
    }
    breaches.extend(of_sealing(conn).await?);
    Ok(())
}

async fn of_book(conn: &mut Connection, book: Book, invariant: &'static str) -> Result<Vec<Breach>, Fault> {
    let mut breaches = Vec::new();
    for (chain, head) in chains_of(conn, book).await? {
        let found = verify(conn, chain, head).await?;
        let named = |detail| Breach { invariant, subject: chain.to_string(), detail };
        breaches.extend(found.into_iter().map(named));
    }
    Ok(breaches)
}

/// What is wrong with the table `sealing`: chains of which everything is gone, including their seals, or a sealer
/// that never goes on.
async fn of_sealing(conn: &mut Connection) -> Result<Vec<Breach>, Fault> {
    let row = sealing::table.select((sealing::sealed_rows, sealing::sealed_until, sealing::lease_until));
    let found = load!(conn, i64, chains::table.select(chains::rows))?;
    let found = found.into_iter().fold(0, i64::saturating_add);
    let mut wrong = Vec::new();
    match first!(conn, (i64, i64, i64), row)? {
        None => {
            wrong.push("the row of the table `sealing` is gone, so nothing is sealed any more".to_owned());
        }
        Some((rows, until, lease)) => {
            if found < rows {
                wrong.push(format!("{rows} rows were sealed, and the chains have {found}"));
            }
            let soon = now(conn).await? + DAY;
            if until > soon || lease > soon {
                wrong.push(format!("nothing is sealed before {} in Unix milliseconds", until.max(lease)));
            }
        }
    }
    let named = |detail| Breach { invariant: "entries_as_sealed", subject: "all chains".to_owned(), detail };
    Ok(wrong.into_iter().map(named).collect())
}

/// The time of the database, in milliseconds since 1970.
async fn now(conn: &mut Connection) -> Result<i64, Fault> {
    let statement = dialect(conn, "SELECT NOW() AS count");
    Ok(first!(conn, CountRow, sql_query(statement))?.map_or(0, |row| row.count))
}

/// Every chain that has a seal or a head, with its head.
async fn chains_of(conn: &mut Connection, book: Book) -> Result<Vec<(Chain, Option<Seal>)>, Fault> {
    let heads = chains::table
        .filter(chains::book.eq(book.as_str()))
        .order((chains::merchant_id, chains::environment))
        .select((
            (chains::merchant_id, chains::environment),
            (chains::rows, chains::hash, chains::upto_at, chains::upto_id),
        ));
    let (mut all, mut known) = (Vec::new(), HashSet::new());
    for ((merchant, environment), head) in load!(conn, ((i64, String), SealRow), heads)? {
        all.push((behind::chain(book, merchant, &environment)?, Some(Seal::read(head))));
        known.insert((merchant, environment));
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

async fn verify(conn: &mut Connection, chain: Chain, head: Option<Seal>) -> Result<Vec<String>, Fault> {
    let mut walk = Walk {
        chain,
        read: VecDeque::new(),
        from: Place { at: i64::MIN, id: String::new() },
        is_over: false,
    };
    let (mut wrong, mut last) = (Vec::new(), Seal::beginning());
    loop {
        let stretch = seals_behind(conn, chain, last.rows).await?;
        if stretch.is_empty() {
            break;
        }
        for seal in stretch {
            let mut found = Found { rows: 0, hash: last.hash.parse().ok(), upto: last.upto.clone() };
            while let Some((place, row)) = walk.next(conn, &seal.upto).await? {
                found.rows += 1;
                found.hash = found.hash.map(|hash| hash.followed_by(&row));
                found.upto = place;
            }
            wrong.extend(judged(&last, &seal, &found));
            last = seal;
        }
    }
    if head.as_ref().is_none_or(|head| *head != last) {
        let told = head.map_or_else(|| "none".to_owned(), |head| format!("one of {} rows", head.rows));
        wrong.push(format!(
            "the last seal is over {} rows, and the head is {told} or of another hash or place",
            last.rows
        ));
    }
    Ok(wrong)
}

/// The rows between two seals: how many, the hash behind them, and the place of the last.
struct Found {
    rows: i64,
    hash: Option<ChainHash>,
    upto: Place,
}

/// The breach between two seals, if there is one.
fn judged(last: &Seal, seal: &Seal, found: &Found) -> Option<String> {
    let (first, expected) = (last.rows + 1, seal.rows - last.rows);
    let what = match found.rows.cmp(&expected) {
        std::cmp::Ordering::Less => format!("{} were removed", expected - found.rows),
        std::cmp::Ordering::Greater => format!("{} were slipped in", found.rows - expected),
        std::cmp::Ordering::Equal if found.hash.is_none_or(|hash| hash.to_string() != seal.hash) => {
            "some were changed, or stand in another order".to_owned()
        }
        std::cmp::Ordering::Equal if found.upto != seal.upto => "the last has another place".to_owned(),
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
    Ok(load!(conn, SealRow, query)?.into_iter().map(Seal::read).collect())
}
