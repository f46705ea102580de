//! What payment providers call.

use crate::row::RouteRow;

pub(super) static ROWS: &[RouteRow] = &[];
