//! Every rule of payment creation (docs/API.md, "Create"). What a request has to look like is asked of the edge in memory, table by
//! table (crates/adapters/http/tests/edge/create); here is a row of each table, and what a database has a say in.

mod amounts;
mod customers;
mod expiry;
mod partner_destinations;
mod payouts;
mod records;
mod responses;
mod routes;
mod rows;
