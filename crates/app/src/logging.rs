//! Log lines, on standard error; standard output belongs to what commands print.

use std::io::IsTerminal;

use anyhow::{Result, anyhow};
use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, Settings};

/// Starts logging. `usual` is the format where none is configured.
pub(crate) fn start(settings: &Settings, usual: LogFormat) -> Result<()> {
    let level = settings.log_level.as_str();
    // What libraries say below `info` quotes what they carry: the database's every parameter, and with it the customers'
    // data. And the web server tells at length what `serve` says in a line.
    let libraries = if matches!(level, "debug" | "trace") { "info" } else { level };
    let filter = EnvFilter::new(format!("{libraries},actix_server=warn,quipu={level}"));
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
