//! The proof that a callback must give before it is read.

/// The headers of a callback, as Standard Webhooks defines them.
#[derive(Debug, Clone, Copy)]
pub struct CallbackHeaders<'a> {
    /// `webhook-id`: the provider's name for this message.
    pub id: Option<&'a str>,
    /// `webhook-timestamp`: Unix seconds.
    pub timestamp: Option<&'a str>,
    /// `webhook-signature`: `v1,` and base64, several separated by spaces.
    pub signature: Option<&'a str>,
}

/// Why a callback is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotVerified {
    /// A header is missing.
    #[error("a signature header is missing")]
    Missing,
    /// No signature is valid for the rail's secret.
    #[error("the signature is not valid")]
    Invalid,
    /// The timestamp is too old, or lies in the future.
    #[error("the timestamp is more than 300 seconds away")]
    OutOfWindow,
    /// This rail sends no callbacks.
    #[error("the rail sends no callbacks")]
    NoCallbacks,
}
