//! What a request to create a payment has to look like, table by table (docs/API.md, "Create"). A row of each table goes through
//! a process and a database, too (tests/suite/create/rows.rs).

mod amounts;
mod fields;
mod pairings;
mod partner_destinations;
mod payouts;
