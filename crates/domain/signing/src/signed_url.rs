//! URLs that carry a permission: any holder of the URL may do one thing, until the permission ends.

use quipu_kernel::Timestamp;
use ring::hmac;

use crate::keyring::Keyring;

/// The permission of a signed URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedUrl<'a> {
    /// The HTTP method, `GET` or `PUT`.
    pub method: &'a str,
    /// The path from its first slash, without the query.
    pub path: &'a str,
    /// When the permission ends.
    pub expires: Timestamp,
}

/// Why a URL gives no permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlProblem {
    /// The signature is not the gateway's, or was made for another URL.
    #[error("the URL's signature does not match")]
    Mismatch,
    /// The permission has ended.
    #[error("the URL has expired")]
    Expired,
}

impl SignedUrl<'_> {
    /// The signature: HMAC-SHA256 in hexadecimal under the installation's key for URLs.
    pub fn sign(&self, keyring: &Keyring) -> String {
        hex::encode(hmac::sign(&keyring.current().urls, self.message().as_bytes()))
    }

    /// Whether `signature` is the signature of this URL, compared in constant time, and the permission has
    /// not ended at `now`. URLs signed before the master key was replaced are valid until their end, unless others may have that
    /// key.
    pub fn verify(&self, keyring: &Keyring, signature: &str, now: Timestamp) -> Result<(), UrlProblem> {
        let signature = hex::decode(signature).map_err(|_| UrlProblem::Mismatch)?;
        let message = self.message();
        let known =
            keyring.verifying().any(|keys| hmac::verify(&keys.urls, message.as_bytes(), &signature).is_ok());
        if !known {
            return Err(UrlProblem::Mismatch);
        }
        if now < self.expires { Ok(()) } else { Err(UrlProblem::Expired) }
    }

    /// The signed text. Only the path, which comes last, can contain a line feed, so the text is unambiguous.
    fn message(&self) -> String {
        format!("quipu-url-v1\n{}\n{}\n{}", self.method, self.expires.millis(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        entropy::SystemEntropy,
        keyring::{generate_master_key, tests::some_keyring},
    };

    #[test]
    fn a_url_is_good_for_its_method_path_and_time_only() {
        let keyring = some_keyring();
        let at = Timestamp::from_millis;
        let url = SignedUrl { method: "PUT", path: "/uploads/a", expires: at(100) };
        let signature = url.sign(&keyring);
        assert_eq!(url.verify(&keyring, &signature, at(99)), Ok(()));
        assert_eq!(url.verify(&keyring, &signature, at(100)), Err(UrlProblem::Expired));
        for other in [
            SignedUrl { method: "GET", ..url },
            SignedUrl { path: "/uploads/b", ..url },
            SignedUrl { expires: at(101), ..url },
        ] {
            assert_eq!(other.verify(&keyring, &signature, at(99)), Err(UrlProblem::Mismatch), "{other:?}");
        }
        assert_eq!(url.verify(&some_keyring(), &signature, at(99)), Err(UrlProblem::Mismatch));
        let old = generate_master_key(&SystemEntropy);
        let signature_of_old = url.sign(&Keyring::from_base64(&old).expect("a key"));
        let with = |ring: Result<Keyring, _>| url.verify(&ring.expect("a key"), &signature_of_old, at(99));
        assert_eq!(with(some_keyring().with_retired(&old)), Ok(()));
        assert_eq!(with(some_keyring().with_leaked(&old)), Err(UrlProblem::Mismatch));
        for forged in ["", "zz", &signature[..62], &signature.replace(&signature[..1], "g")] {
            assert_eq!(url.verify(&keyring, forged, at(99)), Err(UrlProblem::Mismatch));
        }
    }
}
