//! Whether the process lives and can work.

use super::row;
use crate::{door::Door, health, row::RouteRow};

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("GET", "/healthz", Door::Public(run!(health::alive, call))),
    row("GET", "/readyz", Door::Public(run!(health::ready, call))),
];
