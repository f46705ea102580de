//! Every rule of payment creation (docs/API.md, "Create").

mod amounts;
mod expiry;
mod fields;
mod pairings;
mod partner_destinations;
mod payouts;
mod records;
mod responses;
mod routes;
