use proptest::prelude::*;

use super::*;

const VECTORS: &str = include_str!("../../../../../tests/vectors/hmac_v2.json");
const NOW: Timestamp = Timestamp::from_millis(1_763_683_200_999);

fn secret() -> Secret {
    Secret::new("qp_hmac_example_secret_0123456789")
}

fn signed(timestamp: &str, nonce: &str) -> String {
    sign_request(&secret(), timestamp, nonce, "POST", "/api/v2/payments", b"{}")
}

fn headers<'a>(timestamp: &'a str, nonce: &'a str, signature: &'a str) -> SignatureHeaders<'a> {
    SignatureHeaders {
        merchant_id: Some("42"),
        timestamp: Some(timestamp),
        nonce: Some(nonce),
        version: Some("v1"),
        signature: Some(signature),
    }
}

fn judge(headers: &SignatureHeaders<'_>) -> Result<(), SignatureProblem> {
    SignatureClaim::parse(headers, NOW)?.over("POST", "/api/v2/payments", b"{}")?.verify(&secret())
}

#[test]
fn the_published_vectors_hold() {
    let file: serde_json::Value = serde_json::from_str(VECTORS).expect("JSON");
    let vectors = file["vectors"].as_array().expect("a list");
    assert!(!vectors.is_empty());
    for vector in vectors {
        let text = |member: &str| vector[member].as_str().expect("a text");
        let (secret, body) = (Secret::new(text("secret")), text("body").as_bytes());
        let headers = headers(text("timestamp"), text("nonce"), text("signature"));
        let claim = SignatureClaim::parse(&headers, NOW).expect("a claim");
        let request = claim.over(text("method"), text("path_with_query"), body).expect("a signed path");
        assert_eq!(request.canonical, text("canonical"));
        assert_eq!(request.verify(&secret), Ok(()));
        assert_eq!(request.verify(&Secret::new("another")), Err(SignatureProblem::Mismatch));
        let again = sign_request(
            &secret,
            claim.timestamp,
            claim.nonce,
            text("method"),
            text("path_with_query"),
            body,
        );
        assert_eq!(again, text("signature"));
    }
}

#[test]
fn a_change_anywhere_breaks_the_signature() {
    let signature = signed("1763683200", "nonce-0001");
    let headers = headers("1763683200", "nonce-0001", &signature);
    let claim = SignatureClaim::parse(&headers, NOW).expect("a claim");
    let verified = |method, path, body| claim.over(method, path, body)?.verify(&secret());
    assert_eq!(verified("POST", "/api/v2/payments", b"{}"), Ok(()));
    for (method, path, body) in [
        ("PUT", "/api/v2/payments", &b"{}"[..]),
        ("POST", "/api/v2/payments?", b"{}"),
        ("POST", "/api/v2/payments", b"{ }"),
    ] {
        assert_eq!(verified(method, path, body), Err(SignatureProblem::Mismatch), "{method} {path}");
    }
    assert_eq!(
        judge(&SignatureHeaders { nonce: Some("nonce-0002"), ..headers }),
        Err(SignatureProblem::Mismatch)
    );
}

#[test]
fn an_encoded_path_is_not_signed_since_its_text_would_fit_a_longer_nonce_too() {
    let (nonce, longer) = ("nonce-0001", "nonce-0001.GET./%61pi/v2/balance?x=");
    let path = "/%61pi/v2/balance?x=.GET./%61pi/v2/balance/all";
    let signature = sign_request(&secret(), "1763683200", nonce, "GET", path, b"");
    for (nonce, path) in [(nonce, path), (longer, "/%61pi/v2/balance/all")] {
        let headers = headers("1763683200", nonce, &signature);
        let claim = SignatureClaim::parse(&headers, NOW).expect("a claim");
        assert_eq!(claim.over("GET", path, b"").map(drop), Err(SignatureProblem::Mismatch), "{nonce}");
    }
}

#[test]
fn each_missing_header_is_named() {
    let signature = signed("1763683200", "nonce-0001");
    let all = headers("1763683200", "nonce-0001", &signature);
    for nothing in [None, Some("")] {
        let cases = [
            ("X-Merchant-Id", SignatureHeaders { merchant_id: nothing, ..all }),
            ("X-Timestamp", SignatureHeaders { timestamp: nothing, ..all }),
            ("X-Nonce", SignatureHeaders { nonce: nothing, ..all }),
            ("X-Signature-Version", SignatureHeaders { version: nothing, ..all }),
            ("X-Signature", SignatureHeaders { signature: nothing, ..all }),
        ];
        for (name, headers) in cases {
            assert_eq!(judge(&headers), Err(SignatureProblem::Missing(name)));
        }
    }
}

