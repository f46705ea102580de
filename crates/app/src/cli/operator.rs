//! `quipu operator`: the operator's staff.

use std::{process::ExitCode, time::Duration};

use anyhow::{Result, bail};
use clap::Subcommand;
use quipu_configuration::{Settings, duration};
use quipu_kernel::{Page, Period};
use quipu_merchants::{Actor, DirectoryError, NewOperator, Operator, Role, Staff as _};
use serde_json::{Value, json};

use super::{answer, session};
use crate::wire::Foundation;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Add a member of staff and print the token, once
    Create {
        /// Shown in the audit log
        #[arg(long)]
        name: String,
        /// admin, finance, support or viewer
        #[arg(long)]
        role: Role,
        /// After which time the token ends by itself, such as 8h or 30d; never unless given
        #[arg(long, value_name = "DURATION", value_parser = lifetime)]
        expires_in: Option<Duration>,
    },
    /// List the staff, revoked ones included
    List,
    /// Revoke a token; serving nodes refuse it within two seconds. The last admin stays
    Revoke {
        /// The operator's identifier, as `list` shows it
        operator_id: String,
    },
}

/// What is told if the outcome of `create` is unknown.
const MAY_BE_MADE: &str = "a token may have been made, which nobody has: quipu operator list shows it, and \
    quipu operator revoke OPERATOR_ID ends it";

fn lifetime(text: &str) -> Result<Duration, String> {
    match duration(text) {
        Ok(Duration::ZERO) => Err("must be longer than nothing".to_owned()),
        Ok(lifetime) => Ok(lifetime),
        Err(expected) => Err(format!("must be {expected}")),
    }
}

impl Command {
    pub(super) fn run(self, settings: &Settings) -> Result<ExitCode> {
        session::run(settings, async |foundation| match self {
            Self::Create { name, role, expires_in } => {
                let now = foundation.clock.now();
                let expires_at = expires_in.map(|time| now.plus(time));
                let body = json!({ "name": name, "role": role, "expires_at": expires_at });
                let new = NewOperator::parse(&body, now).map_err(session::explained)?;
                let issued = foundation.onboarding().create_operator(new, Actor::shell()).await;
                let issued = answer::explained(issued, || MAY_BE_MADE.to_owned())?;
                let mut answer = issued.record.shown();
                answer["token"] = json!(issued.secret.expose());
                answer::print(&answer)
            }
            Self::List => session::print(&json!({ "data": everybody(foundation).await? })),
            Self::Revoke { operator_id } => {
                let revoked = foundation.onboarding().revoke_operator(&operator_id, Actor::shell()).await;
                if let Err(DirectoryError::NotFound) = revoked {
                    bail!("no operator has the identifier {operator_id}");
                }
                answer::explained(revoked, || {
                    "the token may be revoked: quipu operator list shows it".to_owned()
                })?;
                answer::print(&json!({ "revoked": operator_id }))
            }
        })
    }
}

async fn everybody(foundation: &Foundation) -> Result<Vec<Value>> {
    let mut staff = Vec::new();
    while let Some(page) = Page::new(Page::MAX_LIMIT, staff.len() as u64) {
        let (operators, _) = foundation.store.operators(Period::default(), page).await?;
        if operators.is_empty() {
            break;
        }
        staff.extend(operators.iter().map(Operator::shown));
    }
    Ok(staff)
}
