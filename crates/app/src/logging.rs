//! Log lines, on standard error; standard output belongs to what commands print.

use std::io::IsTerminal;

use anyhow::{Result, anyhow};
use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, Settings};

/// Starts logging. `usual` is the format where none is configured.
pub(crate) fn start(settings: &Settings, usual: LogFormat) -> Result<()> {
    // The level is for this program's own lines. Libraries only warn: a database driver asked for more writes down
    // every value it sends, secrets and customers included.
    let level = &settings.log_level;
    let of_libraries = if level == "error" { "error" } else { "warn" };
    let filter = EnvFilter::new(format!("{of_libraries},quipu={level}"));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let started = match settings.log_format.unwrap_or(usual) {
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).try_init(),
        LogFormat::Text => lines.try_init(),
    };
    started.map_err(|error| anyhow!("logging cannot be started: {error}"))
}
