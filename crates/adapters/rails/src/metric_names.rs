//! The names of what this crate measures.

/// Shows how many rails are left alone because their providers do not answer.
pub const RAILS_LEFT_ALONE: &str = "quipu_rails_left_alone";
