//! quipu-merchants

mod limit;

pub use limit::{Budget, BudgetKind, Decision, LimitsNotShared, RateLimiter, Verdict, Window};
