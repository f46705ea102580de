//! The write path, in the order in which a change walks it.
//!
//! A caller's thread prepares the change ([`job`]) and puts it in the queue of a [`lane`]. The lane takes all
//! that waits and hands it to [`batch`], which loads what the changes depend on ([`load`]), has each judged
//! against it and against those before it (`quipu_commit::judge`), writes what was accepted
//! ([`write`](mod@write)) and the deliveries that its events owe ([`fan_out`]), commits once ([`sending`]), and
//! only then answers all callers and tells the hub. What is done about a batch that failed, [`next_step`] decides.
//! A merchant whose rows are locked waits in an [`aside`]. The outcome of a commit that was not answered is found
//! by its [`Mark`](crate::transaction::commit_outcome::Mark). Writes that change no books share a transaction
//! behind the batch ([`small_writes`]).

pub(crate) mod aside;
pub(crate) mod batch;
mod fan_out;
pub(crate) mod job;
pub(crate) mod lane;
mod load;
mod next_step;
mod sending;
pub(crate) mod small_writes;
mod witness;
mod write;

/// The most changes that are committed together.
const BATCH: usize = 512;
/// The most changes that wait in the queue of a lane, or of a merchant aside.
const QUEUE: usize = 4096;
