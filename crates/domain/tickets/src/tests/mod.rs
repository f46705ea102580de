//! The rules of this crate, each on examples.

mod decisions;
mod drafts;
mod events;
pub(crate) mod world;
