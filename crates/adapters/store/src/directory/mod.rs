//! The directory: merchants, their keys and routes, and the operator's staff, with a file for each entity.
//!
//! Every write is a transaction of its own that ends with its line in the audit log. The look-ups that every
//! call makes are answered from memory for a second ([`cache`]).

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

/// Narrows a boxed query to the rows whose `column` lies in a period.
macro_rules! in_period {
    ($query:expr, $column:expr, $period:expr) => {{
        let mut query = $query;
        if let Some(from) = $period.from {
            query = query.filter($column.ge(from.millis()));
        }
        if let Some(to) = $period.to {
            query = query.filter($column.le(to.millis()));
        }
        query
    }};
}

use in_period;
