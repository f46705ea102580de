//! `quipu operator`: the operator's staff.

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use quipu_merchants::{Actor, Role};
use serde_json::json;

use super::{session, values};
use crate::config::Settings;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Add a member of staff and print the token, once
    Create {
        /// Shown in the audit log
        #[arg(long, value_parser = values::name)]
        name: String,
        /// admin, finance, support or viewer
        #[arg(long)]
        role: Role,
    },
}

impl Command {
    pub(super) fn run(self, settings: &Settings) -> Result<ExitCode> {
        session::run(settings, async |foundation| {
            let Self::Create { name, role } = self;
            let issued = foundation.onboarding().create_operator(name, role, Actor::shell()).await?;
            session::print(&json!({
                "operator_id": issued.record.operator_id,
                "name": issued.record.name,
                "role": issued.record.role.as_str(),
                "token": issued.secret.expose(),
            }))
        })
    }
}
