//! What every answer is made of: the JSON of successes, the mapping of everything that can go wrong to a code and a
//! shape, and the headers of each kind of body.

mod domain_errors;
pub(crate) mod envelope;
mod error;
mod error_code;
mod error_shape;
pub(crate) mod reply;
pub(crate) mod request_id;

pub(crate) use error::ApiError;
pub(crate) use error_code::ErrorCode;
pub(crate) use error_shape::Family;
pub(crate) use request_id::X_REQUEST_ID;
