//! The page that a run leaves behind.

use std::fmt::Write;

use hdrhistogram::Histogram;
use quipu_tests::Database;

use crate::{
    beside::Ratio, deliveries, fairness, locked, overload, support, uploads, viewers, viewers::Watching,
    writing,
};

/// One measurement.
pub(crate) struct Row {
    /// What was asked for.
    pub(crate) operation: &'static str,
    /// How many callers at once.
    pub(crate) callers: usize,
    pub(crate) per_second: f64,
    /// In microseconds.
    pub(crate) latency: Histogram<u64>,
    /// Processor seconds of the gateway for a thousand requests, and its resident mebibytes; nothing for a reference.
    pub(crate) cost: Option<(f64, f64)>,
}

/// All that was measured on one database.
pub(crate) struct Chapter {
    pub(crate) database: &'static str,
    pub(crate) rows: Vec<Row>,
    /// From start to ready, with all payments there, in milliseconds.
    pub(crate) ready_milliseconds: f64,
    /// The most memory the gateway ever had, in mebibytes.
    pub(crate) peak_mebibytes: f64,
    /// The same while it delivered webhooks.
    pub(crate) peak_delivering: f64,
    /// What streams of hosted pages cost.
    pub(crate) watching: Option<Watching>,
    /// How this build compares with another.
    pub(crate) beside: Vec<Ratio>,
}

/// What a database is called.
pub(crate) const fn name_of(database: Database) -> &'static str {
    match database {
        Database::Sqlite => "SQLite",
        Database::Postgres => "PostgreSQL",
    }
}

impl Chapter {
    /// A chapter in which nothing was measured yet.
    pub(crate) const fn without_core(database: Database) -> Self {
        Self {
            database: name_of(database),
            rows: Vec::new(),
            ready_milliseconds: f64::NAN,
            peak_mebibytes: f64::NAN,
            peak_delivering: f64::NAN,
            watching: None,
            beside: Vec::new(),
        }
    }

    /// What webhooks and support cost, in ratios.
    fn write_ratios(&self, text: &mut String) {
        let alone = self.rate(deliveries::PLAIN, 128);
        if alone.is_finite() {
            let _ = writeln!(
                text,
                "- {}: with one webhook that receives them, creations at 128 connections are {:.0} % of those without; a \
                 backlog drains at {:.0} % of the rate of creations without; at most {:.0} MiB of memory meanwhile.",
                self.database,
                100.0 * self.rate(deliveries::HEARD, 128) / alone,
                100.0 * self.rate(deliveries::DRAIN, 0) / alone,
                self.peak_delivering,
            );
        }
        self.write_refusals(text);
        self.write_lists(text);
        self.write_delays(text);
        let calm = self.rate(uploads::CALM, 128);
        if calm.is_finite() {
            let _ = writeln!(
                text,
                "- {}: while a hundred files of 10 MB come in at once, creations are {:.0} % of those without.",
                self.database,
                100.0 * self.rate(uploads::BUSY, 128) / calm,
            );
        }
        if let Some(watching) = self.watching {
            let _ = writeln!(
                text,
                "- {}: with {} open streams of hosted pages, creations are {:.0} % of those without; a stream takes {:.1} KiB; \
                 a change has reached the last of 5000 viewers after {:.0} ms.",
                self.database,
                watching.viewers,
                100.0 * self.rate(viewers::WATCHED, 128) / self.rate(viewers::UNWATCHED, 128),
                watching.kibibytes_each,
                watching.last_heard.as_secs_f64() * 1_000.0,
            );
        }
        let unfiltered = self.median_milliseconds(support::TICKETS);
        if unfiltered.is_finite() {
            let _ = writeln!(
                text,
                "- {}: a first page of tickets takes {unfiltered:.2} ms; with a word that all of them have {:.1} times as \
                 long, with a word that only the oldest have {:.1} times, with a word that one of them has {:.1} times; \
                 with another word at each call {:.1}, {:.1} and {:.1} times.",
                self.database,
                self.median_milliseconds(support::SEARCH_COMMON) / unfiltered,
                self.median_milliseconds(support::SEARCH_OLD) / unfiltered,
                self.median_milliseconds(support::SEARCH_RARE) / unfiltered,
                self.median_milliseconds(support::NEW_COMMON) / unfiltered,
                self.median_milliseconds(support::NEW_OLD) / unfiltered,
                self.median_milliseconds(support::NEW_RARE) / unfiltered,
            );
        }
    }

