//! Callbacks from payment providers.

use super::row;
use crate::{
    answer::ErrorCode,
    callbacks,
    request::Intake,
    routing::{Access, RouteRow, Shows::Data, operation::op},
};

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("POST", "/api/v1/providers/{rail}/callbacks", Access::Callback(callbacks::JUDGE, run!(callbacks::handle, call, provider)))
        .reads(Intake::Whole(callbacks::MOST_BYTES))
        .doc(op("tellOfPayment", "A payment provider reports what happened to a payment; see the guide `/guides/rail-protocol`").takes("Callback").shows(Data("CallbackHeard")).refuses(&[ErrorCode::RouteNotFound])),
];
