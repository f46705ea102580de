//! Payments (docs/API.md, "Payments").

pub(crate) mod cancel;
pub(crate) mod create;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod methods;
