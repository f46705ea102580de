//! Schemas, parameters, headers, shared answers and security schemes.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{
    responses,
    schemas::{self, object},
};

const PARAMETERS: &str = include_str!("../../openapi/parameters.json");

/// The components that a document's paths refer to, directly or through other components.
pub(super) fn used_by(paths: &Value, is_for_operators: bool) -> Value {
    let all = json!({
        "schemas": *schemas::ALL,
        "parameters": object(PARAMETERS),
        "headers": headers(),
        "responses": responses::shared(),
    });
    let mut used = BTreeSet::new();
    let mut waiting = references(paths);
    while let Some(reference) = waiting.pop() {
        let target = reference.strip_prefix("#/components").and_then(|pointer| all.pointer(pointer));
        if let Some(target) = target
            && used.insert(reference.clone())
        {
            waiting.extend(references(target));
        }
    }
    let mut kept = Map::new();
    for (kind, members) in all.as_object().into_iter().flatten() {
        let members = members.as_object().into_iter().flatten();
        let members = members.filter(|(name, _)| used.contains(&format!("#/components/{kind}/{name}")));
        let members: Map<_, _> = members.map(|(name, value)| (name.clone(), value.clone())).collect();
        kept.insert(kind.clone(), members.into());
    }
    kept.insert("securitySchemes".to_owned(), security_schemes(is_for_operators));
    kept.into()
}

fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Object(members) => {
            let own = members.get("$ref").and_then(Value::as_str).map(str::to_owned);
            own.into_iter().chain(members.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

fn headers() -> Value {
    let integer = |text: &str| json!({ "description": text, "schema": { "type": "integer" } });
    let text = |text: &str| json!({ "description": text, "schema": { "type": "string" } });
    let always = |mut header: Value| {
        header["required"] = true.into();
        header
    };
    json!({
        "X-Request-Id": always(text("Identifies the request. Your own is kept if it has 1 to 128 letters, digits, `-`, `_`, `.` or `:`.")),
        "X-RateLimit-Limit": integer("How many calls the budget allows."),
        "X-RateLimit-Remaining": integer("How many are left."),
        "X-RateLimit-Reset": integer("When the oldest counted second leaves the window, in Unix seconds."),
        "Retry-After": always(integer("After how many seconds to try again.")),
        "WWW-Authenticate": always(text("What is asked for.")),
        "Deprecation": always(text("Since when another route should be used: `@` and Unix seconds (RFC 9745).")),
        "Sunset": always(text("From when on the route may be gone: a date as in HTTP (RFC 8594).")),
        "Link": always(text("Where it is written what to use instead.")),
        "Location": always(text("The address of the page to go on with.")),
        "Idempotent-Replayed": text("`true` if the answer was given before."),
    })
}

fn security_schemes(is_for_operators: bool) -> Value {
    let header = |name: &str, text: &str| json!({ "type": "apiKey", "in": "header", "name": name, "description": text });
    let staff =
        json!({ "type": "http", "scheme": "bearer", "description": "A token of the operator's staff." });
    if is_for_operators {
        return json!({ "StaffToken": staff });
    }
    json!({
        "ApiKey": header("X-API-Key", "A key of a merchant of version 1."),
        "AccessToken": {
            "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "description": "A token of `/api/v1/auth/token` or `/api/v2/auth/token`.",
        },
        "StaffToken": staff,
        "MerchantId": header("X-Merchant-Id", "The number of a merchant of version 2."),
        "Timestamp": header("X-Timestamp", "Unix time in seconds. The reference page fills it in."),
        "Nonce": header("X-Nonce", "8 to 128 printable ASCII characters without `./api/v2`, a new value for each request. The reference page fills it in."),
        "SignatureVersion": header("X-Signature-Version", "`v1`. The reference page fills it in."),
        "Signature": header(
            "X-Signature",
            "`hmac_sha256=` and the digest in hex. On the reference page enter the HMAC secret here: the page signs \
             with it, and it does not leave the page.",
        ),
        "ProviderSignature": header("webhook-signature", "A provider's Standard Webhooks signature."),
    })
}
