//! The description of the interface, for machines and people.

use super::row;
use crate::{
    answer::ErrorCode,
    docs,
    routing::{Access, RouteRow, Shows::Media, operation::op},
};

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("GET", "/api/v1/openapi.json", Access::Public(run!(docs::merchants_document, call)))
        .doc(op("openapi", "This document").shows(Media(&["application/json"]))),
    row("GET", "/operator/v1/openapi.json", Access::Public(run!(docs::operators_document, call)))
        .doc(op("openapi_operator", "This document").shows(Media(&["application/json"]))),
    row("GET", "/api/v1/docs", Access::Public(run!(docs::page, call)))
        .doc(op("reference", "The interactive reference").shows(Media(&["text/html"]))),
    row("GET", "/api/v1/docs/{file}", Access::Public(run!(docs::file, call)))
        .doc(op("referenceFile", "A part of the interactive reference").shows(Media(&["text/css", "text/javascript", "image/svg+xml"])).refuses(&[ErrorCode::RouteNotFound])),
];
