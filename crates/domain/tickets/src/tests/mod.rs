//! The rules of this crate, each on examples.

pub(crate) mod bed;
mod decisions;
mod drafts;
mod events;
mod office;
pub(crate) mod world;
