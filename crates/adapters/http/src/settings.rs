//! The settings of the HTTP adapter.

use std::time::Duration;

use crate::proxies::Network;
use quipu_merchants::{Budget, BudgetKind, RateLimits, Window};
use quipu_pages::FrontLink;

/// How many bytes of a long body a client must send, or of a long answer take, each second. This is a little
/// less than the documented 16 KiB, since bytes arrive in portions.
const LEAST_PER_SECOND: u64 = 15 * 1024;

/// How many bytes a client must send or take within a time.
pub(crate) const fn least_within(time: Duration) -> u64 {
    LEAST_PER_SECOND * time.as_secs()
}

/// How many look-ups of credentials a second an address may cause that has used up its failures.
const LOOKUPS_PER_SECOND: u32 = 10;

/// Rate limits; a key may have its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Payment creations of a key in any minute.
    pub payment_create_per_minute: u32,
    /// Payment creations of a key in any ten seconds.
    pub payment_create_per_10s: u32,
    /// All other calls of a key in any minute.
    pub standard_per_minute: u32,
    /// Callbacks of one rail in any minute.
    pub callbacks_per_minute: u32,
    /// Failures of authentication from one client address in any minute.
    pub unauthenticated_per_minute: u32,
    /// Hosted pages and transfers of files from one client address in any minute.
    pub pages_per_minute: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            payment_create_per_minute: 5000,
            payment_create_per_10s: 500,
            standard_per_minute: 100,
            callbacks_per_minute: 300,
            unauthenticated_per_minute: 60,
            pages_per_minute: 300,
        }
    }
}

impl Limits {
    /// The budget of one key or credential, with its own limits if it has any.
    pub(crate) fn of_key(&self, kind: BudgetKind, own: &RateLimits) -> Budget {
        match kind {
            BudgetKind::PaymentCreation => Budget::double(
                kind,
                Window::per_minute(own.create_per_minute.unwrap_or(self.payment_create_per_minute)),
                Window::new(own.create_per_10s.unwrap_or(self.payment_create_per_10s), 10),
            ),
            _ => Budget::single(
                kind,
                Window::per_minute(own.standard_per_minute.unwrap_or(self.standard_per_minute)),
            ),
        }
    }

    /// The budget of a rail for its provider's callbacks.
    pub(crate) const fn of_callbacks(&self) -> Budget {
        Budget::single(BudgetKind::Callbacks, Window::per_minute(self.callbacks_per_minute))
    }

    /// The budget of a client address: for pages and transfers, or for failed authentications.
    pub(crate) const fn of_address(&self, kind: BudgetKind) -> Budget {
        if matches!(kind, BudgetKind::Lookups) {
            return Budget::single(kind, Window::new(LOOKUPS_PER_SECOND, 1));
        }
        let limit = match kind {
            BudgetKind::Pages => self.pages_per_minute,
            BudgetKind::UnverifiedCallbacks => self.callbacks_per_minute,
            _ => self.unauthenticated_per_minute,
        };
        Budget::single(kind, Window::per_minute(limit))
    }
}

/// How the HTTP adapter listens.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// `{base_url}`, without a slash at its end; the issuer of bearer tokens.
    pub public_url: String,
    /// `{upload_url}`, without a slash at its end: where files are sent and fetched.
    pub upload_url: String,
    /// Rate limits.
    pub limits: Limits,
    /// The proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<Network>,
    /// Threads that handle requests; 0 means one for each core.
    pub workers: usize,
    /// The most open connections.
    pub max_connections: usize,
    /// How long a client may take to send the body of a request; a file may take longer, as long as enough
    /// bytes arrive.
    pub body_timeout: Duration,
    /// How long a client may take nothing of an answer, or too little.
    pub stall_timeout: Duration,
    /// How long requests in progress may go on after a stop; then they are cut off.
    pub shutdown_timeout: Duration,
    /// Further links of the front page.
    pub front_links: Vec<FrontLink>,
}

impl HttpSettings {
    /// The defaults, reachable at this address.
    pub fn new(public_url: impl Into<String>) -> Self {
        let public_url = public_url.into();
        Self {
            upload_url: public_url.clone(),
            public_url,
            limits: Limits::default(),
            trusted_proxies: Vec::new(),
            workers: 0,
            max_connections: 512,
            body_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_secs(30),
            shutdown_timeout: Duration::from_secs(26),
            front_links: Vec::new(),
        }
    }

    /// The path of the public address, without a slash at its end; most have none.
    pub(crate) fn root(&self) -> &str {
        let rest = self.public_url.split_once("://").map_or("", |(_, rest)| rest);
        rest.find('/').map_or("", |at| rest[at..].trim_end_matches('/'))
    }
}
