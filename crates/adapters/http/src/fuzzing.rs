//! Entries for fuzz tests, into the readers of what strangers send.

use std::collections::BTreeMap;

use quipu_kernel::{Problems, Timestamp};
use quipu_signing::Keyring;

use crate::{request::Query, state::Tokens};

pub use crate::{
    connection::{Framing, proxies::forwarded_client, read_framing},
    request::body::read_json,
};

/// Reads a query string as lists do, with parameters of every kind; returns whether it is valid for all of
/// them.
pub fn judge_query(text: &str) -> bool {
    let Ok(query) = Query::parse(text) else { return false };
    let mut problems = Problems::new();
    let p = &mut problems;
    query.page(p);
    query.created(p);
    query.merchant(p);
    query.text("search", p);
    query.parsed::<quipu_payments::Status>("status", p);
    query.parsed_all::<quipu_tickets::Category>("category", p);
    query.whole_number("customer_id", p);
    query.into_members_of("list");
    problems.is_empty()
}

/// Reads the form of a recipient: its members, if all of it is valid.
pub fn read_form(body: &[u8]) -> Option<BTreeMap<String, String>> {
    let (members, problems) = Query::of_form(body).ok()?.into_members_of("payout");
    problems.is_empty().then_some(members)
}

/// The subject and the scopes of a bearer token, if one of the keys signed it and it has not expired by `now`.
pub fn read_token(keyring: &Keyring, token: &str, now: Timestamp) -> Option<(String, String)> {
    let claims = Tokens::new(keyring, "").verify(token, now).ok()?;
    Some((claims.sub, claims.scope))
}
