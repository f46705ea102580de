//! A query as a function of a connection, and the class that decides which connections it may use.

use futures_util::future::BoxFuture;

use crate::connection::Connection;

/// A query, as a function of a connection.
pub(crate) trait Query<T, E>:
    for<'c> FnOnce(&'c mut Connection) -> BoxFuture<'c, Result<T, E>> + Send + 'static
{
}

impl<F, T, E> Query<T, E> for F where
    F: for<'c> FnOnce(&'c mut Connection) -> BoxFuture<'c, Result<T, E>> + Send + 'static
{
}

/// The class of a query, by which it is kept from holding up more important ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// A few rows by their keys.
    Short,
    /// A page of payments, found by the counters that commits keep.
    Payments,
    /// A page of another list, with its total.
    Page,
    /// Reads whole tables. It may run for as long as the database answers other queries.
    Whole,
    /// Reads the rows to be sealed next. All other queries come first.
    Seals,
}
