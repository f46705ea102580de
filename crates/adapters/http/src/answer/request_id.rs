//! A name for each request, in its answer and in the log.

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use quipu_kernel::{Entropy, base32};

pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The caller's `X-Request-Id`, if it is 1 to 128 characters that are safe in a log line and a header; else a new one.
pub(crate) fn of_request(headers: &HeaderMap, entropy: &dyn Entropy) -> HeaderValue {
    let sent = headers.get(&X_REQUEST_ID).filter(|value| is_safe(value.as_bytes()));
    sent.cloned().unwrap_or_else(|| {
        let made = format!("req_{}", base32(entropy, 20));
        HeaderValue::from_str(&made).unwrap_or(HeaderValue::from_static("req_unnamed"))
    })
}

fn is_safe(value: &[u8]) -> bool {
    let safe = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    (1..=128).contains(&value.len()) && value.iter().all(safe)
}

#[cfg(test)]
mod tests {
    use quipu_signing::SystemEntropy;

    use super::*;

    fn answer_to(sent: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(X_REQUEST_ID, HeaderValue::from_str(sent).expect("a header"));
        of_request(&headers, &SystemEntropy).to_str().expect("ASCII").to_owned()
    }

    #[test]
    fn a_safe_name_is_kept_and_any_other_replaced() {
        for kept in ["a", "4f5b6e0e-1c57-4d57-8ad9-0f2f4e2f6f1a", &"x".repeat(128)] {
            assert_eq!(answer_to(kept), kept);
        }
        for replaced in ["", "a b", "<script>", "a\"b", &"x".repeat(129)] {
            let made = answer_to(replaced);
            assert!(made.starts_with("req_") && made.len() == 24, "{made}");
        }
    }
}
