//! Connections to a PostgreSQL server: bounded in every wait, and never kept after they failed; and the turns of those who
//! wait on them for locks.

pub(crate) mod health;
pub(crate) mod lock_turns;
pub(crate) mod pool;
pub(crate) mod session;
pub(crate) mod tls;
