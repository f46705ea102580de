//! Signed requests of version 2 (docs/SIGNING.md).
//!
//! A [`SignatureHeaders`] holds the headers as sent. [`SignatureClaim::parse`] checks everything that needs
//! no secret; the claim over a certain method, path and body is a [`SignedRequest`]; and that is verified
//! with each of the merchant's secrets in turn. The nonce is used up only after that has succeeded, so that
//! nobody without the secret can use up a merchant's nonces.

use std::time::Duration;

use quipu_kernel::{MerchantId, Secret, Timestamp};
use ring::hmac;

use crate::digest::sha256_hex;

/// The greatest difference between a timestamp and the server's time, either way and inclusive, in seconds.
const WINDOW_SECONDS: u64 = 300;
/// How long a nonce is kept: 11 minutes. A timestamp may lie a window ahead and stays valid for a window after; from then
/// on a replay is refused for its age. The last minute is for a request that was judged in time and still waits to be
/// committed.
pub const NONCE_KEPT_FOR: Duration = Duration::from_secs(2 * WINDOW_SECONDS + 60);
const NONCE_LENGTH: std::ops::RangeInclusive<usize> = 8..=128;
/// The beginning of every signed path, as it is sent.
const PATHS: &str = "/api/v2";
/// The text that no nonce may contain: a dot and the beginning of every signed path.
const AMBIGUOUS: &str = "./api/v2";
const SIGNATURE_PREFIX: &str = "hmac_sha256=";

/// The five headers as they arrived; `None` for a missing one.
#[derive(Debug, Clone, Copy, Default)]
pub struct SignatureHeaders<'a> {
    /// `X-Merchant-Id`.
    pub merchant_id: Option<&'a str>,
    /// `X-Timestamp`.
    pub timestamp: Option<&'a str>,
    /// `X-Nonce`.
    pub nonce: Option<&'a str>,
    /// `X-Signature-Version`.
    pub version: Option<&'a str>,
    /// `X-Signature`.
    pub signature: Option<&'a str>,
}

impl SignatureHeaders<'_> {
    /// The merchant in the header, if it is a number.
    pub fn merchant(&self) -> Option<MerchantId> {
        let number = whole_number(self.merchant_id?)?;
        i64::try_from(number).ok().map(MerchantId)
    }
}

/// Why a signed request is refused, by error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureProblem {
    /// `SIGNATURE_MISSING`: the named header is missing or empty.
    #[error("header {0} is required")]
    Missing(&'static str),
    /// `SIGNATURE_INVALID`: a header does not have the required form.
    #[error("header {header} must be {expected}")]
    Malformed {
        /// The name of the header.
        header: &'static str,
        /// The required form, in words.
        expected: &'static str,
    },
    /// `SIGNATURE_INVALID`: the signature does not match this request and this secret.
    #[error("the signature does not match the request")]
    Mismatch,
    /// `TIMESTAMP_OUT_OF_WINDOW`: not a time in whole seconds within 300 seconds of the server's.
    #[error("X-Timestamp must be Unix time in whole seconds, within 300 seconds of the server's time")]
    TimestampOutOfWindow,
}

/// The claims in the headers of a request, of the right form and time, but not verified yet.
#[derive(Debug, Clone, Copy)]
pub struct SignatureClaim<'a> {
    merchant: MerchantId,
    timestamp: &'a str,
    nonce: &'a str,
    signature: [u8; 32],
}

impl<'a> SignatureClaim<'a> {
    /// Reads the headers of a request that arrived at `now`.
    pub fn parse(headers: &SignatureHeaders<'a>, now: Timestamp) -> Result<Self, SignatureProblem> {
        let required = |name, value: Option<&'a str>| {
            value.filter(|text| !text.is_empty()).ok_or(SignatureProblem::Missing(name))
        };
        required("X-Merchant-Id", headers.merchant_id)?;
        let timestamp = required("X-Timestamp", headers.timestamp)?;
        let nonce = required("X-Nonce", headers.nonce)?;
        let version = required("X-Signature-Version", headers.version)?;
        let signature = required("X-Signature", headers.signature)?;

