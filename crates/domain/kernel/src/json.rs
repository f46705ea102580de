//! JSON of the gateway's own values.

use serde::Serialize;

/// The last integer that every JSON reader holds exactly, 2^53 − 1.
pub(crate) const MAX_JSON_INTEGER: i64 = (1 << 53) - 1;

/// A value as JSON text. This cannot fail: the keys of the gateway's types are texts, and writing to memory always
/// succeeds. For the same reason [`serde_json::json`] makes a [`serde_json::Value`] of any of them.
pub fn json_text(value: &(impl Serialize + ?Sized)) -> String {
    // A type that breaks the rule must not end as an empty text in an answer or the audit log.
    serde_json::to_string(value).unwrap_or_else(|error| unreachable!("a value is no JSON: {error}"))
}
