//! Callbacks: the signature over the raw bytes is verified before anything is read.

use std::time::Duration;

use quipu_kernel::Timestamp;
use quipu_payments::{CallbackHeaders, NotVerified};
use quipu_signing::WebhookSecret;

/// The greatest difference between a callback's timestamp and the present, either way.
const WINDOW: Duration = Duration::from_mins(5);
/// The most characters of `webhook-id`.
const MOST_IN_ID: usize = 255;

/// Whether `body` was signed with `secret` at about `now`.
pub(super) fn verify(
    secret: &WebhookSecret,
    headers: CallbackHeaders<'_>,
    body: &[u8],
    now: Timestamp,
) -> Result<(), NotVerified> {
    let (Some(id), Some(timestamp), Some(signature)) = (headers.id, headers.timestamp, headers.signature)
    else {
        return Err(NotVerified::Missing);
    };
    let seconds = timestamp.parse::<i64>().map_err(|_| NotVerified::Invalid)?;
    if id.is_empty() || id.len() > MOST_IN_ID {
        return Err(NotVerified::Invalid);
    }
    if !secret.verify(id, seconds, body, signature) {
        return Err(NotVerified::Invalid);
    }
    let window = i64::try_from(WINDOW.as_secs()).unwrap_or(i64::MAX);
    match now.seconds().checked_sub(seconds) {
        Some(apart) if apart.checked_abs().is_some_and(|apart| apart <= window) => Ok(()),
        _ => Err(NotVerified::OutOfWindow),
    }
}

#[cfg(test)]
mod tests {
    use quipu_signing::SystemEntropy;

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_763_726_400_000);
    const VECTORS: &str = include_str!("../../../../../tests/vectors/rail_protocol.json");
    const PAGE: &str = include_str!("../../../../../docs/RAIL-PROTOCOL.md");

    #[test]
    fn the_published_vectors_hold_and_the_page_shows_one_of_them() {
        let file: serde_json::Value = serde_json::from_str(VECTORS).expect("JSON");
        let secret = WebhookSecret::parse(file["secret"].as_str().expect("a secret")).expect("a secret");
        let vectors = file["vectors"].as_array().expect("a list");
        assert_eq!(vectors.len(), 3);
        let mut shown = 0;
        for vector in vectors {
            let text = |member: &str| vector[member].as_str().expect("a text");
            let (timestamp, signature) = (text("webhook_timestamp"), text("webhook_signature"));
            let headers = CallbackHeaders {
                id: Some(text("webhook_id")),
                timestamp: Some(timestamp),
                signature: Some(signature),
            };
            let at = Timestamp::from_millis(timestamp.parse::<i64>().expect("seconds") * 1000);
            assert_eq!(verify(&secret, headers, text("body").as_bytes(), at), Ok(()), "{}", text("what"));
            shown += usize::from(PAGE.contains(signature) && PAGE.contains(text("body")));
        }
        assert_eq!(shown, 1);
    }

    #[test]
    fn a_callback_passes_by_its_signature_and_its_time() {
        let secret = WebhookSecret::generate(&SystemEntropy);
        let body = br#"{"id":"evt-1"}"#;
        let seconds = NOON.seconds();
        let judge = |id: Option<&str>, seconds: i64, body: &[u8], signature: Option<&str>| {
            let timestamp = seconds.to_string();
            let headers = CallbackHeaders { id, timestamp: Some(&timestamp), signature };
            verify(&secret, headers, body, NOON)
        };
        let signature = |seconds: i64| secret.sign("m-1", Timestamp::from_millis(seconds * 1000), body);
        let good = signature(seconds);
        assert_eq!(judge(Some("m-1"), seconds, body, Some(&good)), Ok(()));
        assert_eq!(judge(Some("m-2"), seconds, body, Some(&good)), Err(NotVerified::Invalid));
        assert_eq!(judge(Some("m-1"), seconds, b"{}", Some(&good)), Err(NotVerified::Invalid));
        assert_eq!(judge(Some("m-1"), seconds + 1, body, Some(&good)), Err(NotVerified::Invalid));
        assert_eq!(judge(None, seconds, body, Some(&good)), Err(NotVerified::Missing));
        assert_eq!(judge(Some("m-1"), seconds, body, None), Err(NotVerified::Missing));
        for apart in [300, -300] {
            let at = seconds + apart;
            assert_eq!(judge(Some("m-1"), at, body, Some(&signature(at))), Ok(()), "{apart}");
        }
        for apart in [301, -301] {
            let at = seconds + apart;
            let judged = judge(Some("m-1"), at, body, Some(&signature(at)));
            assert_eq!(judged, Err(NotVerified::OutOfWindow), "{apart}");
        }
        let others = WebhookSecret::generate(&SystemEntropy).sign("m-1", NOON, body);
        assert_eq!(judge(Some("m-1"), seconds, body, Some(&others)), Err(NotVerified::Invalid));
    }

    #[test]
    fn a_timestamp_that_is_no_number_never_passes() {
        let secret = WebhookSecret::generate(&SystemEntropy);
        for timestamp in ["", "noon", "1e9", "99999999999999999999", "-9223372036854775808"] {
            let headers =
                CallbackHeaders { id: Some("m-1"), timestamp: Some(timestamp), signature: Some("v1,") };
            assert_eq!(verify(&secret, headers, b"{}", NOON), Err(NotVerified::Invalid), "{timestamp}");
        }
    }
}
