//! A second implementation of the version 2 signature (specification, "HMAC signing"), written from the specification alone: it
//! shares no code with the gateway, so that the two check each other.

use ring::{digest, hmac};

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
