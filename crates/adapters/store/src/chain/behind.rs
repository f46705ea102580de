//! Finds the chains that have rows which are old enough to be sealed and are not sealed.

use diesel::{
    QueryableByName, sql_query,
    sql_types::{BigInt, Text},
};
use quipu_kernel::{MerchantId, Timestamp};
use quipu_ledger::{Book, Chain, ChainHash};

use crate::{
    connection::{Connection, load},
    error::Fault,
    rows::{
        chain_place::{Place, first_id_of},
        stored::parsed,
    },
};

/// The most chains that one query finds.
pub(super) const AT_ONCE: usize = 500;

/// A chain and how far it is sealed.
#[derive(Debug, Clone)]
pub(crate) struct Behind {
    pub(crate) chain: Chain,
    pub(crate) rows: i64,
    pub(crate) hash: ChainHash,
    pub(crate) upto: Place,
}

#[derive(Debug, QueryableByName)]
struct Row {
    #[diesel(sql_type = BigInt)]
    merchant_id: i64,
    #[diesel(sql_type = Text)]
    environment: String,
    #[diesel(sql_type = BigInt)]
    sealed: i64,
    #[diesel(sql_type = Text)]
    hash: String,
    #[diesel(sql_type = BigInt)]
    upto_at: i64,
    #[diesel(sql_type = Text)]
    upto_id: String,
}

/// Chains of a book that have rows from before `until` to be sealed, those first that were sealed longest ago. If
/// there are [`AT_ONCE`] or more, there may be others.
pub(crate) async fn behind(
    conn: &mut Connection,
    book: Book,
    until: Timestamp,
) -> Result<Vec<Behind>, Fault> {
    let queries = match book {
        Book::Entries => vec![statement(
            book,
            "(SELECT DISTINCT merchant_id, environment FROM balances)",
            &format!(
                "(SELECT MIN(line.transaction_id) FROM entries AS line WHERE line.merchant_id = owner.merchant_id
                    AND line.environment = owner.environment
                    AND line.transaction_id > COALESCE(chain.upto_id, '')) < '{}'",
                first_id_of(until)
            ),
        )],
        Book::AuditLog => vec![
            statement(
                book,
                "(SELECT id AS merchant_id, '' AS environment FROM merchants
                    UNION SELECT merchant_id, '' FROM balances UNION SELECT 0, '')",
                &first_line("line.merchant_id = owner.merchant_id", until),
            ),
            statement(
                book,
                "(SELECT -1 AS merchant_id, '' AS environment)",
                &first_line("line.merchant_id IS NULL", until),
            ),
        ],
    };
    let mut found = Vec::new();
    for query in queries {
        for row in load!(conn, Row, sql_query(query))? {
            found.push(row.read(book)?);
        }
    }
    Ok(found)
}

/// A subquery for each owner, which ends at the first row of an index. With a join, a planner without
/// statistics might read the whole table.
fn statement(book: Book, owners: &str, first_is_due: &str) -> String {
    format!(
        "SELECT CAST(owner.merchant_id AS BIGINT) AS merchant_id, owner.environment AS environment,
            COALESCE(chain.rows, 0) AS sealed, COALESCE(chain.hash, '') AS hash,
            COALESCE(chain.upto_at, 0) AS upto_at, COALESCE(chain.upto_id, '') AS upto_id
         FROM {owners} AS owner LEFT JOIN chains AS chain ON chain.book = '{}'
            AND chain.merchant_id = owner.merchant_id AND chain.environment = owner.environment
         WHERE {first_is_due}
         ORDER BY COALESCE(chain.sealed_at, 0)
         LIMIT {AT_ONCE}",
        book.as_str()
    )
}

fn first_line(about: &str, until: Timestamp) -> String {
    format!(
        "(SELECT MIN(line.at) FROM audit_log AS line WHERE {about} AND line.at >= COALESCE(chain.upto_at, 0)
            AND (line.at > COALESCE(chain.upto_at, 0) OR line.id > COALESCE(chain.upto_id, ''))) < {}",
        until.millis()
    )
}

impl Row {
    fn read(self, book: Book) -> Result<Behind, Fault> {
        let hash =
            if self.sealed == 0 { ChainHash::BEGINNING } else { parsed("the hash of a chain", &self.hash)? };
        Ok(Behind {
            chain: chain(book, self.merchant_id, &self.environment)?,
            rows: self.sealed,
            hash,
            upto: Place { at: self.upto_at, id: self.upto_id },
        })
    }
}

/// A chain from its columns.
pub(crate) fn chain(book: Book, merchant: i64, environment: &str) -> Result<Chain, Fault> {
    let environment =
        if environment.is_empty() { None } else { Some(parsed("the environment of a chain", environment)?) };
    Ok(Chain { book, merchant: (merchant != -1).then_some(MerchantId(merchant)), environment })
}
