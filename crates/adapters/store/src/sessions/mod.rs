//! Connections to a PostgreSQL server: bounded in every wait, and never kept after they failed.

pub(crate) mod health;
pub(crate) mod pool;
pub(crate) mod session;
pub(crate) mod tls;
