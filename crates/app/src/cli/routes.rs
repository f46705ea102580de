//! `quipu routes`: the interface as a table, for reviews, for what stands in front of the gateway, and for tests that
//! walk all of it.

use std::{io::Write, process::ExitCode};

use anyhow::{Context, Result};
use quipu_http::{Credentials, RouteRow, route_table};
use quipu_merchants::Scope;

/// Prints a line for each route: method, path, credential and scope, separated by tabs.
pub(super) fn print() -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    for row in route_table() {
        writeln!(out, "{}", line(row)).context("the table cannot be printed")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn line(row: &RouteRow) -> String {
    let credential = match row.credentials() {
        Credentials::None => "none".to_owned(),
        Credentials::ApiKey => "api_key".to_owned(),
        Credentials::ApiKeyOrToken => "api_key or token".to_owned(),
        Credentials::ApiKeyTokenOrStaff => "api_key, token or staff".to_owned(),
        Credentials::Signature => "signature".to_owned(),
        Credentials::Staff(role) => format!("staff: {}", role.as_str()),
    };
    let scope = row.scope().map_or("-", Scope::as_str);
    [row.method(), row.path(), &credential, scope].join("\t")
}
