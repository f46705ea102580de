//! Liveness and readiness.

use super::row;
use crate::{
    health,
    routing::{Access, RouteRow, Shows::Plain, operation::op},
};

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("GET", "/healthz", Access::Public(run!(health::alive, call)))
        .doc(op("isAlive", "Whether the process answers").shows(Plain("Health"))),
    row("GET", "/readyz", Access::Public(run!(health::ready, call)))
        .doc(op("isReady", "Whether everything it depends on is there").shows(Plain("Readiness")).or_answers(&[(503, Plain("Readiness"))])),
];
