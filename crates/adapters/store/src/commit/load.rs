//! Loads the state that a batch depends on.
//!
//! SQLite is asked by one cached statement for each key, which takes a few microseconds and no round trip.
//! PostgreSQL is asked by one statement for each table with all keys, and returns the position of its key
//! with each row; all statements are sent at once.

use std::collections::{BTreeSet, HashMap};

use diesel::{
    OptionalExtension as _, QueryDsl as _, Queryable, RunQueryDsl as _, SqliteConnection,
    pg::Pg,
    sql_types::{Array, BigInt, Integer, Nullable, Text},
};
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection as _};
use futures_util::future::BoxFuture;
use quipu_commit::{Aggregate, AggregateKey, AnswerKey, KnownAnswer, KnownBalance, Name, State, StateKeys};
use quipu_kernel::{Currency, Tenant, Timestamp};

use super::fan_out::{Hearers, Subscribers};
use crate::{
    connection::{BeginWriting, Connection, in_order},
    error::Fault,
    rows::stored::{Totals, at, balance_from, parsed, totals},
    schema::{balances, kept_answers, nonces},
    statement::statement,
    tables::{NAME_TABLES, SAVED_TABLES, kept_answers::AWAITED, name_table, saved_table},
    transaction::commit_outcome::TransactionNumber,
};

/// The state of a transaction that has begun.
pub(crate) struct Begun {
    /// The state that was asked for. On PostgreSQL balances and aggregates stay locked until the transaction
    /// ends.
    pub(crate) state: State,
    /// The endpoints that may get deliveries.
    pub(crate) subscribers: Subscribers,
    /// The number that the server gave to the transaction.
    pub(crate) number: Option<String>,
    /// Whether the state has revisions that were not looked up.
    pub(crate) trusted: bool,
}

/// The aggregates whose revisions are not looked up on a server if they are written anyway. Their rows are
/// never deleted, so a write finds the row, and fails unless the row has the revision of the decision.
const TRUSTED: [Aggregate; 1] = [Aggregate::PAYMENT];

/// How the revisions are found by which changes are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Revisions {
    /// The revision that a change starts from is taken for that of the row, if a write will check it.
    Trusted,
    /// All revisions are looked up.
    LookedUp,
}

/// Begins a transaction and loads what it depends on.
pub(crate) async fn begin(
    conn: &mut Connection,
    wanted: &StateKeys,
    revisions: Revisions,
    hearers: &Hearers,
) -> Result<Begun, Fault> {
    match conn {
        Connection::Sqlite(conn) => {
            BeginWriting.execute(conn)?;
            let (state, subscribers) = (of_file(conn, wanted)?, Subscribers::of_file(conn, hearers)?);
            Ok(Begun { state, subscribers, number: None, trusted: false })
        }
        Connection::Postgres(conn) => {
            let conn: &AsyncPgConnection = conn;
            let subscribers = Subscribers::of_server(conn, hearers);
            let number = diesel_async::RunQueryDsl::get_result::<String>(TransactionNumber, &mut &*conn);
            let trusted = match revisions {
                Revisions::Trusted => trusted(wanted),
                Revisions::LookedUp => HashMap::new(),
            };
            let is_trusting = !trusted.is_empty();
            let state = of_server(conn, wanted, trusted);
            let (state, subscribers, number) = tokio::join!(biased; state, subscribers, number);
            Ok(Begun {
                state: state?,
                subscribers: subscribers?,
                number: Some(number?),
                trusted: is_trusting,
            })
        }
    }
}

#[derive(Queryable)]
struct AnswerRow {
    expires_at: i64,
    payment_id: Option<String>,
    status: i32,
}

fn known_answer(row: &AnswerRow) -> Result<KnownAnswer, Fault> {
    let payment_id = row.payment_id.as_deref().map(|id| parsed("a payment", id)).transpose()?;
    let expires_at = Timestamp::from_millis(row.expires_at);
    Ok(KnownAnswer { expires_at, payment_id, awaited: row.status == AWAITED })
}

