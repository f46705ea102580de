//! The options for the part of a list that a command prints.

use anyhow::Result;
use clap::Args;
use quipu_kernel::{Page, Period, Problems, Timestamp};
use serde::Serialize;
use serde_json::json;

use super::session;

/// A page of a list.
#[derive(Debug, Args)]
pub(super) struct Part {
    /// How many at most, 1 to 100
    #[arg(long, default_value_t = Page::DEFAULT_LIMIT.into())]
    limit: u64,
    /// How many to skip
    #[arg(long, default_value_t = 0)]
    offset: u64,
}

impl Part {
    pub(super) fn page(&self) -> Result<Page> {
        let mut problems = Problems::new();
        let page = Page::read(self.limit, self.offset, &mut problems);
        problems.admit(page).map_err(session::explained)
    }
}

/// Of which time.
#[derive(Debug, Args)]
pub(super) struct Between {
    /// From this date or instant on, ISO 8601
    #[arg(long, value_parser = begin)]
    from: Option<Timestamp>,
    /// Up to and including this date or instant
    #[arg(long, value_parser = end)]
    to: Option<Timestamp>,
}

impl Between {
    pub(super) const fn period(&self) -> Period {
        Period { from: self.from, to: self.to }
    }
}

fn begin(text: &str) -> Result<Timestamp, String> {
    instant(Timestamp::parse_beginning(text))
}

fn instant(read: Option<Timestamp>) -> Result<Timestamp, String> {
    read.ok_or_else(|| "must be an ISO 8601 date or instant".to_owned())
}

fn end(text: &str) -> Result<Timestamp, String> {
    instant(Timestamp::parse_end(text))
}

/// Prints a page of a list, and the number of all rows.
pub(super) fn print(rows: &[impl Serialize], total: u64) -> Result<()> {
    session::print(&json!({ "data": rows, "total": total }))
}
