//! The write path, in the order in which a change walks it.
//!
//! A caller's thread prepares the change ([`job`]) and puts it in the queue of a [`lane`]. The lane takes all that
//! waits and hands it to [`batch`], which loads what the changes depend on ([`load`]), has each judged against it and
//! against those before it (`quipu_commit::judge`), writes what was accepted ([`write`]), commits once, and only then
//! answers everybody and tells the hub.

pub(crate) mod batch;
pub(crate) mod job;
pub(crate) mod lane;
mod load;
mod write;
