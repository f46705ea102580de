//! Rate limits as the interface promises them (docs/API.md, "Rate limits").
//!
//! A [`Budget`] says how many requests of one kind a subject (a key, a credential, a rail, an address) may
//! make in each of its [`Window`]s. A [`RateLimiter`] counts them and answers a [`RateVerdict`], which the
//! response headers repeat.

use quipu_kernel::wire_names;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use async_trait::async_trait;

/// At most a number of requests in any period of a number of seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    limit: u32,
    seconds: u32,
}

impl Window {
    /// The longest window there is, an hour: a subject's history is kept for this long and no longer.
    pub const MAX_SECONDS: u32 = 3600;

    /// At most `limit` requests in any `seconds` (1 to [`Window::MAX_SECONDS`], else the nearest of these).
    pub const fn new(limit: u32, seconds: u32) -> Self {
        let seconds = match seconds {
            0 => 1,
            Self::MAX_SECONDS.. => Self::MAX_SECONDS,
            _ => seconds,
        };
        Self { limit, seconds }
    }

    /// At most `limit` requests in any minute.
    pub const fn per_minute(limit: u32) -> Self {
        Self::new(limit, 60)
    }

    /// The most requests it admits.
    pub const fn limit(self) -> u32 {
        self.limit
    }

    /// Its length in seconds.
    pub const fn seconds(self) -> u32 {
        self.seconds
    }

    /// The share of one of `nodes` nodes that do not tell each other what they counted: at least one request,
    /// so that a small limit does not shut a subject out.
    pub const fn share(self, nodes: u32) -> Self {
        let nodes = if nodes == 0 { 1 } else { nodes };
        let part = self.limit / nodes;
        let limit = if part == 0 && self.limit > 0 { 1 } else { part };
        Self { limit, ..self }
    }
}

wire_names! {
    /// The kind of requests that is limited. Each kind is counted apart from the others, even for one
    /// subject.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum BudgetKind {
        /// Payment creation, per API key or HMAC credential.
        PaymentCreation = "payment_creation",
        /// Everything else a merchant calls, per API key or HMAC credential.
        Standard = "standard",
        /// Callbacks of a payment provider, per rail.
        Callbacks = "callbacks",
        /// Callbacks whose signature did not verify, per client address.
        UnverifiedCallbacks = "unverified_callbacks",
        /// Failed authentication, per client address.
        Unauthenticated = "unauthenticated",
        /// Look-ups of credentials that are not in memory, per client address that has used up its failures.
        Lookups = "lookups",
        /// Hosted pages and file transfers, per client address.
        Pages = "pages",
    }
}

/// One or two windows that all must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    kind: BudgetKind,
    first: Window,
    second: Option<Window>,
}

impl Budget {
    /// A budget of one window.
    pub const fn single(kind: BudgetKind, window: Window) -> Self {
        Self { kind, first: window, second: None }
    }

    /// A budget of two windows, both of which must hold.
    pub const fn double(kind: BudgetKind, first: Window, second: Window) -> Self {
        Self { kind, first, second: Some(second) }
    }

    /// The kind of requests that it limits.
    pub const fn kind(self) -> BudgetKind {
        self.kind
    }

    /// Its windows, one or two.
    pub fn windows(self) -> impl Iterator<Item = Window> + Clone {
        std::iter::once(self.first).chain(self.second)
    }

    /// The length of its longest window in seconds.
    pub fn longest_seconds(self) -> u32 {
        self.windows().map(Window::seconds).max().unwrap_or(1)
    }

    /// The share of one of `nodes` nodes that do not tell each other what they counted (see
    /// [`Window::share`]).
    pub fn share(self, nodes: u32) -> Self {
        let second = self.second.map(|window| window.share(nodes));
        Self { first: self.first.share(nodes), second, ..self }
    }
}

