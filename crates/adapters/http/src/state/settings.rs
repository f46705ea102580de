//! The settings of the HTTP adapter.

use std::time::Duration;

use quipu_kernel::Network;
use quipu_merchants::UsualLimits;
use quipu_pages::FrontLink;

/// How many bytes of a long body a client must send, or of a long answer take, each second. This is a little
/// less than the documented 16 KiB, since bytes arrive in portions.
const LEAST_PER_SECOND: u64 = 15 * 1024;

/// How many bytes a client must send or take within a time.
pub(crate) const fn least_within(time: Duration) -> u64 {
    LEAST_PER_SECOND * time.as_secs()
}

/// How the HTTP adapter listens.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// `{base_url}`, without a slash at its end; the issuer of bearer tokens.
    pub public_url: String,
    /// `{upload_url}`, without a slash at its end: where files are sent and fetched.
    pub upload_url: String,
    /// Rate limits.
    pub limits: UsualLimits,
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
            limits: UsualLimits::default(),
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
