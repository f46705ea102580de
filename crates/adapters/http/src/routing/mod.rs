//! From a request to its handler and back: what a row of the route table says, the access rule that a request passes,
//! and the parts that every answer gets on its way out.

mod access;
pub(crate) mod deprecation;
pub(crate) mod dispatch;
mod entrance;
mod long_answers;
pub(crate) mod measure;
pub(crate) mod operation;
mod row;
mod sending;

pub use access::Credentials;
pub(crate) use access::{Access, Judge, Needs};
pub(crate) use operation::{Operation, Shows, Tells};
pub use row::RouteRow;
pub(crate) use row::Undescribed;
