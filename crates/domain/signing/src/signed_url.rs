//! URLs that carry their own permission: whoever has one may do one thing, until it ends.

use quipu_kernel::Timestamp;
use ring::hmac;

use crate::keyring::Keyring;

/// What a signed URL permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedUrl<'a> {
    /// `GET` or `PUT`.
    pub method: &'a str,
    /// The path from its first slash, without the query.
    pub path: &'a str,
    /// The Unix second at which the permission ends.
    pub expires: i64,
}

/// Why a URL permits nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlProblem {
    /// It was not made here, or not for this.
    #[error("the URL's signature does not match")]
    Mismatch,
    /// Its time is over.
    #[error("the URL has expired")]
    Expired,
}

impl SignedUrl<'_> {
    /// The signature: HMAC-SHA256 in hexadecimal under the installation's key for URLs.
    pub fn sign(&self, keyring: &Keyring) -> String {
        hex::encode(hmac::sign(&keyring.current().urls, self.message().as_bytes()))
    }

    /// Whether `signature` is this URL's, compared in constant time, and its end has not come at `now`. URLs signed before
    /// the master key was replaced are good until their end.
    pub fn verify(&self, keyring: &Keyring, signature: &str, now: Timestamp) -> Result<(), UrlProblem> {
        let signature = hex::decode(signature).map_err(|_| UrlProblem::Mismatch)?;
        let message = self.message();
        let known =
            keyring.all().any(|keys| hmac::verify(&keys.urls, message.as_bytes(), &signature).is_ok());
        if !known {
            return Err(UrlProblem::Mismatch);
        }
        if now.seconds() < self.expires { Ok(()) } else { Err(UrlProblem::Expired) }
    }

    /// No member can hold a line feed but the path, which is the last.
    fn message(&self) -> String {
        format!("quipu-url-v1\n{}\n{}\n{}", self.method, self.expires, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyring::tests::some_keyring;

    #[test]
    fn a_url_is_good_for_its_method_path_and_time_only() {
        let keyring = some_keyring();
        let url = SignedUrl { method: "PUT", path: "/uploads/a", expires: 100 };
        let signature = url.sign(&keyring);
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1000);
        assert_eq!(url.verify(&keyring, &signature, at(99)), Ok(()));
        assert_eq!(url.verify(&keyring, &signature, at(100)), Err(UrlProblem::Expired));
        for other in [
            SignedUrl { method: "GET", ..url },
            SignedUrl { path: "/uploads/b", ..url },
            SignedUrl { expires: 101, ..url },
        ] {
            assert_eq!(other.verify(&keyring, &signature, at(99)), Err(UrlProblem::Mismatch), "{other:?}");
        }
        assert_eq!(url.verify(&some_keyring(), &signature, at(99)), Err(UrlProblem::Mismatch));
        for forged in ["", "zz", &signature[..62], &signature.replace(&signature[..1], "g")] {
            assert_eq!(url.verify(&keyring, forged, at(99)), Err(UrlProblem::Mismatch));
        }
    }
}
