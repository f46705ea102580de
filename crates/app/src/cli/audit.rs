//! `quipu audit`: who changed what, from the shell.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use quipu_configuration::Settings;
use quipu_kernel::MerchantId;
use quipu_merchants::{AuditFilter, Staff as _};

use super::{
    part::{self, Between, Part},
    session, values,
};

/// Which lines of the audit log.
#[derive(Debug, Args)]
pub(super) struct Audit {
    /// About this merchant
    #[arg(long, value_parser = values::merchant)]
    merchant: Option<MerchantId>,
    #[command(flatten)]
    between: Between,
    #[command(flatten)]
    part: Part,
}

impl Audit {
    pub(super) fn run(self, settings: &Settings) -> Result<ExitCode> {
        let page = self.part.page()?;
        session::run(settings, async |foundation| {
            let filter = AuditFilter { merchant: self.merchant, at: self.between.period() };
            let (lines, total) = foundation.store.audit_log(filter, page).await?;
            part::print(&lines, total)
        })
    }
}
