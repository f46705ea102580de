//! The one table of routes, a file for each area. The router is built from it, and so are the documents and the tests.
//!
//! A row gives a route's path, its access rule (how callers authenticate), the scope and budget of a merchant's
//! call, the handler, and last its description for the documents. By default a body is JSON and errors have
//! the shapes of the API; a row states any difference:
//!
//! ```text
//! row("POST", "/api/v1/tickets", Access::KeyOrToken(scope(Scope::TicketsCreate), run!(tickets::create, call, caller)))
//!     .also_at("/tickets")
//!     .family_of(Family::Ticket)
//!     .doc(op("createTicket", "Open a ticket").takes("TicketCreate").shows(Data("Ticket"))),
//! row("PUT", "/uploads/{id}", Access::Anonymous(run!(uploads::put, call)))
//!     .reads(Intake::Stream(10_485_760))
//!     .family_of(Family::Ticket)
//!     .doc(op("sendFile", "Send the bytes of a file").shows(Data("Uploaded"))),
//! ```

use quipu_merchants::{KeyBudget, Scope};

use crate::routing::{Access, Needs, RouteRow, Undescribed};

/// Wraps an `async fn` for the table.
macro_rules! run {
    ($handler:path, $($argument:ident),+) => { |$($argument),+| Box::pin($handler($($argument),+)) };
}

mod account;
mod balance;
mod callbacks;
mod docs;
mod health;
mod operator;
mod pages;
mod payments;
mod tickets;
mod webhooks;

#[cfg(test)]
pub(crate) use run;

/// The rows of all areas. Of two matching paths the earlier one counts.
static AREAS: [&[RouteRow]; 10] = [
    health::ROWS,
    docs::ROWS,
    account::ROWS,
    payments::ROWS,
    balance::ROWS,
    webhooks::ROWS,
    tickets::ROWS,
    callbacks::ROWS,
    pages::ROWS,
    operator::ROWS,
];

/// Every route of the interface.
pub fn route_table() -> impl Iterator<Item = &'static RouteRow> {
    AREAS.iter().flat_map(|rows| rows.iter())
}

pub(crate) const fn row(method: &'static str, path: &'static str, access: Access) -> Undescribed {
    Undescribed::new(method, path, access)
}

/// The needs of a merchant's call with this scope.
pub(crate) const fn scope(scope: Scope) -> Needs {
    Needs { scope: Some(scope), budget: KeyBudget::Standard }
}

const ANY_SCOPE: Needs = Needs { scope: None, budget: KeyBudget::Standard };
const CREATION: Needs = Needs { scope: Some(Scope::PaymentsCreate), budget: KeyBudget::PaymentCreation };

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::routing::Credentials;

    #[test]
    fn no_route_stands_twice_in_the_table() {
        let all: Vec<_> =
            route_table().flat_map(|row| row.paths().map(move |path| (row.method(), path))).collect();
        let distinct: BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn webhooks_and_tickets_answer_under_the_bare_paths_too() {
        let resources = ["/api/v1/webhooks", "/api/v1/tickets"];
        let rows = route_table().filter(|row| resources.iter().any(|path| row.path().starts_with(path)));
        let rows: Vec<_> = rows.collect();
        assert_eq!(rows.len(), 20, "{rows:?}");
        for row in rows {
            assert_eq!(row.alias(), row.path().strip_prefix("/api/v1"), "{row:?}");
        }
    }

    #[test]
    fn of_what_asks_for_credentials_only_tokens_ask_for_no_scope() {
        let unscoped = route_table().filter(|row| row.scope().is_none());
        let unscoped = unscoped.filter(|row| {
            !matches!(row.credentials(), Credentials::None | Credentials::Provider | Credentials::Staff(_))
        });
        let paths: Vec<_> = unscoped.map(RouteRow::path).collect();
        assert_eq!(paths, ["/api/v1/auth/token", "/api/v2/auth/token"]);
    }

    #[test]
    fn only_what_is_the_same_for_everybody_is_open_and_uncounted() {
        let open = route_table().filter(|row| matches!(row.access, Access::Public(_)));
        let paths: Vec<_> = open.map(RouteRow::path).collect();
        let expected = [
            "/healthz",
            "/readyz",
            "/api/v1/openapi.json",
            "/operator/v1/openapi.json",
            "/api/v1/docs",
            "/api/v1/docs/{file}",
            "/.well-known/jwks.json",
            "/",
            "/guides/{name}",
            "/assets/{name}",
        ];
        assert_eq!(paths, expected);
    }
}
