#![doc = include_str!("../README.md")]

mod cli;
mod config;
mod data_folder;
mod dev;
mod logging;
mod master_key;
mod metrics;
mod readiness;
mod serve;
mod signals;
mod standard_output;
mod wire;
mod workers;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cli::Cli::parse().run() {
        Ok(status) => status,
        Err(error) => {
            eprintln!("quipu: {error:#}");
            ExitCode::from(2)
        }
    }
}
