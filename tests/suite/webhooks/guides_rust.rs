//! The guide's function in Rust, word for word, so that the compiler reads it too.

use standardwebhooks::{Webhook, WebhookError};

fn verify(secret: &str, headers: &http::HeaderMap, body: &[u8]) -> Result<(), WebhookError> {
    Webhook::new(secret)?.verify(body, headers)
}

/// Whether the guide's function believes a delivery.
pub(super) fn believes(secret: &str, headers: &http::HeaderMap, body: &[u8]) -> bool {
    verify(secret, headers, body).is_ok()
}
