//! The names of what this crate measures.

/// Shows how many merchants wait for a lock beside the lanes.
pub const COMMIT_ASIDES: &str = "quipu_commit_asides";
/// Records how many changes a transaction had.
pub const COMMIT_BATCH_CHANGES: &str = "quipu_commit_batch_changes";
/// Records how long transactions took.
pub const COMMIT_SECONDS: &str = "quipu_commit_seconds";
/// Counts changes that were dropped because their time was over.
pub const COMMIT_TOO_LATE: &str = "quipu_commit_too_late_total";
/// Counts commits whose answer was lost.
pub const COMMIT_UNANSWERED: &str = "quipu_commit_unanswered_total";