/// The answer to one request. Of two windows it describes the one with less left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateVerdict {
    /// Whether the request may proceed. A refused request is not counted.
    pub allowed: bool,
    /// Whether the counts say so. Otherwise the request is refused because it is not known whether there is room.
    pub is_judged: bool,
    /// `X-RateLimit-Limit`: the window's limit.
    pub limit: u32,
    /// `X-RateLimit-Remaining`: how many more requests the window admits now.
    pub remaining: u32,
    /// `X-RateLimit-Reset`: when the oldest second that counts leaves the window, in Unix seconds.
    pub reset_epoch_seconds: i64,
    /// `Retry-After`: after how many seconds a refused request would pass, if none came between. 0 if it was allowed.
    pub retry_after_seconds: u32,
}

/// A verdict that is known at once, or still awaited. Awaiting a known one costs nothing.
#[must_use = "the request is limited by what this resolves to"]
pub enum RateDecision<'a> {
    /// The verdict is known.
    Ready(RateVerdict),
    /// The verdict is being asked for elsewhere.
    Waiting(Pin<Box<dyn Future<Output = RateVerdict> + Send + 'a>>),
}

impl Future for RateDecision<'_> {
    type Output = RateVerdict;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<RateVerdict> {
        match self.get_mut() {
            Self::Ready(verdict) => Poll::Ready(*verdict),
            Self::Waiting(future) => future.as_mut().poll(context),
        }
    }
}

impl std::fmt::Debug for RateDecision<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ready(verdict) => verdict.fmt(f),
            Self::Waiting(_) => f.write_str("Waiting"),
        }
    }
}

/// This node counts alone, because the counters that it shares with other nodes are out of reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the shared rate limits cannot be reached")]
pub struct LimitsNotShared;

/// Counts requests against budgets.
///
/// The contract, which every implementation keeps: in any window of a budget, wherever it begins, no more requests of a
/// subject are allowed than the window's limit. Time is counted in whole seconds, and a second counts until all of it
/// has left the window. A refused request consumes nothing. The limits are those of the budget passed in, so a
/// changed limit applies to what was counted before. A limiter always decides: if it has lost its memory or its
/// peers, by what it still knows.
#[async_trait]
pub trait RateLimiter: Send + Sync {
    /// Counts one request of `subject`, if every window of `budget` has room for it. Subjects are short texts without
    /// secrets, unique within the kind of the budget: a key's identifier, an address.
    fn take<'a>(&'a self, budget: Budget, subject: &'a str) -> RateDecision<'a>;

    /// Whether the counters that all nodes share are in reach, for the readiness check.
    async fn probe(&self) -> Result<(), LimitsNotShared>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_part_and_never_nothing() {
        let shares = [(5000, 2), (5000, 3), (3, 5), (0, 5), (7, 0)]
            .map(|(limit, nodes)| Window::per_minute(limit).share(nodes).limit());
        assert_eq!(shares, [2500, 1666, 1, 0, 7]);
    }

    #[test]
    fn a_share_of_two_windows_is_one_of_each() {
        let (minute, moment) = (Window::per_minute(5000), Window::new(500, 10));
        let budget = Budget::double(BudgetKind::PaymentCreation, minute, moment);
        let share =
            Budget::double(BudgetKind::PaymentCreation, Window::per_minute(2500), Window::new(250, 10));
        assert_eq!(budget.share(2), share);
        assert_eq!(Budget::single(BudgetKind::Pages, minute).share(2).windows().count(), 1);
        assert_eq!([budget, share].map(Budget::longest_seconds), [60, 60]);
        let turned = Budget::double(BudgetKind::PaymentCreation, moment, minute);
        assert_eq!(turned.longest_seconds(), 60, "whichever is named first");
    }

    #[test]
    fn windows_last_from_a_second_to_an_hour() {
        assert_eq!([0, 1, 60, 9999].map(|seconds| Window::new(1, seconds).seconds()), [1, 1, 60, 3600]);
    }
}
