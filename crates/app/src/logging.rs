//! Log lines, on standard error; standard output belongs to what commands print.
//!
//! Each line is handed to a thread that writes it. Whoever reads standard error may be slow, or may have stopped reading;
//! calls are answered all the same, and what cannot be written in time is counted and left out.

use std::{
    io::{IsTerminal, Write, stderr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, channel, sync_channel},
    },
    time::Duration,
};

use anyhow::{Result, anyhow};
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use crate::config::{LogFormat, Settings};

/// How many lines may wait to be written.
const QUEUE: usize = 8_192;
/// How long the end of the process waits for the last lines.
const PATIENCE: Duration = Duration::from_secs(1);

/// Starts logging. `usual` is the format where none is configured. Lines are written as long as the answer lives.
pub(crate) fn start(settings: &Settings, usual: LogFormat) -> Result<Logging> {
    // The web server tells at length what `serve` says in a line.
    let filter = EnvFilter::new(format!("{},actix_server=warn", settings.log_level));
    let (queue, logging) = Logging::start()?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(stderr().is_terminal())
        .with_writer(queue);
    let started = match settings.log_format.unwrap_or(usual) {
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).try_init(),
        LogFormat::Text => lines.try_init(),
    };
    started.map_err(|error| anyhow!("logging cannot be started: {error}"))?;
    Ok(logging)
}

enum Entry {
    Line(Vec<u8>),
    End,
}

/// The thread that writes. Dropped, it writes what waits.
pub(crate) struct Logging {
    queue: SyncSender<Entry>,
    ended: Receiver<()>,
}

impl Logging {
    fn start() -> Result<(Queue, Self)> {
        let (queue, entries) = sync_channel(QUEUE);
        let (end, ended) = channel();
        let lost = Arc::new(AtomicU64::new(0));
        let thread = std::thread::Builder::new().name("quipu-log".to_owned());
        let counted = Arc::clone(&lost);
        thread.spawn(move || {
            write_until_the_end(&entries, &counted);
            let _nobody_waits = end.send(());
        })?;
        Ok((Queue { queue: queue.clone(), lost }, Self { queue, ended }))
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        if self.queue.try_send(Entry::End).is_ok() {
            let _too_slow = self.ended.recv_timeout(PATIENCE);
        }
    }
}

fn write_until_the_end(entries: &Receiver<Entry>, lost: &AtomicU64) {
    while let Ok(Entry::Line(line)) = entries.recv() {
        // There is nowhere to complain about a log that cannot be written.
        let _unwritten = stderr().lock().write_all(&line);
        let lines = lost.swap(0, Ordering::Relaxed);
        if lines > 0 {
            tracing::warn!(lines, "log lines were left out, because nobody read them in time");
        }
    }
}

/// Where lines are handed over.
#[derive(Clone)]
struct Queue {
    queue: SyncSender<Entry>,
    lost: Arc<AtomicU64>,
}

/// One line, complete when it is dropped.
struct Line<'a> {
    text: Vec<u8>,
    to: &'a Queue,
}

impl<'a> MakeWriter<'a> for Queue {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line { text: Vec::with_capacity(256), to: self }
    }
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.text.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        if self.to.queue.try_send(Entry::Line(std::mem::take(&mut self.text))).is_err() {
            self.to.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_nobody_takes_is_counted_and_keeps_nobody_waiting() {
        let (queue, entries) = sync_channel(1);
        let queue = Queue { queue, lost: Arc::default() };
        for text in ["first", "second", "third"] {
            queue.make_writer().write_all(text.as_bytes()).expect("taken");
        }
        assert_eq!(queue.lost.load(Ordering::Relaxed), 2);
        assert!(matches!(entries.recv(), Ok(Entry::Line(line)) if line == b"first"));
    }
}
