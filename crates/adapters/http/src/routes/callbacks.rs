//! What payment providers call.

use super::row;
use crate::{body::Intake, callbacks, door::Door, row::RouteRow};

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("POST", "/api/v1/providers/{rail}/callbacks", Door::Callback(callbacks::judge, run!(callbacks::handle, call, provider)))
        .reads(Intake::Whole(callbacks::MOST_BYTES)),
];
