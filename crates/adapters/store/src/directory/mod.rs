//! The port to merchants, their keys and routes, and the operator's staff: one file an entity.
//!
//! Every write is a transaction of its own that ends with its line in the audit log. What every call looks up is
//! answered from memory for a second ([`cache`]).

pub(crate) mod audit;
mod beneficiaries;
pub(crate) mod cache;
mod credentials;
mod keys;
mod merchants;
mod operators;
mod port;
mod revoke;
mod routes;
