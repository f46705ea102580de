//! Lists of a hundred thousand tickets, with and without a word to search for.

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

/// How many tickets there are for a million payments.
const SHARE: usize = 10;

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
    let rare = format!("/api/v1/tickets?search={}", name(first + 1));
    let mut rows = Vec::new();
    for (operation, path) in [
        (TICKETS, "/api/v1/tickets"),
        (SEARCH_COMMON, "/api/v1/tickets?search=arrived"),
        (SEARCH_OLD, "/api/v1/tickets?search=kiosk"),
        (SEARCH_RARE, rare.as_str()),
    ] {
        let pressure = Pressure { connections: 1, time: plan.time };
        let outcome = load::press(address, pressure, caller.get_path(path));
        let outcome = outcome.unwrap_or_else(|error| panic!("{operation}: {error}"));
        eprintln!("{operation}: {:.0}/s", outcome.per_second);
        rows.push(Row {
            operation,
            callers: 1,
            per_second: outcome.per_second,
            latency: outcome.latency,
            cost: None,
        });
    }
    rows
}

/// A word that no other ticket has a part of.
fn name(number: u64) -> String {
    format!("number{number:09}")
}

/// `POST` of tickets, each with a name of its own in its title; those of some numbers have a word in common.
fn opening(caller: &Caller, of_old: Range<u64>) -> Request {
    let head = format!(
        "POST /api/v1/tickets HTTP/1.1\r\nHost: bench\r\nX-API-Key: {}\r\nContent-Type: application/json\r\nContent-Length: ",
        caller.key
    );
    Arc::new(move |buffer| {
        let number = next();
        let place = if of_old.contains(&number) { "kiosk" } else { "counter" };
        let body = format!(
            "{{\"title\":\"A deposit has not arrived, {}\",\
             \"description\":\"The customer paid at the {place} two days ago and shows the receipt.\"}}",
            name(number)
        );
        buffer.extend_from_slice(head.as_bytes());
        buffer.extend_from_slice(format!("{}\r\n\r\n{body}", body.len()).as_bytes());
    })
}
