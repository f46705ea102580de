//! The write path, in the order in which a change walks it.
//!
//! A caller's thread prepares the change ([`job`]) and puts it in the queue of a [`lane`]. The lane takes all that
//! waits and hands it to [`batch`], which loads what the changes depend on ([`load`]), judges each against it and
//! against those before it ([`judge`]), writes what was accepted ([`write_sqlite`], [`write_postgres`]), commits once, and
//! only then answers everybody.

pub(crate) mod aside;
pub(crate) mod batch;
mod columns;
pub(crate) mod job;
mod judge;
pub(crate) mod lane;
mod load;
mod load_postgres;
mod load_sqlite;
pub(crate) mod mark;
mod payments_postgres;
pub(crate) mod standing;
mod state;
mod witness;
mod write_postgres;
mod write_sqlite;
mod writes;
