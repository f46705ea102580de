//! The command line: all commands and how they are run.

mod adjust;
mod answer;
mod audit;
mod backup;
mod bank;
mod bank_import;
mod chain;
mod credential;
mod database;
mod key;
mod keyed_decision;
mod listen;
mod merchant;
mod operator;
mod page;
mod part;
mod payment;
mod receipt;
mod routes;
mod session;
mod table;
mod ticket;
mod values;
mod webhook;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use quipu_configuration::Settings;
use quipu_http::Readers;

pub(crate) use self::answer::Unanswered;
use crate::{mode::Mode, serve};

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
    /// The configuration file [default: quipu.toml in the working folder, if it exists]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The data folder; overrides `data_dir` of the configuration
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Print JSON on a terminal too; piped output is JSON anyway, but that of `listen`
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve merchants and operators until SIGTERM or Ctrl-C
    Serve {
        /// Make a master key and demo merchants with test balances, and print lines to try; never in production
        #[arg(long)]
        dev: bool,
    },
    /// Apply pending migrations; creates the embedded database if it does not exist
    Migrate {
        /// Refuse a database that is missing or has no tables yet, instead of making them: it may have been lost
        #[arg(long)]
        existing: bool,
    },
    /// Recompute every balance and verify every invariant; exit status 1 if one is broken
    Check,
    /// The chains of hashes over entries and audit log
    #[command(subcommand)]
    Chain(chain::Command),
    /// Copy the database into a file, while servers keep running
    Backup(backup::Backup),
    /// Restore the database from a backup and verify it; refused if a database exists or a server runs
    Restore(backup::Restore),
    /// Print each webhook that reaches a local port, and whether its signature verifies
    Listen(listen::Listen),
    /// Print every route with the credential and the scope it asks for
    Routes,
    /// Print the description of the API, OpenAPI 3.0.3
    Openapi {
        /// The operator API instead of the merchants'
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
    /// Bank files of the manual rail
    #[command(subcommand)]
    Bank(bank::Command),
    /// What hosted pages show of a merchant
    #[command(subcommand)]
    Page(page::Command),
    /// Webhooks that the operator configures for a merchant
    #[command(subcommand)]
    Webhook(webhook::Command),
    /// Tickets of every merchant: the queue, and what support does with them
    #[command(subcommand)]
    Ticket(ticket::Command),
    /// Print who changed what, newest first
    Audit(audit::Audit),
}

impl Cli {
    /// Whether a supervisor waits for the end of the process, and not a person for its words.
    pub(crate) const fn serves(&self) -> bool {
        matches!(self.command, Command::Serve { .. })
    }