        if version != "v1" {
            return Err(malformed("X-Signature-Version", "v1"));
        }
        let merchant = headers.merchant().ok_or(malformed("X-Merchant-Id", "a merchant id, in digits"))?;
        if !is_nonce(nonce) {
            return Err(malformed("X-Nonce", r#"8 to 128 printable ASCII characters without "./api/v2""#));
        }
        let signature = parse_signature(signature)
            .ok_or(malformed("X-Signature", "hmac_sha256= and 64 lowercase hexadecimal digits"))?;
        let claim = Self { merchant, timestamp, nonce, signature };
        claim.judge_time(now)?;
        Ok(claim)
    }

    /// Checks its timestamp again, at `now`, for the time that has passed since [`SignatureClaim::parse`].
    pub fn judge_time(&self, now: Timestamp) -> Result<(), SignatureProblem> {
        let sent = whole_number(self.timestamp).and_then(|seconds| i64::try_from(seconds).ok());
        if sent.is_none_or(|seconds| seconds.abs_diff(now.seconds()) > WINDOW_SECONDS) {
            return Err(SignatureProblem::TimestampOutOfWindow);
        }
        Ok(())
    }

    /// The merchant in the header. The right secret must be one of theirs.
    pub fn merchant(&self) -> MerchantId {
        self.merchant
    }

    /// The nonce, unique per merchant within the window.
    pub fn nonce(&self) -> &'a str {
        self.nonce
    }

    /// The claim over a request: its method in capitals, its path and query exactly as sent, its raw body. For a `GET`
    /// the body counts as empty. [`SignatureProblem::Mismatch`] if the path does not begin with `/api/v2`, because it is
    /// percent-encoded there: its text could be that of another request with a longer nonce.
    pub fn over(
        &self,
        method: &str,
        path_with_query: &str,
        body: &[u8],
    ) -> Result<SignedRequest, SignatureProblem> {
        if !path_with_query.starts_with(PATHS) {
            return Err(SignatureProblem::Mismatch);
        }
        let canonical = canonical_string(self.timestamp, self.nonce, method, path_with_query, body);
        Ok(SignedRequest { canonical, signature: self.signature })
    }
}

/// A request together with the signature that is claimed for it.
#[derive(Debug, Clone)]
pub struct SignedRequest {
    canonical: String,
    signature: [u8; 32],
}

impl SignedRequest {
    /// Whether `secret` made the signature, in constant time.
    pub fn verify(&self, secret: &Secret) -> Result<(), SignatureProblem> {
        hmac::verify(&signing_key(secret), self.canonical.as_bytes(), &self.signature)
            .map_err(|_| SignatureProblem::Mismatch)
    }
}

/// The value of `X-Signature` for a request, as a merchant computes it.
pub fn sign_request(
    secret: &Secret,
    timestamp: &str,
    nonce: &str,
    method: &str,
    path_with_query: &str,
    body: &[u8],
) -> String {
    let canonical = canonical_string(timestamp, nonce, method, path_with_query, body);
    let tag = hmac::sign(&signing_key(secret), canonical.as_bytes());
    format!("{SIGNATURE_PREFIX}{}", hex::encode(tag))
}

fn canonical_string(
    timestamp: &str,
    nonce: &str,
    method: &str,
    path_with_query: &str,
    body: &[u8],
) -> String {
    let body = if method == "GET" { &[] } else { body };
    format!("v1.{timestamp}.{nonce}.{method}.{path_with_query}.{}", sha256_hex(body))
}

fn signing_key(secret: &Secret) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes())
}

/// A captured signature must fit no second request with an unused nonce. Between timestamp and body hash the
/// canonical text has the nonce, the method and the path. If it can also be read with a longer nonce, that
/// nonce ends within the path, because a method has no dot and the other path begins with a slash. No served
/// path has `.METHOD./` before its query. So the longer nonce contains the whole path, and every signed path
/// begins with `/api/v2`.
fn is_nonce(text: &str) -> bool {
    NONCE_LENGTH.contains(&text.len())
        && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
        && !text.contains(AMBIGUOUS)
}

fn parse_signature(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix(SIGNATURE_PREFIX)?;
    let lowercase = !digits.bytes().any(|byte| byte.is_ascii_uppercase());
    let mut signature = [0; 32];
    (lowercase && hex::decode_to_slice(digits, &mut signature).is_ok()).then_some(signature)
}

fn whole_number(text: &str) -> Option<u64> {
    let digits_only = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits_only.then(|| text.parse().ok()).flatten()
}

fn malformed(header: &'static str, expected: &'static str) -> SignatureProblem {
    SignatureProblem::Malformed { header, expected }
}

#[cfg(test)]
mod tests;
