//! The crate's rules, tested from its own door: requests in, changes out.
//!
//! [`store::FakeStore`] wraps the reference store, which judges every commit as the port demands; rails are mocks, since
//! other people own them.

mod additions;
mod alert;
mod bank_export;
mod cancel_and_adjust;
mod consequence;
mod create;
mod directory;
mod draft;
mod events;
mod instruct;
mod keyed_creation;
mod methods;
mod movements;
mod named;
mod overtaken;
mod payout;
mod receipts;
mod recipient;
mod scheme;
mod settle;
mod store;
mod stored_events;
mod transitions;
mod unknown;
mod world;
