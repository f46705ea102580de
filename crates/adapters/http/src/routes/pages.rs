//! Hosted payment pages.

use crate::row::RouteRow;

pub(super) static ROWS: &[RouteRow] = &[];
