//! The verification of the whole ledger.

use quipu_ledger::CheckReport;

use crate::{connection::Connection, error::Fault};

pub(crate) async fn check(_conn: &mut Connection) -> Result<CheckReport, Fault> {
    Ok(CheckReport::default())
}
