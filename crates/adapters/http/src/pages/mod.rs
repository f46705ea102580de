//! Hosted pages for a payer or a recipient, at an address that only this person has.

pub(crate) mod details;
pub(crate) mod events;
pub(crate) mod files;
pub(crate) mod links;
pub(crate) mod recipient;
pub(crate) mod scheme;
pub(crate) mod show;
mod visit;
