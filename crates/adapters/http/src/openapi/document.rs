//! A document, built from the rows of the route table.

use serde_json::{Map, Value, json};

use super::{components, examples, path_parameters, responses};
use crate::{
    files::FILE_TYPES,
    request::Intake,
    route_table::route_table,
    routing::{Credentials, Operation, RouteRow, Tells},
};

/// The readers of a document, which has the routes that are for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Merchants: every route that is not below `/operator/`.
    Merchants,
    /// The operator's staff: the routes below `/operator/`.
    Operators,
}

impl Readers {
    fn has(self, row: &RouteRow) -> bool {
        row.path().starts_with("/operator/") == (self == Self::Operators)
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Merchants => "Quipu",
            Self::Operators => "Quipu, for operators",
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Merchants => {
                "A payment gateway for merchants. Version 1 authenticates with API keys, version 2 with signed requests. \
                 Amounts are integers in minor units."
            }
            Self::Operators => "Onboarding, money and support, for the staff of the operator.",
        }
    }
}

/// The headings, in the order in which they are shown.
const TAGS: [&str; 13] = [
    "Payments",
    "Payments (signed)",
    "Balance",
    "Balance (signed)",
    "Webhooks",
    "Tickets",
    "Hosted pages",
    "Account",
    "Merchants",
    "Staff",
    "Books",
    "Providers",
    "Service",
];

/// The whole document, for a public address whose path is `root`.
pub(crate) fn document(readers: Readers, root: &str) -> Value {
    let mut paths = Map::new();
    for row in route_table().filter(|row| readers.has(row)) {
        let item = paths.entry(row.path()).or_insert_with(|| json!({}));
        item[row.method().to_lowercase()] = described(row);
    }
    let paths = Value::Object(paths);
    let in_use = |tag: &str| route_table().any(|row| readers.has(row) && area(row.path()) == tag);
    let tags: Vec<_> = TAGS.into_iter().filter(|tag| in_use(tag)).map(|tag| json!({ "name": tag })).collect();
    json!({
        "openapi": "3.0.3",
        "info": {
            "title": readers.title(),
            "version": env!("CARGO_PKG_VERSION"),
            "description": readers.text(),
            "license": { "name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0" },
        },
        "servers": [{ "url": if root.is_empty() { "/" } else { root } }],
        "tags": tags,
        "components": components::used_by(&paths, readers == Readers::Operators),
        "paths": paths,
    })
}

pub(crate) fn described(row: &RouteRow) -> Value {
    let operation = &row.operation;
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "tags": [area(row.path())],
        "responses": responses::of(row, operation),
    });
    if row.deprecation.is_some() {
        described["deprecated"] = true.into();
    }
    let text = in_words(row, operation);
    if !text.is_empty() {
        described["description"] = text.into();
    }
    let parameters = parameters(row, operation);
    if !parameters.is_empty() {
        described["parameters"] = parameters.into();
    }
    if let Some(body) = body(row, operation) {
        described["requestBody"] = body;
    }
    if let Some(tells) = operation.tells {
        described["callbacks"] = callbacks(tells);
    }
    let security = security(row.credentials());
    if !security.is_empty() {
        described["security"] = security.into();
    }
    described
}

/// The heading of a path.
fn area(path: &str) -> &'static str {
    const AREAS: [(&str, &str); 22] = [
        ("/operator/v1/operators", "Staff"),
        ("/operator/v1/payments", "Payments"),
        ("/operator/v1/receipts", "Payments"),
        ("/operator/v1/tickets", "Tickets"),
        ("/operator/v1/merchants", "Merchants"),
        ("/operator/", "Books"),
        ("/api/v1/payments", "Payments"),
        ("/api/v2/payments", "Payments (signed)"),
        ("/api/v2/balance", "Balance (signed)"),
        ("/api/v1/balance", "Balance"),
        ("/api/v1/webhooks", "Webhooks"),
        ("/api/v1/tickets", "Tickets"),
        ("/api/v1/merchants", "Account"),
        ("/api/v1/auth", "Account"),
        ("/api/v2/auth", "Account"),
        ("/api/v1/providers", "Providers"),
        ("/payment-pages", "Hosted pages"),
        ("/simulated-scheme", "Hosted pages"),
        ("/assets", "Hosted pages"),
        ("/logos", "Hosted pages"),
        ("/uploads", "Tickets"),
        ("/files", "Tickets"),
    ];
    AREAS.iter().find(|(prefix, _)| path.starts_with(prefix)).map_or("Service", |(_, area)| area)
}

