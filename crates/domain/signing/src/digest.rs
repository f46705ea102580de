//! Digests, and a comparison in constant time.

use ring::{digest, hmac};

/// SHA-256 (FIPS 180-4).
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    out.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    out
}

/// SHA-256 in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(digest::digest(&digest::SHA256, bytes))
}

/// Whether two secrets are equal, in a time that does not depend on the place where they differ.
///
/// The HMACs of the texts are compared instead of the texts: `ring` offers a constant-time comparison for
/// those and has deprecated its general one.
pub(crate) fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"quipu constant-time comparison");
    hmac::verify(&key, b, hmac::sign(&key, a).as_ref()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_nothing_is_the_known_one() {
        let of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256_hex(b""), of_nothing);
        assert_eq!(hex::encode(sha256(b"")), of_nothing);
    }

    #[test]
    fn only_equal_texts_compare_equal() {
        assert!(constant_time_eq(b"secret", b"secret"));
        for other in [&b""[..], b"secre", b"secret ", b"Secret", b"secreT"] {
            assert!(!constant_time_eq(b"secret", other));
        }
    }
}
