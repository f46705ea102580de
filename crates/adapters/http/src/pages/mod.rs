//! Hosted pages for a payer or a recipient, at an address that only this person has.

mod about;
pub(crate) mod details;
pub(crate) mod events;
pub(crate) mod files;
pub(crate) mod links;
pub(crate) mod recipient;
pub(crate) mod scheme;
mod services;
pub(crate) mod show;
mod viewers;
mod visit;

pub use services::PageServices;
pub use viewers::{ViewerLimits, Viewers};
