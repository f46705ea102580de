//! Query strings, headers and names.

use std::{
    net::{IpAddr, Ipv4Addr},
    ops::Not as _,
    sync::LazyLock,
};

use quipu_http::fuzzing::{forwarded_client, judge_query, read_form, read_token};
use quipu_kernel::{Currency, Network, PaymentId, Secret, Timestamp};
use quipu_merchants::{Method, Scopes};
use quipu_payments::{Draft, InvalidDraft};
use quipu_signing::{ApiKey, Keyring, SignatureClaim, SignatureHeaders, WebhookSecret};
use quipu_webhooks::EndpointId;
use serde_json::json;

/// The key by which the token of the corpus was signed.
static KEYRING: LazyLock<Keyring> = LazyLock::new(|| {
    Keyring::from_base64(&Secret::new("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".to_owned()))
        .expect("32 bytes")
});

/// The query string of any list.
pub(crate) fn query(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let once = judge_query(&text);
    assert_eq!(once, judge_query(&text), "{text:?} is judged by something else than itself");
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
    let signed = claim.over("POST", "/api/v2/payments", body.as_bytes()).expect("a signed path");
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

/// The lines of `X-Forwarded-For` of a request that came through a trusted proxy.
pub(crate) fn forwarded(bytes: &[u8]) -> bool {
    let proxy = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    let trusted: Vec<Network> =
        ["10.0.0.0/8", "fd00::/8"].iter().map(|text| text.parse().expect("a network")).collect();
    let read = |bytes: &[u8]| {
        let lines: Vec<_> = bytes.split(|byte| *byte == b'\n').collect();
        forwarded_client(proxy, lines.into_iter(), &trusted)
    };
    let client = read(bytes);
    let is_named = !trusted.iter().any(|network| network.contains(client));
    if is_named {
        let invented = [b"192.0.2.66, ", bytes].concat();
        assert_eq!(
            read(&invented),
            client,
            "a client chooses its address: {:?}",
            String::from_utf8_lossy(bytes)
        );
    }
    is_named
}

/// The form in which a recipient is named, and the members of `payout` that come of it.
pub(crate) fn recipient(bytes: &[u8]) -> bool {
    let Some(members) = read_form(bytes) else { return false };
    let is_partner = members.contains_key("partnerDestination");
    let body = json!({
        "amount": 100, "currency": "MXN", "method": "spei", "type": "withdrawal", "merchant_reference": "r-1",
        "customer": {"email": "ana@example.com"}, "payout": members,
    });
    let Err(refused) = Draft::parse(&body).map_err(InvalidDraft::into_problems) else { return true };
    let messages = refused.into_messages();
    // A partner destination needs another method than this request has.
    let is_expected =
        |message: &String| message.starts_with("payout") || (is_partner && message.starts_with("method "));
    assert!(messages.iter().all(is_expected), "{messages:?}");
    false
}

/// A bearer token: none is accepted but those that were issued.
pub(crate) fn token(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let now = Timestamp::from_millis(1_763_726_400_000);
    let Some((subject, scopes)) = read_token(&KEYRING, text.trim_end_matches('\n'), now) else {
        return false;
    };
    assert_eq!((subject.as_str(), scopes.as_str()), ("1", "payments.read"), "forged: {text:?}");
    Scopes::parse(&scopes).is_ok()
}
