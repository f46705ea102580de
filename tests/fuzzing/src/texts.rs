//! Query strings, headers and names.

use std::ops::Not as _;

use quipu_kernel::{Currency, PaymentId, Secret, Timestamp};
use quipu_merchants::Method;
use quipu_signing::{ApiKey, SignatureClaim, SignatureHeaders, WebhookSecret};
use quipu_webhooks::EndpointId;

/// The query string of any list.
pub(crate) fn query(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let once = quipu_http::judge_query(&text);
    assert_eq!(once, quipu_http::judge_query(&text), "{text:?} is judged by something else than itself");
    once
}

/// The headers of a signed request, a line each, and its body after them.
pub(crate) fn signature(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.splitn(6, '\n');
    let mut line = || lines.next().filter(|line| !line.is_empty());
    let headers = SignatureHeaders {
        merchant_id: line(),
        timestamp: line(),
        nonce: line(),
        version: line(),
        signature: line(),
    };
    let now = Timestamp::from_millis(1_763_726_400_000);
    let Ok(claim) = SignatureClaim::parse(&headers, now) else { return false };
    assert!((8..=128).contains(&claim.nonce().len()) && claim.merchant().0 >= 0);
    let body = line().unwrap_or_default();
    let signed = claim.over("POST", "/api/v2/payments", body.as_bytes());
    assert!(signed.verify(&Secret::new("nobody knows this one".to_owned())).is_err(), "forged: {text:?}");
    true
}

/// Identifiers, codes, instants, keys and secrets: what is read is written as it was.
pub(crate) fn names(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let text = text.trim_end_matches('\n');
    let (id, currency) = (text.parse::<PaymentId>(), text.parse::<Currency>());
    let (method, at) = (text.parse::<Method>(), Timestamp::parse(text));
    let (key, secret) = (ApiKey::parse(text), WebhookSecret::parse(text));
    assert!(id.as_ref().is_ok_and(|id| id.as_str() != text).not(), "{text}");
    assert!(currency.is_ok_and(|currency| currency.as_str() != text).not(), "{text}");
    assert!(method.is_ok_and(|method| method.as_str() != text).not(), "{text}");
    assert!(at.is_none_or(|at| Timestamp::parse(&at.to_string()) == Some(at)), "{text}");
    assert!(secret.as_ref().is_ok_and(|secret| secret.verify("msg", 1, b"{}", text)).not(), "forged: {text}");
    let endpoint = text.parse::<EndpointId>().is_ok();
    endpoint
        || id.is_ok()
        || currency.is_ok()
        || method.is_ok()
        || at.is_some()
        || key.is_ok()
        || secret.is_ok()
}
