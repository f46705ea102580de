//! Queries, and what they are.

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

/// What a query is, and so whom it may hold up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// A few rows by their keys.
    Short,
    /// A page of payments that is found by what the commits count.
    Payments,
    /// A page of another list, with its total.
    Page,
    /// Whole tables. It takes as long as it takes, while the database answers others.
    Whole,
    /// What is to be sealed next, behind everything else.
    Seals,
}
