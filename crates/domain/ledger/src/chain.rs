//! Chains of hashes over books to which rows are only ever added.
//!
//! The rows of one book are hashed in order, each together with all rows before it:
//! `hash(n) = SHA-256(hash(n - 1) ‖ row(n))`, and `hash(0)` is 32 zero bytes. So one hash stands for a whole
//! history, and a person who wrote it down outside the database can tell later whether that history is still
//! the same.

use std::{fmt, str::FromStr};

use quipu_kernel::{Environment, MerchantId, Timestamp, wire_names};
use quipu_signing::sha256;
use serde::{Serialize, Serializer};

wire_names! {
    /// A book whose rows are chained. Each merchant has a chain of its own in each book.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Book {
        /// The entries of one merchant in one environment, in the order of their transactions and lines.
        Entries = "entries",
        /// The lines of the audit log about one merchant, or about none, in the order of time. They have no
        /// environment, since one line may concern both.
        AuditLog = "audit_log",
    }
}

/// The rows that make one chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chain {
    /// The book.
    pub book: Book,
    /// The merchant whose rows these are; `None` for lines of the audit log about no merchant.
    pub merchant: Option<MerchantId>,
    /// The environment of the entries; `None` in the audit log.
    pub environment: Option<Environment>,
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.merchant {
            Some(merchant) => write!(f, "{}", merchant.0)?,
            None => f.write_str("no merchant")?,
        }
        self.environment.map_or(Ok(()), |environment| write!(f, "/{}", environment.as_str()))
    }
}

/// A row as it is hashed: its columns in their order, each as `<length in bytes>:<text>,` and an absent one as `-,`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChainedRow(Vec<u8>);

impl ChainedRow {
    /// A row without columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a column.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.0.extend_from_slice(text.len().to_string().as_bytes());
        self.0.push(b':');
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(b',');
        self
    }

    /// Adds a column that may be absent.
    #[must_use]
    pub fn text_or_none(mut self, text: Option<&str>) -> Self {
        if let Some(text) = text {
            return self.text(text);
        }
        self.0.extend_from_slice(b"-,");
        self
    }

    /// Adds a number, as its decimal digits.
    #[must_use]
    pub fn number(self, number: i64) -> Self {
        self.text(&number.to_string())
    }
}

/// The hash of a chain up to and including some row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ChainHash([u8; 32]);

impl ChainHash {
    /// The hash of a chain without rows.
    pub const BEGINNING: Self = Self([0; 32]);

    /// The hash of the chain that is one row longer.
    #[must_use]
    pub fn followed_by(self, row: &ChainedRow) -> Self {
        Self(sha256(&[&self.0, row.0.as_slice()].concat()))
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChainHash({self})")
    }
}

impl Serialize for ChainHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The error of reading a text that is not a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 64 hexadecimal digits")]
pub struct NoHash;

impl FromStr for ChainHash {
    type Err = NoHash;

    fn from_str(text: &str) -> Result<Self, NoHash> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(NoHash);
        }
        for (byte, place) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&text[place..place + 2], 16).map_err(|_| NoHash)?;
        }
        Ok(Self(bytes))
    }
}

/// How far a chain is sealed. It is meant to be written down outside the database, so that nobody can rewrite
/// the sealed rows unnoticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The chain.
    pub chain: Chain,
    /// How many rows are sealed.
    pub rows: u64,
    /// The hash of all of them.
    pub hash: ChainHash,
    /// When the last of them was sealed.
    pub sealed_at: Timestamp,
}

impl Serialize for Head {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            book: Book,
            merchant_id: Option<i64>,
            environment: Option<&'static str>,
            rows: u64,
            hash: &'a ChainHash,
            sealed_at: Timestamp,
        }
        let shown = Shown {
            book: self.chain.book,
            merchant_id: self.chain.merchant.map(|merchant| merchant.0),
            environment: self.chain.environment.map(Environment::as_str),
            rows: self.rows,
            hash: &self.hash,
            sealed_at: self.sealed_at,
        };
        shown.serialize(serializer)
    }
}

/// The result of one turn of sealing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sealed {
    /// The rows that were added to their chains.
    pub rows: u64,
    /// Whether more rows wait to be added.
    pub more: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(word: &str) -> ChainedRow {
        ChainedRow::new().number(7).text(word).text_or_none(None)
    }

    /// Computed once with Python: `sha256(sha256(bytes(32) + b"1:7,2:ab,-,").digest() + b"1:7,1:c,-,").hexdigest()`.
    #[test]
    fn the_hash_is_what_the_documents_say() {
        let hash = ChainHash::BEGINNING.followed_by(&row("ab")).followed_by(&row("c"));
        let expected = "fe3a94ff28e45a318424763e98c8e6c61823fa70b38acce996cd2c10066beb83";
        assert_eq!(hash.to_string(), expected);
        assert_eq!(expected.parse(), Ok(hash));
    }

    #[test]
    fn rows_in_another_order_or_cut_elsewhere_have_another_hash() {
        let of = |words: &[&str]| {
            words.iter().fold(ChainHash::BEGINNING, |hash, word| hash.followed_by(&row(word)))
        };
        assert_ne!(of(&["a", "b"]), of(&["b", "a"]));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a"]), of(&["a", "a"]));
        let empty = ChainedRow::new().text_or_none(Some(""));
        assert_ne!(empty, ChainedRow::new().text_or_none(None));
    }

    #[test]
    fn what_is_no_hash_is_refused() {
        for text in ["", "00", &"0".repeat(63), &"g".repeat(64), &"+0".repeat(32)] {
            assert_eq!(text.parse::<ChainHash>(), Err(NoHash), "{text}");
        }
    }
}
