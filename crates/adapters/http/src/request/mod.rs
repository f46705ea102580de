//! A request as a handler sees it: the call, its query string and its body.

pub(crate) mod body;
pub(crate) mod call;
mod content;
mod json;
mod query;

pub(crate) use body::Intake;
pub(crate) use call::{Call, JUDGED_FOR, LetIn, Outcome, Running};
pub(crate) use content::Content;
pub(crate) use query::Query;
