//! The viewers of hosted pages: what they see, and how a change reaches them.

pub(crate) mod about;
pub(crate) mod services;
pub(crate) mod viewers;
