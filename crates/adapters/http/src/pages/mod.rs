//! Hosted pages: what a payer or a recipient sees, under an address that only they have.

pub(crate) mod details;
pub(crate) mod events;
pub(crate) mod files;
pub(crate) mod recipient;
pub(crate) mod scheme;
pub(crate) mod show;
mod viewers;
mod visit;

pub use viewers::{ViewerLimits, Viewers};
