#![doc = include_str!("../README.md")]

mod attention;
mod cli;
mod data_folder;
mod database_file;
mod descriptors;
mod dev;
mod listening;
mod logging;
mod master_key;
mod metrics;
mod mode;
mod readiness;
mod runtimes;
mod sealed_keys;
mod serve;
mod shell_word;
mod signals;
mod standard_error;
mod standard_output;
mod steady_clock;
mod stop_signal;
mod stopping;
mod traces;
mod wire;
mod workers;

use std::process::ExitCode;

use clap::Parser;
use tikv_jemallocator::Jemalloc;

/// This allocator keeps blocks of one size together, so that the bytes that an open stream rarely uses waste
/// no memory.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if let (Some(command), Some(kind), None) = (words.next(), words.next(), words.next())
        && command == quipu_attachments::CHILD_COMMAND
    {
        return quipu_attachments::run_child(&kind.to_string_lossy());
    }
    let cli = cli::Cli::parse();
    let patience = if cli.serves() { standard_error::END } else { standard_error::READ_BY_PEOPLE };
    match cli.run() {
        Ok(status) => status,
        Err(error) => {
            standard_error::write_last_line(&format!("quipu: {error:#}"), patience);
            ExitCode::from(if error.is::<cli::Unanswered>() { 3 } else { 2 })
        }
    }
}