    /// Runs the command to its end.
    pub(crate) fn run(self) -> Result<ExitCode> {
        if self.places.json {
            session::print_json_everywhere();
        }
        let settings = Settings::load(self.places.config.as_deref(), self.places.data.as_deref())?;
        match self.command {
            Command::Serve { dev: false } => serve::run(&settings, Mode::Production),
            Command::Serve { dev: true } => serve::run(&settings, Mode::Demo),
            Command::Migrate { existing } => database::migrate(&settings, existing),
            Command::Check => database::check(&settings),
            Command::Chain(command) => command.run(&settings),
            Command::Backup(backup) => backup.run(&settings),
            Command::Restore(restore) => restore.run(&settings),
            Command::Listen(listen) => listen.run(self.places.json),
            Command::Routes => routes::print(),
            Command::Openapi { operator: true } => routes::openapi(Readers::Operators),
            Command::Openapi { operator: false } => routes::openapi(Readers::Merchants),
            Command::Operator(command) => command.run(&settings),
            Command::Merchant(command) => command.run(&settings),
            Command::Key(command) => command.run(&settings),
            Command::Credential(command) => command.run(&settings),
            Command::Payment(command) => command.run(&settings),
            Command::Receipt(command) => command.run(&settings),
            Command::Bank(command) => command.run(&settings),
            Command::Page(command) => command.run(&settings),
            Command::Webhook(command) => command.run(&settings),
            Command::Ticket(command) => command.run(&settings),
            Command::Audit(audit) => audit.run(&settings),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use quipu_http::RouteRow;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    /// The operations that staff have over HTTP, with the commands that do the same.
    const OF_STAFF: [(&str, &str, &str); 45] = [
        ("GET", "/merchants", "merchant list"),
        ("POST", "/merchants", "merchant create"),
        ("GET", "/merchants/{id}", "merchant show"),
        ("PATCH", "/merchants/{id}", "merchant rename"),
        ("GET", "/merchants/{id}/page", "page show"),
        ("PUT", "/merchants/{id}/page", "page set"),
        ("DELETE", "/merchants/{id}/page", "page unset"),
        ("POST", "/merchants/{id}/rotate-webhook-secret", "merchant rotate-webhook-secret"),
        ("POST", "/merchants/{id}/switch", "merchant switch"),
        ("GET", "/merchants/{id}/api-keys", "key list"),
        ("POST", "/merchants/{id}/api-keys", "key create"),
        ("DELETE", "/merchants/{id}/api-keys/{key_id}", "key revoke"),
        ("POST", "/merchants/{id}/hmac-credentials", "credential create"),
        ("DELETE", "/merchants/{id}/hmac-credentials/{credential_id}", "credential revoke"),
        ("GET", "/merchants/{id}/routes", "merchant routes"),
        ("PUT", "/merchants/{id}/routes", "merchant routes"),
        ("GET", "/merchants/{id}/beneficiaries", "merchant beneficiaries"),
        ("POST", "/merchants/{id}/beneficiaries", "merchant beneficiaries"),
        ("POST", "/merchants/{id}/adjustments", "merchant adjust"),
        ("GET", "/merchants/{id}/webhooks", "webhook list"),
        ("POST", "/merchants/{id}/webhooks", "webhook create"),
        ("GET", "/operators", "operator list"),
        ("POST", "/operators", "operator create"),
        ("DELETE", "/operators/{operator_id}", "operator revoke"),
        ("GET", "/payments", "payment list"),
        ("GET", "/payments/{payment_id}", "payment show"),
        ("POST", "/payments/{payment_id}/submit", "payment submit"),
        ("POST", "/payments/{payment_id}/complete", "payment complete"),
        ("POST", "/payments/{payment_id}/fail", "payment fail"),
        ("POST", "/payments/{payment_id}/return", "payment return"),
        ("GET", "/payments/{payment_id}/refunds", "payment refunds"),
        ("POST", "/payments/{payment_id}/refunds", "payment refund"),
        ("GET", "/receipts", "receipt list"),
        ("POST", "/receipts/{receipt_id}/resolve", "receipt resolve"),
        ("GET", "/tickets", "ticket list"),
        ("GET", "/tickets/{id}", "ticket show"),
        ("GET", "/tickets/{id}/comments", "ticket comments"),
        ("GET", "/tickets/{id}/attachments/{attachment_id}", "ticket attachment"),
        ("POST", "/tickets/{id}/assign", "ticket assign"),
        ("POST", "/tickets/{id}/status", "ticket move"),
        ("POST", "/tickets/{id}/comments", "ticket comment"),
        ("GET", "/ledger/check", "check"),
        ("GET", "/ledger/chains", "chain heads"),
        ("GET", "/audit-log", "audit"),
        ("GET", "/openapi.json", "openapi"),
    ];

    #[test]
    fn whatever_staff_can_do_over_http_the_shell_can_do_too() {
        let commands = Cli::command();
        let mut listed: Vec<_> = OF_STAFF.iter().map(|(method, path, _)| (*method, *path)).collect();
        let of_staff = |row: &&RouteRow| row.path().starts_with("/operator/v1");
        let mut routes: Vec<_> = quipu_http::route_table()
            .filter(of_staff)
            .map(|row| (row.method(), row.path().trim_start_matches("/operator/v1")))
            .collect();
        routes.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, routes, "a route of staff came or went: give it its command");
        for (_, _, words) in OF_STAFF {
            let found = words.split(' ').try_fold(&commands, |command, word| command.find_subcommand(word));
            assert!(found.is_some(), "there is no command {words}");
        }
    }

    #[test]
    fn places_may_stand_before_or_after_the_command() {
        for words in [["quipu", "--data", "d", "check"], ["quipu", "check", "--data", "d"]] {
            let cli = Cli::try_parse_from(words).expect("understood");
            assert_eq!(cli.places.data, Some("d".into()));
        }
    }
}