#[test]
fn timestamps_pass_up_to_300_seconds_either_way() {
    let now = NOW.seconds();
    for (offset, expected) in [
        (0, Ok(())),
        (300, Ok(())),
        (-300, Ok(())),
        (301, Err(SignatureProblem::TimestampOutOfWindow)),
        (-301, Err(SignatureProblem::TimestampOutOfWindow)),
    ] {
        let timestamp = (now + offset).to_string();
        let signature = signed(&timestamp, "nonce-0001");
        assert_eq!(judge(&headers(&timestamp, "nonce-0001", &signature)), expected, "{offset}");
    }
    for timestamp in ["now", "1763683200.0", "-1", "+1763683200", " 1763683200", "1763683200000"] {
        let signature = signed(timestamp, "nonce-0001");
        let judged = judge(&headers(timestamp, "nonce-0001", &signature));
        assert_eq!(judged, Err(SignatureProblem::TimestampOutOfWindow), "{timestamp:?}");
    }
}

#[test]
fn nonces_are_8_to_128_printable_characters() {
    let (longest, too_long) = ("n".repeat(128), "n".repeat(129));
    for (nonce, passes) in [
        ("12345678", true),
        (longest.as_str(), true),
        ("a.b/c~!.", true),
        ("a./b.../c", true),
        ("n.HEAD./webhooks?x=", true),
        ("n.POST./tickets", true),
        ("n.GET./api/v1/balance?x=", true),
        ("/api/v2.", true),
        ("1234567", false),
        (too_long.as_str(), false),
        ("with a space", true),
        ("nöncenönce", false),
        ("n.GET./api/v2/balance?x=", false),
        ("n.HEAD./api/v2/payments/1?", false),
        ("./api/v2", false),
    ] {
        let signature = signed("1763683200", nonce);
        assert_eq!(judge(&headers("1763683200", nonce, &signature)).is_ok(), passes, "{nonce:?}");
    }
}

#[test]
fn headers_of_another_form_are_invalid() {
    let signature = signed("1763683200", "nonce-0001");
    let all = headers("1763683200", "nonce-0001", &signature);
    let (upper, cut) = (signature.to_uppercase(), &signature[..75]);
    let digits = signature[12..].to_uppercase();
    let mixed = format!("hmac_sha256={digits}");
    let cases = [
        SignatureHeaders { version: Some("v2"), ..all },
        SignatureHeaders { merchant_id: Some("4x2"), ..all },
        SignatureHeaders { merchant_id: Some("99999999999999999999"), ..all },
        SignatureHeaders { signature: Some(&upper), ..all },
        SignatureHeaders { signature: Some(&mixed), ..all },
        SignatureHeaders { signature: Some(cut), ..all },
        SignatureHeaders { signature: Some(&signature[12..]), ..all },
        SignatureHeaders { signature: Some("hmac_sha256="), ..all },
    ];
    for headers in cases {
        assert!(matches!(judge(&headers), Err(SignatureProblem::Malformed { .. })), "{headers:?}");
    }
}

#[test]
fn the_body_of_a_get_counts_as_empty() {
    let sign = |body: &[u8]| sign_request(&secret(), "1", "nonce-0001", "GET", "/api/v2/balance", body);
    assert_eq!(sign(b"ignored"), sign(b""));
}

#[test]
fn a_captured_signature_fits_no_second_request_under_another_nonce() {
    let (nonce, path) = ("nonce-0001", "/api/v2/balance?x=.GET./api/v2/balance");
    let (longer, rest) = ("nonce-0001.GET./api/v2/balance?x=", "/api/v2/balance");
    assert_eq!(
        canonical_string("1", nonce, "GET", path, b""),
        canonical_string("1", longer, "GET", rest, b"")
    );
    assert!(is_nonce(nonce) && !is_nonce(longer));
}

proptest! {
    #[test]
    fn any_headers_at_all_are_judged_without_a_panic(
        merchant_id: Option<String>, timestamp: Option<String>, nonce: Option<String>, signature: Option<String>,
    ) {
        let headers = SignatureHeaders {
            merchant_id: merchant_id.as_deref(),
            timestamp: timestamp.as_deref(),
            nonce: nonce.as_deref(),
            version: Some("v1"),
            signature: signature.as_deref(),
        };
        prop_assert!(judge(&headers).is_err());
    }
}
