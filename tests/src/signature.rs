//! A second implementation of the version 2 signature (specification, "HMAC signing"), written from the specification alone: it
//! shares no code with the gateway, so that the two check each other.

use quipu_kernel::{Clock, SystemClock};
use ring::{digest, hmac};

use crate::scratch::unique_name;

/// `v1.{timestamp}.{nonce}.{method}.{path_with_query}.{sha256_raw_body_hex}`
pub fn canonical(timestamp: &str, nonce: &str, method: &str, path_with_query: &str, body: &[u8]) -> String {
    let body_digest = hex::encode(digest::digest(&digest::SHA256, body));
    format!("v1.{timestamp}.{nonce}.{method}.{path_with_query}.{body_digest}")
}

/// Value of `X-Signature` for a canonical string.
pub fn sign(secret: &str, canonical: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    format!("hmac_sha256={}", hex::encode(hmac::sign(&key, canonical.as_bytes())))
}

/// A request's five headers, each of which a test may spoil before they are sent.
#[derive(Debug, Clone)]
pub struct SignedHeaders {
    /// `X-Merchant-Id`
    pub merchant_id: String,
    /// `X-Timestamp`
    pub timestamp: String,
    /// `X-Nonce`
    pub nonce: String,
    /// `X-Signature-Version`
    pub version: String,
    /// `X-Signature`
    pub signature: String,
}

impl SignedHeaders {
    /// Signs a request of this instant under a fresh nonce.
    pub fn now(merchant_id: &str, secret: &str, method: &str, path_with_query: &str, body: &[u8]) -> Self {
        Self::at(
            &unix_seconds().to_string(),
            &fresh_nonce(),
            merchant_id,
            secret,
            method,
            path_with_query,
            body,
        )
    }

    /// Signs with a timestamp and a nonce of the test's choice.
    pub fn at(
        timestamp: &str,
        nonce: &str,
        merchant_id: &str,
        secret: &str,
        method: &str,
        path_with_query: &str,
        body: &[u8],
    ) -> Self {
        let signature = sign(secret, &canonical(timestamp, nonce, method, path_with_query, body));
        Self {
            merchant_id: merchant_id.to_owned(),
            timestamp: timestamp.to_owned(),
            nonce: nonce.to_owned(),
            version: "v1".to_owned(),
            signature,
        }
    }

    /// Names and values, as a client sends them.
    pub fn pairs(&self) -> [(&'static str, &str); 5] {
        [
            ("X-Merchant-Id", &self.merchant_id),
            ("X-Timestamp", &self.timestamp),
            ("X-Nonce", &self.nonce),
            ("X-Signature-Version", &self.version),
            ("X-Signature", &self.signature),
        ]
    }
}

/// The present second since 1970, as `X-Timestamp` wants it.
pub fn unix_seconds() -> i64 {
    SystemClock.now().seconds()
}

/// A nonce no test of this machine has used.
pub fn fresh_nonce() -> String {
    unique_name("nonce")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_published_vectors_hold() {
        let document: Value = serde_json::from_str(include_str!("../vectors/hmac_v2.json")).unwrap();
        let vectors = document["vectors"].as_array().unwrap();
        assert!(!vectors.is_empty());
        for vector in vectors {
            let text = |member: &str| vector[member].as_str().unwrap();
            let string = canonical(
                text("timestamp"),
                text("nonce"),
                text("method"),
                text("path_with_query"),
                text("body").as_bytes(),
            );
            assert_eq!(string, text("canonical"), "{}", text("name"));
            assert_eq!(sign(text("secret"), &string), text("signature"), "{}", text("name"));
        }
    }
}
