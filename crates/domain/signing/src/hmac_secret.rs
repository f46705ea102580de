//! The secret of a v2 credential.

use quipu_kernel::{Entropy, Secret, base62};

/// A new HMAC secret: `qp_hmac_` and 43 base-62 characters, 256 bits. Its UTF-8 bytes, prefix included, are the key
/// that signs requests.
pub fn generate_hmac_secret(entropy: &dyn Entropy) -> Secret {
    Secret::new(format!("qp_hmac_{}", base62(entropy, 43)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::SystemEntropy;

    #[test]
    fn it_has_the_form_the_documents_show() {
        let secret = generate_hmac_secret(&SystemEntropy);
        let random = secret.expose().strip_prefix("qp_hmac_").expect("the prefix");
        assert!(random.len() == 43 && random.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    }
}
