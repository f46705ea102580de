//! The command line.

mod adjust;
mod backup;
mod bank;
mod bank_import;
mod chain;
mod credential;
mod database;
mod key;
mod listen;
mod merchant;
mod once;
mod operator;
mod payment;
mod receipt;
mod routes;
mod session;
mod table;
mod values;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use crate::{config::Settings, serve};

/// Quipu, a payment gateway for merchants.
#[derive(Debug, Parser)]
#[command(name = "quipu", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    places: Places,
    #[command(subcommand)]
    command: Command,
}

/// Where the configuration and the data are, and how results are printed.
#[derive(Debug, Args)]
struct Places {
    /// The configuration file; `quipu.toml` of the working folder, if there is one, unless given
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The data folder; beats `data_dir` of the configuration
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Print JSON on a terminal too; what is piped is JSON anyhow
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve merchants and operators until SIGTERM or Ctrl-C
    Serve {
        /// Make a master key, demo merchants with test balances, and print lines to try
        #[arg(long)]
        dev: bool,
    },
    /// Apply the migrations that the database lacks; makes an embedded database that is not there
    Migrate {
        /// Refuse to make an embedded database: the one that was there may have gone
        #[arg(long)]
        existing: bool,
    },
    /// Recompute every balance and verify every invariant; exit status 1 if one is broken
    Check,
    /// The chains of hashes over entries and audit log
    #[command(subcommand)]
    Chain(chain::Command),
    /// Copy the database into a file, while servers go on to write
    Backup(backup::Backup),
    /// Make the database out of a copy, and verify it; refused where there is one, or a server runs
    Restore(backup::Restore),
    /// Print each webhook that reaches a local port, and whether its signature verifies
    Listen(listen::Listen),
    /// Print every route with the credential and the scope it asks for
    Routes,
    /// Print the description of the interface, OpenAPI 3.0.3
    Openapi {
        /// That of the operator's interface
        #[arg(long)]
        operator: bool,
    },
    /// The operator's staff
    #[command(subcommand)]
    Operator(operator::Command),
    /// Merchants
    #[command(subcommand)]
    Merchant(merchant::Command),
    /// API keys of v1 merchants
    #[command(subcommand)]
    Key(key::Command),
    /// HMAC credentials of v2 merchants
    #[command(subcommand)]
    Credential(credential::Command),
    /// Payments of every merchant: find them, decide about them, refund them
    #[command(subcommand)]
    Payment(payment::Command),
    /// Parked receipts
    #[command(subcommand)]
    Receipt(receipt::Command),
    /// Bank files of the `manual` rail
    #[command(subcommand)]
    Bank(bank::Command),
}

impl Cli {
    /// Runs the command to its end.
    pub(crate) fn run(self) -> Result<ExitCode> {
        if self.places.json {
            session::print_json_everywhere();
        }
        let settings = Settings::load(self.places.config.as_deref(), self.places.data.as_deref())?;
        match self.command {
            Command::Serve { dev } => serve::run(&settings, dev),
            Command::Migrate { existing } => database::migrate(&settings, existing),
            Command::Check => database::check(&settings),
            Command::Chain(command) => command.run(&settings),
            Command::Backup(backup) => backup.run(&settings),
            Command::Restore(restore) => restore.run(&settings),
            Command::Listen(listen) => listen.run(),
            Command::Routes => routes::print(),
            Command::Openapi { operator } => routes::openapi(operator),
            Command::Operator(command) => command.run(&settings),
            Command::Merchant(command) => command.run(&settings),
            Command::Key(command) => command.run(&settings),
            Command::Credential(command) => command.run(&settings),
            Command::Payment(command) => command.run(&settings),
            Command::Receipt(command) => command.run(&settings),
            Command::Bank(command) => command.run(&settings),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn places_may_stand_before_or_after_the_command() {
        for words in [["quipu", "--data", "d", "check"], ["quipu", "check", "--data", "d"]] {
            let cli = Cli::try_parse_from(words).expect("understood");
            assert_eq!(cli.places.data, Some("d".into()));
        }
    }
}
