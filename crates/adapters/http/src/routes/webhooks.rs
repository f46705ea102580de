//! Webhook endpoints: under `/api/v1`, and under the bare paths as well.

use crate::row::RouteRow;

pub(super) static ROWS: &[RouteRow] = &[];
