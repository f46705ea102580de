//! The directory: merchants, their keys and routes, and the operator's staff, with a file for each entity.
//!
//! Every write is a transaction of its own that ends with its line in the audit log. The look-ups that every
//! call makes are answered from memory for a second ([`cache`](crate::cache)).

/// Wraps an async function as a query for a worker.
macro_rules! query {
    (|$conn:ident| $body:expr) => {
        move |$conn: &mut $crate::connection::Connection| -> futures_util::future::BoxFuture<'_, _> {
            Box::pin(async move { $body })
        }
    };
}

pub(crate) mod audit;
mod beneficiaries;
mod credentials;
mod keys;
pub(crate) mod merchants;
mod operators;
mod pages;
mod port;
mod revoke;
mod routes;
mod sealed;