/// A transaction of an embedded database holds the only write lock, so that nothing else needs locking. No
/// statement here binds a `LIMIT`, because of [what SQLite does then](crate::statement).
fn of_file(conn: &mut SqliteConnection, wanted: &StateKeys) -> Result<State, Fault> {
    let mut state = State::default();
    for key in &wanted.nonces {
        let row = nonces::table.find((key.0.0, &key.1)).select(nonces::expires_at);
        if let Some(expires_at) = row.get_result::<i64>(conn).optional()? {
            state.nonces.insert(key.clone(), Timestamp::from_millis(expires_at));
        }
    }
    for key in &wanted.answers {
        let (tenant, owner, text) = key;
        let row = kept_answers::table
            .find((tenant.merchant().0, tenant.environment().as_str(), owner.as_str(), text))
            .select((kept_answers::expires_at, kept_answers::payment_id, kept_answers::status));
        if let Some(row) = row.get_result::<AnswerRow>(conn).optional()? {
            state.answers.insert(key.clone(), known_answer(&row)?);
        }
    }
    for key in wanted.aggregates.keys() {
        let (aggregate, tenant, id) = key;
        let table = saved_table(*aggregate).ok_or_else(|| no_table(aggregate.0))?;
        if let Some(revision) = table.revision_sqlite(conn, *tenant, id)? {
            state.aggregates.insert(key.clone(), revision);
        }
    }
    for (tenant, name) in &wanted.names {
        let table = name_table(name.index).ok_or_else(|| no_table(name.index.0))?;
        if let Some(holder) = table.holder_sqlite(conn, *tenant, &name.value)? {
            state.names.insert((*tenant, name.clone()), holder);
        }
    }
    for (tenant, currency) in wanted.balances.iter().chain(&wanted.foreseen) {
        let row = balances::table
            .find((tenant.merchant().0, tenant.environment().as_str(), currency.as_str()))
            .select(totals!());
        if let Some(totals) = row.get_result::<Totals>(conn).optional()? {
            let balance = balance_from(*currency, totals)?;
            let known = KnownBalance { balance, stored: true, touched: false };
            state.balances.insert((*tenant, *currency), known);
        }
    }
    Ok(state)
}

/// The fault of a change that names an aggregate or an index whose rows are kept nowhere.
pub(super) fn no_table(name: &str) -> Fault {
    Fault::Mistaken(format!("{name} has no table"))
}

statement! { FindNonces on Pg => (BigInt, BigInt) {
    "SELECT wanted.place, found.expires_at FROM UNNEST (" => merchants: Vec<i64> as Array<BigInt>,
    ", " => values: Vec<&'a str> as Array<Text> ;
    ") WITH ORDINALITY AS wanted (merchant_id, value, place)
     JOIN nonces AS found ON found.merchant_id = wanted.merchant_id AND found.value = wanted.value"
} }

statement! { FindAnswers on Pg => (BigInt, (BigInt, Nullable<Text>, Integer)) {
    "SELECT wanted.place, found.expires_at, found.payment_id, found.status FROM UNNEST ("
    => merchants: Vec<i64> as Array<BigInt>,
    ", " => environments: Vec<&'a str> as Array<Text>, ", " => audiences: Vec<&'a str> as Array<Text>,
    ", " => keys: Vec<&'a str> as Array<Text> ;
    ") WITH ORDINALITY AS wanted (merchant_id, environment, audience, key, place)
     JOIN kept_answers AS found ON found.merchant_id = wanted.merchant_id AND found.environment = wanted.environment
        AND found.audience = wanted.audience AND found.key = wanted.key"
} }

type BalanceColumns = (BigInt, (BigInt, BigInt, BigInt, BigInt, BigInt, BigInt));

/// Finds balances by their keys; the end of the statement may lock them.
macro_rules! find_balances {
    ($name:ident, $end:literal) => {
        statement! { $name on Pg => BalanceColumns {
            "SELECT wanted.place, found.available, found.frozen, found.deposit, found.withdrawal, found.commission,
                found.adjustment FROM UNNEST (" => merchants: Vec<i64> as Array<BigInt>,
            ", " => environments: Vec<&'a str> as Array<Text>, ", " => currencies: Vec<&'a str> as Array<Text> ;
            concat!(
                ") WITH ORDINALITY AS wanted (merchant_id, environment, currency, place)
                 JOIN balances AS found ON found.merchant_id = wanted.merchant_id
                    AND found.environment = wanted.environment AND found.currency = wanted.currency",
                $end
            )
        } }
    };
}

find_balances!(LockBalances, " ORDER BY wanted.place FOR UPDATE OF found");
find_balances!(ReadBalances, "");

/// The two columns that every key of a tenant begins with.
fn tenants<'a>(all: impl Iterator<Item = &'a Tenant>) -> (Vec<i64>, Vec<&'static str>) {
    all.map(|tenant| (tenant.merchant().0, tenant.environment().as_str())).unzip()
}

