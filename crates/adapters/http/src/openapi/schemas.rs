//! The schemas of the documents, by name.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::answer::ErrorCode;

/// The schemas, one file for each area.
const SCHEMAS: [&str; 9] = [
    include_str!("../../openapi/common.json"),
    include_str!("../../openapi/payments.json"),
    include_str!("../../openapi/balance.json"),
    include_str!("../../openapi/account.json"),
    include_str!("../../openapi/tickets.json"),
    include_str!("../../openapi/webhooks.json"),
    include_str!("../../openapi/events.json"),
    include_str!("../../openapi/operator.json"),
    include_str!("../../openapi/pages.json"),
];

/// The members of a file.
pub(super) fn object(text: &str) -> Map<String, Value> {
    // A file that is not an object leaves dangling references, which a test finds.
    serde_json::from_str(text).unwrap_or_default()
}

/// All schemas.
pub(super) static ALL: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let mut all: Map<_, _> = SCHEMAS.into_iter().flat_map(object).collect();
    let codes: Vec<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    all.insert("ErrorCode".to_owned(), json!({ "type": "string", "enum": codes }));
    all
});

/// The schema of this name.
pub(super) fn named(name: &str) -> Option<&'static Value> {
    ALL.get(name)
}