fn in_words(row: &RouteRow, operation: &Operation) -> String {
    let mut text = operation.text.to_owned();
    let mut add = |more: String| {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&more);
    };
    if let Some(deprecation) = row.deprecation {
        add(deprecation.in_words());
    }
    if let Some(scope) = row.scope() {
        add(format!("Scope `{}`.", scope.as_str()));
    }
    if let Credentials::Staff(role) = row.credentials() {
        add(format!("Role `{}`.", role.as_str()));
    }
    if let Some(alias) = row.alias() {
        add(format!("Answers under `{alias}` too."));
    }
    if !operation.refuses.is_empty() {
        let codes: Vec<_> = operation.refuses.iter().map(|code| format!("`{}`", code.as_str())).collect();
        add(format!("Refusals of its own: {}.", codes.join(", ")));
    }
    text
}

fn parameters(row: &RouteRow, operation: &Operation) -> Vec<Value> {
    let named = operation.parameters.iter().chain(&["RequestId"]);
    let named = named.map(|name| json!({ "$ref": format!("#/components/parameters/{name}") }));
    path_parameters::of(row.path()).chain(named).collect()
}

fn body(row: &RouteRow, operation: &Operation) -> Option<Value> {
    let kinds: &[&str] = match row.intake {
        Intake::Nothing => return None,
        Intake::Form => &["application/x-www-form-urlencoded"],
        Intake::Json | Intake::Whole(_) => &["application/json"],
        Intake::Stream(_) => FILE_TYPES,
    };
    let schema = match operation.body {
        None if row.intake == Intake::Json => return None,
        None => json!({ "type": "string", "format": "binary" }),
        Some(name) => json!({ "$ref": format!("#/components/schemas/{name}") }),
    };
    let mut media = json!({ "schema": schema });
    if let Some(example) = operation.body.and_then(examples::of) {
        media["example"] = example.clone();
    }
    let content: Map<String, Value> = kinds.iter().map(|kind| ((*kind).to_owned(), media.clone())).collect();
    let is_required = operation.body_is_required || matches!(row.intake, Intake::Stream(_));
    Some(json!({ "required": is_required, "content": content }))
}

/// The events that are sent to the address in the body.
fn callbacks(tells: Tells) -> Value {
    let schemas: Vec<_> =
        tells.schemas.iter().map(|name| json!({ "$ref": format!("#/components/schemas/{name}") })).collect();
    let address = format!("{{$request.body#/{}}}", tells.member);
    let headers = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    let headers: Vec<_> = headers
        .map(|name| json!({ "name": name, "in": "header", "required": true, "schema": { "type": "string" } }))
        .into();
    let mut media = json!({ "schema": { "oneOf": schemas } });
    if let Some(example) = tells.schemas.first().and_then(|name| examples::of(name)) {
        media["example"] = example.clone();
    }
    let delivery = json!({
        "summary": "A signed event",
        "description": "Signed as Standard Webhooks says, sent until a 2xx status answers it.",
        "parameters": headers,
        "requestBody": { "required": true, "content": { "application/json": media } },
        "responses": { "2XX": { "description": "Received." } },
    });
    json!({ "event": { address: { "post": delivery } } })
}

/// The ways to authenticate, any one of which is enough.
fn security(credentials: Credentials) -> Vec<Value> {
    let (key, token, staff) =
        (json!({ "ApiKey": [] }), json!({ "AccessToken": [] }), json!({ "StaffToken": [] }));
    match credentials {
        Credentials::None => Vec::new(),
        Credentials::Provider => vec![json!({ "ProviderSignature": [] })],
        Credentials::ApiKey => vec![key],
        Credentials::ApiKeyOrToken => vec![key, token],
        Credentials::ApiKeyTokenOrStaff => vec![key, token, staff],
        Credentials::Signature => {
            vec![
                json!({ "MerchantId": [], "Timestamp": [], "Nonce": [], "SignatureVersion": [], "Signature": [] }),
            ]
        }
        Credentials::Staff(_) => vec![staff],
    }
}
