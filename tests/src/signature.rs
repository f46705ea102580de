//! A second implementation of the version 2 signature (docs/SIGNING.md), written from the guide alone: it
//! shares no code with the gateway, so the two check each other.

use std::collections::BTreeMap;

use quipu_kernel::{Clock, SystemClock};
use reqwest::Method;
use ring::{digest, hmac};
use serde_json::Value;

use crate::{Answer, Client, scratch::unique_name};

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

/// Signs requests as one merchant.
#[derive(Debug, Clone)]
pub struct Signer {
    /// `X-Merchant-Id`.
    pub merchant_id: String,
    /// The secret, as it was shown once.
    pub secret: String,
}

/// A signed request, any part of which can be altered before it is sent, repeatedly if needed.
#[derive(Debug, Clone)]
pub struct SignedRequest {
    method: Method,
    path: String,
    body: Option<Vec<u8>>,
    headers: BTreeMap<String, String>,
}

impl Signer {
    /// A `GET`, signed now with a fresh nonce.
    pub fn get(&self, path: &str) -> SignedRequest {
        self.request(Method::GET, path, None, unix_seconds(), &fresh_nonce())
    }

    /// A `POST` of a JSON body, signed now with a fresh nonce.
    pub fn post(&self, path: &str, body: &Value) -> SignedRequest {
        let body = body.to_string().into_bytes();
        self.request(Method::POST, path, Some(body), unix_seconds(), &fresh_nonce())
    }

    /// A `GET` signed `offset` seconds from now with `nonce`.
    pub fn get_at(&self, path: &str, offset: i64, nonce: &str) -> SignedRequest {
        self.request(Method::GET, path, None, unix_seconds() + offset, nonce)
    }

    /// Any request.
    pub fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
        timestamp: i64,
        nonce: &str,
    ) -> SignedRequest {
        let timestamp = timestamp.to_string();
        let bytes = body.as_deref().unwrap_or_default();
        let canonical = canonical(&timestamp, nonce, method.as_str(), path, bytes);
        let headers = [
            ("X-Merchant-Id", self.merchant_id.clone()),
            ("X-Timestamp", timestamp),
            ("X-Nonce", nonce.to_owned()),
            ("X-Signature-Version", "v1".to_owned()),
            ("X-Signature", sign(&self.secret, &canonical)),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value)).into();
        SignedRequest { method, path: path.to_owned(), body, headers }
    }
}

impl SignedRequest {
    /// Its headers, by name.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// One of its headers.
    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no header {name}"))
    }

    /// Sets or replaces a header.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Removes a header.
    pub fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    /// Changes the path or query after signing.
    pub fn sent_to(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// Changes the body after signing; `None` sends none at all.
    pub fn carrying(self, body: Option<&str>) -> Self {
        Self { body: body.map(|body| body.as_bytes().to_vec()), ..self }
    }

    /// Sends it unchanged; the caller should have no credentials of its own.
    pub async fn send(&self, caller: &Client) -> Answer {
        let headers: Vec<_> = self.headers().collect();
        caller.send(self.method.clone(), &self.path, self.body.clone(), &headers).await
    }
}

/// The present Unix second, for `X-Timestamp`.
pub fn unix_seconds() -> i64 {
    SystemClock.now().seconds()
}

/// A nonce that no test of this machine has used.
pub fn fresh_nonce() -> String {
    unique_name("nonce")
}

#[cfg(test)]
mod tests {
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
