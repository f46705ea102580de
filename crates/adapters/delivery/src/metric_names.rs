//! The names of what this crate measures.

/// Counts attempts by `result`.
pub const ATTEMPTS: &str = "quipu_webhook_attempts_total";
/// Records how long attempts took.
pub const ATTEMPT_SECONDS: &str = "quipu_webhook_attempt_seconds";
/// Records how long after its event a first attempt began.
pub const DELAY_SECONDS: &str = "quipu_webhook_delay_seconds";
/// Shows how many attempts are being made.
pub const ATTEMPTS_UNDER_WAY: &str = "quipu_webhook_attempts_under_way";
/// Shows how many deliveries wait in memory.
pub const DELIVERIES_IN_MEMORY: &str = "quipu_webhook_deliveries_in_memory";
