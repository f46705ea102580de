//! Signatures on webhook deliveries: Standard Webhooks 1.0, symmetric (docs/WEBHOOKS.md).

use base64::{Engine, engine::general_purpose::STANDARD};
use quipu_kernel::{Entropy, Secret, Timestamp, Unrecognised};
use ring::hmac;

use crate::digest::constant_time_eq;

const PREFIX: &str = "whsec_";
const GENERATED_BYTES: usize = 32;
const ADMITTED_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// The secret of a webhook endpoint: `whsec_` and base64 (RFC 4648, with padding) of 24 to 64 bytes;
/// generated secrets have 32. The decoded bytes are the key.
#[derive(Clone)]
pub struct WebhookSecret {
    text: Secret,
    key: hmac::Key,
}

impl WebhookSecret {
    /// A new secret of 32 bytes.
    pub fn generate(entropy: &dyn Entropy) -> Self {
        let mut bytes = [0; GENERATED_BYTES];
        entropy.fill(&mut bytes);
        Self::new(format!("{PREFIX}{}", STANDARD.encode(bytes)), &bytes)
    }

    /// Reads a secret that a merchant chose or the database stored.
    pub fn parse(text: &str) -> Result<Self, Unrecognised> {
        let bytes = text.strip_prefix(PREFIX).and_then(|base64| STANDARD.decode(base64).ok());
        let bytes = bytes.filter(|bytes| ADMITTED_BYTES.contains(&bytes.len()));
        let bytes = bytes.ok_or(Unrecognised { expected: "whsec_ and base64 of 24 to 64 bytes" })?;
        Ok(Self::new(text.to_owned(), &bytes))
    }

    /// The text, to be sealed, or to be shown in the single answer that contains it.
    pub fn secret(&self) -> &Secret {
        &self.text
    }

    /// The signature of one delivery attempt: `v1,` and the base64 HMAC-SHA256 of `{id}.{seconds}.{body}`, where `at`
    /// is the time of the attempt, sent as `webhook-timestamp`.
    pub fn sign(&self, webhook_id: &str, at: Timestamp, body: &[u8]) -> String {
        format!("v1,{}", STANDARD.encode(self.tag(webhook_id, at.seconds(), body)))
    }

    /// The header `webhook-signature` with several secrets, the newest first. During a rotation a receiver
    /// accepts the delivery with the secret that it has.
    pub fn sign_with_all(secrets: &[Self], webhook_id: &str, at: Timestamp, body: &[u8]) -> String {
        let signatures: Vec<_> = secrets.iter().map(|secret| secret.sign(webhook_id, at, body)).collect();
        signatures.join(" ")
    }

    /// Whether one of the signatures in a `webhook-signature` header was made with this secret, compared in
    /// constant time. The body is hashed once, however many signatures there are. `seconds` is the header
    /// `webhook-timestamp`; the receiver itself must check that it is recent.
    pub fn verify(&self, webhook_id: &str, seconds: i64, body: &[u8], header: &str) -> bool {
        let expected = STANDARD.encode(self.tag(webhook_id, seconds, body));
        let mut signatures = header.split(' ').filter_map(|signature| signature.strip_prefix("v1,"));
        signatures.any(|base64| {
            base64.len() == expected.len() && constant_time_eq(base64.as_bytes(), expected.as_bytes())
        })
    }

    fn tag(&self, webhook_id: &str, seconds: i64, body: &[u8]) -> hmac::Tag {
        hmac::sign(&self.key, &message(webhook_id, seconds, body))
    }

    fn new(text: String, bytes: &[u8]) -> Self {
        Self { text: Secret::new(text), key: hmac::Key::new(hmac::HMAC_SHA256, bytes) }
    }
}

fn message(webhook_id: &str, seconds: i64, body: &[u8]) -> Vec<u8> {
    [webhook_id.as_bytes(), b".", seconds.to_string().as_bytes(), b".", body].concat()
}

