//! `quipu routes`: the table of all HTTP routes, for reviews, for configuring a proxy in front of the
//! gateway, and for tests that call each of them.

use std::process::ExitCode;

use anyhow::Result;
use quipu_http::{Credentials, Readers, RouteRow, route_table};
use quipu_merchants::Scope;
use serde_json::{Value, json};

use super::session;
use crate::standard_output;

/// Prints every route: method, path, credential, and the scope that a merchant's key must have.
pub(super) fn print() -> Result<ExitCode> {
    let rows: Vec<_> = route_table().map(shown).collect();
    session::print(&json!({ "routes": rows }))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the OpenAPI document for these readers.
pub(super) fn openapi(readers: Readers) -> Result<ExitCode> {
    standard_output::write(&quipu_http::openapi(readers))?;
    Ok(ExitCode::SUCCESS)
}

fn shown(row: &RouteRow) -> Value {
    let credential = match row.credentials() {
        Credentials::None => "none".to_owned(),
        Credentials::Provider => "provider's signature".to_owned(),
        Credentials::ApiKey => "api_key".to_owned(),
        Credentials::ApiKeyOrToken => "api_key or token".to_owned(),
        Credentials::ApiKeyTokenOrStaff => "api_key, token or staff".to_owned(),
        Credentials::Signature => "signature".to_owned(),
        Credentials::Staff(role) => format!("staff: {}", role.as_str()),
    };
    let scope = row.scope().map(Scope::as_str);
    json!({ "method": row.method(), "path": row.path(), "credential": credential, "scope": scope })
}
