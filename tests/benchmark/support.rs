//! Lists of a hundred thousand tickets, with and without a text to search for.
//!
//! What was searched for before is remembered, so there are rows for one word that is searched for again and
//! again, and rows for another text at each call.

use std::{ops::Range, sync::Arc};

use quipu_tests::{Database, Setup};

use crate::{
    Plan, address_of, caller_of,
    load::{self, Pressure, Request},
    report::Row,
    workload::{Caller, next},
};

pub(crate) const TICKETS: &str = "tickets: first page";
pub(crate) const SEARCH_COMMON: &str = "tickets: search, a word in all of them";
pub(crate) const SEARCH_OLD: &str = "tickets: search, a word in the oldest tenth";
pub(crate) const SEARCH_RARE: &str = "tickets: search, a word in one of them";
pub(crate) const NEW_COMMON: &str = "tickets: search, each time another text in all of them";
pub(crate) const NEW_OLD: &str = "tickets: search, each time another text in the oldest tenth";
pub(crate) const NEW_RARE: &str = "tickets: search, each time another word in one of them";
/// Neither counts by status nor pages in another order are remembered.
const STATUS_COMMON: &str = "tickets: search by status, a word in all of them";
const STATUS_OLD: &str = "tickets: search by status, a word in the oldest tenth";
const ACTIVITY_COMMON: &str = "tickets: search by last activity, a word in all of them";
const ACTIVITY_OLD: &str = "tickets: search by last activity, a word in the oldest tenth";

/// How many tickets there are for a million payments.
const SHARE: usize = 10;

/// Where the customer paid, as the oldest tenth of the tickets say.
const OLD_PLACE: &str = "kiosk behind the station, where nobody could say when it would be passed on,";
/// What all tickets say.
const IN_ALL: &str =
    " two days ago and shows the receipt, on which date, amount and reference are as they were asked for.";
/// The fewest letters of a text of which no part is in other tickets by chance.
const TELLING: usize = 12;
/// The most texts of a row.
const TEXTS: usize = 5_000;

/// The rows of one database.
pub(crate) async fn rates(database: Database, plan: Plan) -> Vec<Row> {
    let gateway = Setup::new(database).start().await;
    let merchant = gateway.merchant().await;
    let caller = caller_of(&merchant).await;
    let address = address_of(&gateway);
    let first = next();
    let tickets = plan.payments / SHARE;
    let of_old = first..first + tickets as u64 / 10;
    load::send(address, 64, tickets, opening(&caller, of_old)).expect("tickets are opened");
    let list = |query: &str| vec![format!("/api/v1/tickets{query}")];
    let names: Vec<_> = (0..tickets.min(TEXTS) as u64).map(|number| name(first + 2 + number)).collect();
    let mut rows = Vec::new();
    for (operation, paths) in [
        (TICKETS, list("")),
        (SEARCH_COMMON, list("?search=arrived")),
        (SEARCH_OLD, list("?search=kiosk")),
        (SEARCH_RARE, list(&format!("?search={}", name(first + 1)))),
        (NEW_COMMON, searches(parts(IN_ALL))),
        (NEW_OLD, searches(parts(OLD_PLACE))),
        (NEW_RARE, searches(names)),
        (STATUS_COMMON, list("?search=arrived&status=open")),
        (STATUS_OLD, list("?search=kiosk&status=open")),
        (ACTIVITY_COMMON, list("?search=arrived&sort_by=last_activity_at")),
        (ACTIVITY_OLD, list("?search=kiosk&sort_by=last_activity_at")),
    ] {
        let pressure = Pressure { connections: 1, time: plan.time };
        let outcome = load::press(address, pressure, caller.get_paths(&paths));
        let outcome = outcome.unwrap_or_else(|error| panic!("{operation}: {error}"));
        eprintln!("{operation}: {:.0}/s", outcome.per_second);
        let (per_second, latency) = (outcome.per_second, outcome.latency);
        rows.push(Row { operation, callers: 1, per_second, latency, cost: None });
    }
    rows
}

/// The paths of lists that search for these texts.
fn searches(texts: Vec<String>) -> Vec<String> {
    let escaped = texts.into_iter().map(|text| text.replace(' ', "%20").replace(',', "%2C"));
    escaped.map(|text| format!("/api/v1/tickets?search={text}")).collect()
}

/// Different parts of a text, the longest of which may be searched for.
fn parts(text: &str) -> Vec<String> {
    let ends = (TELLING..=text.len().min(100)).flat_map(|length| {
        let last = text.len() - length;
        (0..=last).map(move |from| (from, from + length))
    });
    ends.map(|(from, to)| text[from..to].to_owned()).take(TEXTS).collect()
}

/// A word that no other ticket has a part of.
fn name(number: u64) -> String {
    format!("number{number:09}")
}

/// `POST` of tickets, each with a name of its own in its title; those of some numbers have a text in common.
fn opening(caller: &Caller, of_old: Range<u64>) -> Request {
    let head = format!(
        "POST /api/v1/tickets HTTP/1.1\r\nHost: bench\r\nX-API-Key: {}\r\nContent-Type: application/json\r\nContent-Length: ",
        caller.key
    );
    Arc::new(move |buffer| {
        let number = next();
        let place = if of_old.contains(&number) { OLD_PLACE } else { "counter" };
        let body = format!(
            "{{\"title\":\"A deposit has not arrived, {}\",\
             \"description\":\"The customer paid at the {place}{IN_ALL}\"}}",
            name(number)
        );
        buffer.extend_from_slice(head.as_bytes());
        buffer.extend_from_slice(format!("{}\r\n\r\n{body}", body.len()).as_bytes());
    })
}
