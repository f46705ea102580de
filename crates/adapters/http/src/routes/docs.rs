//! The description of the interface, for machines and for people.

use crate::row::RouteRow;

pub(super) static ROWS: &[RouteRow] = &[];
