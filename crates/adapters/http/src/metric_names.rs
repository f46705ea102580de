//! The names of what this crate measures.

/// Counts calls by `method`, `path` and `status`.
pub const REQUESTS: &str = "quipu_requests_total";
/// Records how long calls took, by `method` and `path`.
pub const REQUEST_SECONDS: &str = "quipu_request_seconds";
/// Counts refusals because of a rate, by `method` and `path`.
pub const RATE_LIMITED: &str = "quipu_rate_limited_total";
/// Counts callbacks that verified, by `outcome`.
pub const CALLBACKS: &str = "quipu_callbacks_total";
/// Shows how many breaches the last verification of the ledger found.
pub const LEDGER_BREACHES: &str = "quipu_ledger_breaches";
/// Shows when that verification was made, in Unix time.
pub const LEDGER_CHECKED: &str = "quipu_ledger_checked_timestamp_seconds";
