//! Log lines on standard error; standard output is for the results of commands.
//!
//! A thread of its own writes the lines. If the reader of standard error is slow or has stopped, calls are
//! answered all the same; lines that cannot be written, or not in time, are counted and dropped.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    io::{self, BufWriter, IsTerminal as _, Write, stderr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Result, anyhow};
use quipu_configuration::{LogFormat, Settings};
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::{
    Layer as _,
    filter::{FilterExt as _, LevelFilter, Targets, filter_fn},
    fmt,
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

use crate::traces::Traces;

/// How long dropping [`Logging`] takes at most, if nobody reads standard error: `tracing_appender` says so.
pub(crate) const END: Duration = Duration::from_millis(1_100);
/// The most lines that wait to be written.
const QUEUE: usize = 8_192;

/// How long lines are gathered before they are written together. Without that every line would wake the
/// thread.
const GATHER: Duration = Duration::from_millis(2);
/// The most bytes that are written at once.
const AT_ONCE: usize = 64 * 1024;

/// Writes the gathered lines, and then pauses so that more can gather.
struct Gathering<W: Write> {
    lines: BufWriter<W>,
    /// How many lines could not be written.
    refused: Arc<AtomicUsize>,
}

impl<W: Write> Write for Gathering<W> {
    /// Takes one line. What was gathered before stays if it cannot be written, for instance on a full disk.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let taken = self.lines.write(line);
        if taken.is_err() {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        taken
    }

    /// Called when no line is waiting.
    fn flush(&mut self) -> io::Result<()> {
        self.lines.flush()?;
        std::thread::sleep(GATHER);
        Ok(())
    }
}

/// How many lines were dropped.
#[derive(Debug, Clone)]
pub(crate) struct LostLines {
    /// Those that found no room in the queue.
    unqueued: ErrorCounter,
    refused: Arc<AtomicUsize>,
}

impl LostLines {
    pub(crate) fn count(&self) -> usize {
        self.unqueued.dropped_lines() + self.refused.load(Ordering::Relaxed)
    }
}

/// The writing thread. Dropping this writes the waiting lines.
pub(crate) struct Logging {
    lost: LostLines,
    _thread: WorkerGuard,
}

impl Logging {
    /// The counter of dropped lines.
    pub(crate) fn lost(&self) -> LostLines {
        self.lost.clone()
    }
}

/// Starts logging. `usual` is the format if none is configured. Lines are written as long as the result
/// lives.
pub(crate) fn start(settings: &Settings, usual: LogFormat, traces: Option<&Traces>) -> Result<Logging> {
    let level: LevelFilter = settings.log_level.as_str().parse()?;
    // Below `info` libraries log the data that they carry, such as every parameter of a statement, and with it
    // customers' data. The web server repeats at length what `serve` logs in one line, and logs the mistakes of
    // clients as errors.
    let filter = Targets::new()
        .with_default(level.min(LevelFilter::INFO))
        .with_target("actix_server", LevelFilter::WARN)
        .with_target("actix_http", LevelFilter::OFF)
        .with_target("quipu", level);
    let queue =
        NonBlockingBuilder::default().lossy(true).buffered_lines_limit(QUEUE).thread_name("quipu-log");
    let refused = Arc::new(AtomicUsize::new(0));
    let lines = BufWriter::with_capacity(AT_ONCE, stderr());
    let (queue, thread) = queue.finish(Gathering { lines, refused: Arc::clone(&refused) });
    let lost = LostLines { unqueued: queue.error_counter(), refused };
    let logging = Logging { lost, _thread: thread };
    // Spans are for traces alone: where there are none, no span costs anything.
    let filter = filter.and(filter_fn(is_event));
    let lines = fmt::layer().with_ansi(stderr().is_terminal()).with_writer(queue);
    let started = tracing_subscriber::registry().with(traces.map(Traces::layer));
    let started = match settings.log_format.unwrap_or(usual) {
        LogFormat::Json => {
            let lines = lines.json().flatten_event(true).with_span_list(false).with_current_span(false);
            started.with(lines.with_filter(filter)).try_init()
        }
        LogFormat::Text => started.with(lines.with_filter(filter)).try_init(),
    };
    started.map_err(|error| anyhow!("logging cannot be started: {error}"))?;
    // A panic becomes a line like any other, so that a program that reads JSON can read it.
    std::panic::set_hook(Box::new(|panic| {
        let backtrace = Backtrace::capture();
        let backtrace = (backtrace.status() == BacktraceStatus::Captured).then(|| backtrace.to_string());
        tracing::error!(backtrace, "{panic}");
    }));
    Ok(logging)
}

fn is_event(metadata: &tracing::Metadata<'_>) -> bool {
    metadata.is_event()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes nothing, like a file on a full disk.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_that_cannot_be_written_is_counted() {
        let refused = Arc::new(AtomicUsize::new(0));
        let lines = BufWriter::with_capacity(16, Full);
        let mut gathering = Gathering { lines, refused: Arc::clone(&refused) };
        assert!(gathering.write_all(b"0123456789\n").is_ok(), "it is gathered");
        for lost in 1..=3 {
            assert!(gathering.write_all(b"0123456789\n").is_err());
            assert_eq!(refused.load(Ordering::Relaxed), lost);
        }
    }
}