    /// How long some wait beside others that are stuck.
    fn write_delays(&self, text: &mut String) {
        let usual = self.quantile_milliseconds(locked::USUAL, locked::OTHERS, 0.99);
        if usual.is_finite() {
            let _ = writeln!(
                text,
                "- {}: 99 of 100 withdrawals of {} merchants are answered within {usual:.1} ms, and within {:.1} ms while the \
                 balance of another merchant is locked.",
                self.database,
                locked::OTHERS,
                self.quantile_milliseconds(locked::BESIDE, locked::OTHERS, 0.99),
            );
        }
        let alone = self.quantile_milliseconds(fairness::ALONE, 1, 0.99);
        if alone.is_finite() {
            let _ = writeln!(
                text,
                "- {}: 99 of 100 deliveries to a healthy endpoint arrive within {alone:.1} ms of the sending of the creation \
                 when it is alone, and within {:.1} ms beside three endpoints that hang, answer with an error, or answer byte by \
                 byte.",
                self.database,
                self.quantile_milliseconds(fairness::BESIDE, 1, 0.99),
            );
        }
    }

    /// What becomes of more creations than there can be.
    fn write_refusals(&self, text: &mut String) {
        let capacity = self.rate(overload::CAPACITY, 128);
        if capacity.is_finite() {
            let _ = writeln!(
                text,
                "- {}: on one core, with {:.1} times as many creations asked for as 128 connections get, over {} connections, \
                 {:.0} % of what those get is accepted, 99 of 100 within {:.0} ms.",
                self.database,
                self.rate(overload::ASKED, overload::CONNECTIONS) / capacity,
                overload::CONNECTIONS,
                100.0 * self.rate(overload::ACCEPTED, overload::CONNECTIONS) / capacity,
                self.quantile_milliseconds(overload::ACCEPTED, overload::CONNECTIONS, 0.99),
            );
        }
    }

    /// What pages cost, measured by the first one.
    fn write_lists(&self, text: &mut String) {
        let first = self.median_milliseconds(super::FIRST_PAGE);
        if first.is_finite() {
            let _ = writeln!(
                text,
                "- {}: a first page is answered at {:.2} times the rate of a get; a page in the middle takes {:.1} times as long as \
                 a first one, a month {:.1} times, a month by type {:.1} times, a currency that one payment in {} has {:.1} times, \
                 a customer's of one type and status {:.1} times (one caller).",
                self.database,
                self.rate(super::FIRST_PAGE, 1) / self.rate(super::GET, 1),
                self.median_milliseconds(super::MIDDLE_PAGE) / first,
                self.median_milliseconds(super::MONTH) / first,
                self.median_milliseconds(super::MONTH_BY_TYPE) / first,
                crate::ceiling::RARE,
                self.median_milliseconds(super::RARE_CURRENCY) / first,
                self.median_milliseconds(super::OF_CUSTOMER) / first,
            );
            let [one, many, most] = super::CALLERS
                .map(|callers| self.rate(writing::FIRST_PAGE, callers) / self.rate(writing::GET, callers));
            let _ = writeln!(
                text,
                "- {}: while the merchant creates {} payments a second, its first page is answered at {one:.2}, {many:.2} and \
                 {most:.2} times the rate of a get (1, 32 and 128 callers).",
                self.database,
                writing::A_SECOND,
            );
        }
    }

    /// This build by the other.
    fn write_beside(&self, text: &mut String) {
        if self.beside.is_empty() {
            return;
        }
        let _ = write!(
            text,
            "\n### Beside another build\n\nThe same calls to both builds in turns; this build's figure by the other's.\n\n\
             | Operation | Callers | Rate | Least | Most | CPU |\n| --- | ---: | ---: | ---: | ---: | ---: |\n"
        );
        for Ratio { operation, callers, rate: [median, least, most], processor } in &self.beside {
            let callers = if *callers == 0 { String::new() } else { callers.to_string() };
            let processor = if processor.is_nan() { String::new() } else { format!("{processor:.2}") };
            let _ = writeln!(
                text,
                "| {operation} | {callers} | {median:.2} | {least:.2} | {most:.2} | {processor} |"
            );
        }
    }

    /// Rate of an operation at a number of callers.
    pub(crate) fn rate(&self, operation: &str, callers: usize) -> f64 {
        let row = self.rows.iter().find(|row| row.operation == operation && row.callers == callers);
        row.map_or(f64::NAN, |row| row.per_second)
    }

    /// Processor time for one request, in microseconds.
    fn microseconds_of(&self, operation: &str, callers: usize) -> f64 {
        let row = self.rows.iter().find(|row| row.operation == operation && row.callers == callers);
        row.and_then(|row| row.cost).map_or(f64::NAN, |(seconds_a_thousand, _)| seconds_a_thousand * 1_000.0)
    }

    fn median_milliseconds(&self, operation: &str) -> f64 {
        self.quantile_milliseconds(operation, 1, 0.5)
    }