impl std::fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use standardwebhooks::Webhook;

    use super::*;
    use crate::entropy::SystemEntropy;

    const VECTORS: &str = include_str!("../../../../tests/vectors/standard_webhooks.json");

    #[test]
    fn the_standards_own_vector_holds() {
        let file: serde_json::Value = serde_json::from_str(VECTORS).expect("JSON");
        let vectors = file["vectors"].as_array().expect("a list");
        assert!(!vectors.is_empty());
        for vector in vectors {
            let text = |member: &str| vector[member].as_str().expect("a text");
            let secret = WebhookSecret::parse(text("secret")).expect("a secret");
            let seconds: i64 = text("webhook_timestamp").parse().expect("seconds");
            let at = Timestamp::from_millis(seconds * 1000 + 999);
            let (id, body) = (text("webhook_id"), text("body").as_bytes());
            assert_eq!(secret.sign(id, at, body), text("webhook_signature"));
            assert!(secret.verify(id, seconds, body, text("webhook_signature")));
        }
    }

    proptest! {
        #[test]
        fn the_reference_library_makes_the_same_signature(id in "[a-z0-9_]{1,40}", seconds in 0_i64..1 << 40, body in ".*") {
            let secret = WebhookSecret::generate(&SystemEntropy);
            let theirs = Webhook::new(secret.secret().expose()).expect("a secret");
            let signature = secret.sign(&id, Timestamp::from_millis(seconds * 1000), body.as_bytes());
            prop_assert_eq!(&signature, &theirs.sign(&id, seconds, body.as_bytes()).expect("signs"));
            prop_assert!(secret.verify(&id, seconds, body.as_bytes(), &signature));
            prop_assert!(!secret.verify(&id, seconds + 1, body.as_bytes(), &signature));
        }
    }

    #[test]
    fn during_a_rotation_either_secret_verifies() {
        let secrets = [WebhookSecret::generate(&SystemEntropy), WebhookSecret::generate(&SystemEntropy)];
        let header = WebhookSecret::sign_with_all(&secrets, "evt_1", Timestamp::from_millis(5000), b"{}");
        assert_eq!(header.split(' ').count(), 2);
        assert!(secrets.iter().all(|secret| secret.verify("evt_1", 5, b"{}", &header)));
        assert!(!WebhookSecret::generate(&SystemEntropy).verify("evt_1", 5, b"{}", &header));
    }

    #[test]
    fn secrets_have_24_to_64_bytes_in_base64() {
        let of_length = |length| format!("whsec_{}", STANDARD.encode(vec![1; length]));
        for (length, passes) in [(23, false), (24, true), (32, true), (64, true), (65, false)] {
            assert_eq!(WebhookSecret::parse(&of_length(length)).is_ok(), passes, "{length}");
        }
        for text in [
            "",
            "whsec_",
            "whsec_****",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            of_length(32).trim_end_matches('='),
        ] {
            assert!(WebhookSecret::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_signature_verifies_behind_any_number_of_others() {
        let secret = WebhookSecret::generate(&SystemEntropy);
        let signature = secret.sign("evt_1", Timestamp::from_millis(5000), b"{}");
        let other = "v1,".to_owned() + &"A".repeat(signature.len() - 3);
        for before in ["v1,", "v1,AAAA", "v2,AAAA", &other] {
            let header = format!("{before} ").repeat(1_000) + &signature;
            assert!(secret.verify("evt_1", 5, b"{}", &header), "{before}");
            assert!(!secret.verify("evt_1", 6, b"{}", &header), "{before}");
        }
    }

    #[test]
    fn no_malformed_header_verifies() {
        let secret = WebhookSecret::generate(&SystemEntropy);
        for header in ["", "v1", "v1,", "v1,AAAA", "v2,AAAA v1,", "v1a,AAAA", "  "] {
            assert!(!secret.verify("evt_1", 5, b"{}", header), "{header:?}");
        }
    }
}