/// A part of the state, as it is loaded: rows, each with the place of the key that found it.
enum Part {
    Begun,
    Nonces(Vec<(i64, i64)>),
    Answers(Vec<(i64, AnswerRow)>),
    Balances(BalanceSet, Vec<(i64, Totals)>),
    Revisions(usize, Vec<(i64, i64)>),
    Holders(usize, Vec<(i64, quipu_commit::Holder)>),
}

/// Which of the balances are loaded.
#[derive(Clone, Copy)]
enum BalanceSet {
    Changing,
    Foreseen,
}

type Loading<'c> = BoxFuture<'c, diesel::QueryResult<Part>>;

/// Balances are locked first and then aggregates, each in the order of their keys, as every lane of every
/// node does.
async fn of_server(
    conn: &AsyncPgConnection,
    wanted: &StateKeys,
    trusted: HashMap<AggregateKey, i64>,
) -> Result<State, Fault> {
    let looked_up: Vec<_> = wanted.aggregates.keys().filter(|key| !trusted.contains_key(*key)).collect();
    let sent = SentKeys { revisions: by_table(&looked_up), names: by_index(&wanted.names) };
    let mut session = conn;
    let mut parts: Vec<Loading<'_>> =
        vec![Box::pin(async move { session.batch_execute("BEGIN").await.map(|()| Part::Begun) })];
    for set in [BalanceSet::Changing, BalanceSet::Foreseen] {
        parts.extend(balances_of(conn, wanted, set));
    }
    for (place, keys) in sent.revisions.iter().enumerate().filter(|(_, keys)| !keys.is_empty()) {
        let found = SAVED_TABLES[place].lock_postgres(conn, keys);
        parts.push(Box::pin(async move { Ok(Part::Revisions(place, found.await?)) }));
    }
    parts.extend(nonces_of(conn, wanted));
    parts.extend(answers_of(conn, wanted));
    for (place, keys) in sent.names.iter().enumerate().filter(|(_, keys)| !keys.is_empty()) {
        let found = NAME_TABLES[place].holders_postgres(conn, keys);
        parts.push(Box::pin(async move { Ok(Part::Holders(place, found.await?)) }));
    }
    let mut state = State { aggregates: trusted, ..State::default() };
    for part in in_order(parts).await {
        place(&mut state, wanted, &sent, part?)?;
    }
    Ok(state)
}

/// The keys that were sent to each of several tables.
type KeysByTable<'w> = Vec<Vec<(Tenant, &'w str)>>;

/// The keys that were sent to tables which hold aggregates or names.
struct SentKeys<'w> {
    /// By the place of their table in [`SAVED_TABLES`].
    revisions: KeysByTable<'w>,
    /// By the place of their table in [`NAME_TABLES`].
    names: KeysByTable<'w>,
}

/// The revisions that a write will check.
fn trusted(wanted: &StateKeys) -> HashMap<AggregateKey, i64> {
    let written = wanted.aggregates.iter().filter(|(key, _)| TRUSTED.contains(&key.0));
    written.filter_map(|(key, from)| Some((key.clone(), (*from)?))).collect()
}

fn by_table<'w>(all: &[&'w AggregateKey]) -> KeysByTable<'w> {
    let of = |table: &&dyn crate::tables::SavedTable| {
        let aggregate = table.aggregate();
        let mine = all.iter().filter(|key| key.0 == aggregate);
        mine.map(|(_, tenant, id)| (*tenant, id.as_str())).collect()
    };
    SAVED_TABLES.iter().map(of).collect()
}

fn by_index(all: &BTreeSet<(Tenant, Name)>) -> KeysByTable<'_> {
    let of = |table: &&dyn crate::tables::NameTable| {
        let index = table.index();
        let mine = all.iter().filter(|(_, name)| name.index == index);
        mine.map(|(tenant, name)| (*tenant, name.value.as_str())).collect()
    };
    NAME_TABLES.iter().map(of).collect()
}