    fn quantile_milliseconds(&self, operation: &str, callers: usize, quantile: f64) -> f64 {
        let row = self.rows.iter().find(|row| row.operation == operation && row.callers == callers);
        row.map_or(f64::NAN, |row| milliseconds(row.latency.value_at_quantile(quantile)))
    }

    fn write(&self, text: &mut String) {
        let _ = write!(
            text,
            "\n## {}\n\n| Operation | Callers | Requests/s | p50 ms | p99 ms | max ms | CPU s per 1000 requests | RSS MiB |\n\
             | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
            self.database
        );
        for row in &self.rows {
            let latency = |value| match row.latency.len() {
                0 => String::new(),
                _ => format!("{:.2}", milliseconds(value)),
            };
            let (cpu, memory) = row
                .cost
                .map_or_else(Default::default, |(cpu, memory)| (format!("{cpu:.3}"), format!("{memory:.0}")));
            let cpu = if cpu == "NaN" { String::new() } else { cpu };
            let _ = writeln!(
                text,
                "| {} | {} | {:.0} | {} | {} | {} | {cpu} | {memory} |",
                row.operation,
                if row.callers == 0 { String::new() } else { row.callers.to_string() },
                row.per_second,
                latency(row.latency.value_at_quantile(0.5)),
                latency(row.latency.value_at_quantile(0.99)),
                latency(row.latency.max()),
            );
        }
        if self.ready_milliseconds.is_nan() {
            // The core was left out of this run.
            return;
        }
        let _ = writeln!(
            text,
            "\nTo recognise a caller, count the call and show its account takes {:.1} µs more processor time than to answer a \
             call without a caller (128 callers).",
            self.microseconds_of(super::ACCOUNT, 128) - self.microseconds_of(super::HEALTH, 128),
        );
        let _ = writeln!(
            text,
            "\nReady {:.0} ms after start; at most {:.0} MiB of memory while payments are read and created. A first page with its exact total takes \
             {:.2} ms for the merchant with all payments and {:.2} ms for one with a hundred (medians, one caller).",
            self.ready_milliseconds,
            self.peak_mebibytes,
            self.median_milliseconds(super::FIRST_PAGE),
            self.median_milliseconds(super::FIRST_PAGE_SMALL),
        );
    }
}

#[expect(clippy::cast_precision_loss, reason = "latencies are far below 2^52 microseconds")]
fn milliseconds(microseconds: u64) -> f64 {
    microseconds as f64 / 1_000.0
}

/// The whole page.
pub(crate) fn page(machine: &str, payments: usize, chapters: &[Chapter]) -> String {
    let mut text = format!(
        "# Benchmarks\n\nWritten by `make bench`. {machine}. The release binary, its database and the load generator share \
         the machine.\n\nEvery creation is durable when it is answered: SQLite with `synchronous=FULL`, PostgreSQL with \
         its defaults (`fsync`, `synchronous_commit`). Requests go over kept-alive connections, one under way on each, by one \
         merchant with {payments} payments of {} customers, API key and rate limits checked. Payments are due an \
         hour after they are created, so that settlement runs only in the rows that measure it.\n\nAll callers of a list ask for the same page, and those who ask at \
         once share one read; what a page costs by itself is in the rows of one caller.\n\n\"store\" commits the same changes through the store alone, without HTTP. `pgbench` is PostgreSQL's TPC-B on \
         the same server, with prepared statements. CPU is the gateway's own, without PostgreSQL's. In the row \"deliver a backlog\" the three \
         times are how long the whole backlog took.\n",
        crate::workload::CUSTOMERS
    );
    for chapter in chapters {
        chapter.write(&mut text);
        chapter.write_beside(&mut text);
    }
    text.push_str("\n## In short\n\n");
    for chapter in chapters {
        let (over_http, alone) =
            (chapter.rate(super::WITHDRAW, 128), chapter.rate(super::STORE_WITHDRAW, 128));
        if over_http.is_nan() {
            chapter.write_ratios(&mut text);
            continue;
        }
        let _ = write!(
            text,
            "- {}: {over_http:.0} withdrawals a second at 128 connections, {:.0} % of what the store does alone",
            chapter.database,
            100.0 * over_http / alone
        );
        let (one, many) = (chapter.rate(super::PGBENCH_ONE, 128), chapter.rate(super::PGBENCH_MANY, 128));
        if one.is_finite() {
            let _ = write!(
                text,
                ", {:.1} times `pgbench` TPC-B on one branch (every client updates one row, as here every withdrawal updates \
                 one merchant's balance) and {:.1} times TPC-B on 128 branches (they seldom meet)",
                over_http / one,
                over_http / many
            );
        }
        text.push_str(".\n");
        chapter.write_ratios(&mut text);
    }
    text
}