fn nonces_of<'c>(conn: &'c AsyncPgConnection, wanted: &'c StateKeys) -> Option<Loading<'c>> {
    let keys = wanted.nonces.iter().map(|(merchant, value)| (merchant.0, value.as_str()));
    let (merchants, values): (Vec<_>, Vec<_>) = keys.unzip();
    (!values.is_empty()).then(|| -> Loading<'c> {
        Box::pin(async move {
            let found = FindNonces { merchants, values };
            diesel_async::RunQueryDsl::load(found, &mut &*conn).await.map(Part::Nonces)
        })
    })
}

fn answers_of<'c>(conn: &'c AsyncPgConnection, wanted: &'c StateKeys) -> Option<Loading<'c>> {
    let (merchants, environments) = tenants(wanted.answers.iter().map(|(tenant, ..)| tenant));
    let audiences: Vec<_> = wanted.answers.iter().map(|(_, owner, _)| owner.as_str()).collect();
    let keys = wanted.answers.iter().map(|(.., key)| key.as_str()).collect();
    (!audiences.is_empty()).then(|| -> Loading<'c> {
        Box::pin(async move {
            let found = FindAnswers { merchants, environments, audiences, keys };
            diesel_async::RunQueryDsl::load(found, &mut &*conn).await.map(Part::Answers)
        })
    })
}

fn balances_of<'c>(
    conn: &'c AsyncPgConnection,
    wanted: &'c StateKeys,
    set: BalanceSet,
) -> Option<Loading<'c>> {
    let keys = keys_of(wanted, set);
    let (merchants, environments) = tenants(keys.iter().map(|(tenant, _)| tenant));
    let currencies: Vec<&str> = keys.iter().map(|(_, currency)| currency.as_str()).collect();
    (!currencies.is_empty()).then(|| -> Loading<'c> {
        Box::pin(async move {
            let rows = match set {
                BalanceSet::Changing => {
                    let found = LockBalances { merchants, environments, currencies };
                    diesel_async::RunQueryDsl::load(found, &mut &*conn).await
                }
                BalanceSet::Foreseen => {
                    let found = ReadBalances { merchants, environments, currencies };
                    diesel_async::RunQueryDsl::load(found, &mut &*conn).await
                }
            };
            rows.map(|rows| Part::Balances(set, rows))
        })
    })
}

const fn keys_of(wanted: &StateKeys, set: BalanceSet) -> &BTreeSet<(Tenant, Currency)> {
    match set {
        BalanceSet::Changing => &wanted.balances,
        BalanceSet::Foreseen => &wanted.foreseen,
    }
}

/// Stores the rows that were found under the keys by which they were looked up.
fn place(state: &mut State, wanted: &StateKeys, sent: &SentKeys<'_>, part: Part) -> Result<(), Fault> {
    match part {
        Part::Begun => {}
        Part::Nonces(rows) => {
            let keys: Vec<_> = wanted.nonces.iter().collect();
            for (place, expires_at) in rows {
                state.nonces.insert((*at(&keys, place)?).clone(), Timestamp::from_millis(expires_at));
            }
        }
        Part::Answers(rows) => {
            let keys: Vec<&AnswerKey> = wanted.answers.iter().collect();
            for (place, row) in rows {
                state.answers.insert((*at(&keys, place)?).clone(), known_answer(&row)?);
            }
        }
        Part::Balances(balances, rows) => {
            let keys: Vec<_> = keys_of(wanted, balances).iter().collect();
            for (place, totals) in rows {
                let (tenant, currency) = *at(&keys, place)?;
                let balance = balance_from(*currency, totals)?;
                let known = KnownBalance { balance, stored: true, touched: false };
                state.balances.insert((*tenant, *currency), known);
            }
        }
        Part::Revisions(table, rows) => {
            let (keys, aggregate) = (&sent.revisions[table], SAVED_TABLES[table].aggregate());
            for (place, revision) in rows {
                let (tenant, id) = at(keys, place)?;
                state.aggregates.insert((aggregate, *tenant, (*id).to_owned()), revision);
            }
        }
        Part::Holders(table, rows) => {
            let (keys, index) = (&sent.names[table], NAME_TABLES[table].index());
            for (place, holder) in rows {
                let (tenant, name) = at(keys, place)?;
                state.names.insert((*tenant, Name::new(index, *name)), holder);
            }
        }
    }
    Ok(())
}
