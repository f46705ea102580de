//! A merchant's API key (docs/API.md, "Authentication").

use quipu_kernel::{Entropy, Environment, Secret};

use crate::{checked_text, keyring::Keyring};

/// Prefixes of former keys, which are refused with a separate problem.
const RETIRED: [&str; 2] = ["qp_sandbox_sk_", "qp_live_"];

/// An API key of the right form: `qp_test_sk_` or `qp_prod_sk_`, 37 random characters, and six of a checksum.
/// Only the database shows whether it was ever issued.
#[derive(Debug, Clone)]
pub struct ApiKey {
    text: Secret,
    environment: Environment,
}

/// Why a text is not an API key. The message does not repeat the text, which may be another secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ApiKeyProblem {
    /// It begins with `qp_sandbox_sk_` or `qp_live_`, which are no longer accepted.
    #[error("keys of this prefix are no longer accepted; use a qp_test_sk_ or qp_prod_sk_ key")]
    RetiredPrefix,
    /// Its form or its checksum is wrong: it was mistyped or cut off, or is not a key at all.
    #[error("not a valid API key")]
    Malformed,
}

impl ApiKey {
    /// A new key for one environment.
    pub fn generate(environment: Environment, entropy: &dyn Entropy) -> Self {
        Self { text: Secret::new(checked_text::generate(prefix_of(environment), entropy)), environment }
    }

    /// Reads a presented key.
    pub fn parse(text: &str) -> Result<Self, ApiKeyProblem> {
        if RETIRED.iter().any(|prefix| text.starts_with(prefix)) {
            return Err(ApiKeyProblem::RetiredPrefix);
        }
        let environment = Environment::ALL.into_iter().find(|environment| {
            let prefix = prefix_of(*environment);
            checked_text::is_valid(prefix, text)
        });
        let environment = environment.ok_or(ApiKeyProblem::Malformed)?;
        Ok(Self { text: Secret::new(text), environment })
    }

    /// The environment its prefix selects.
    pub fn environment(&self) -> Environment {
        self.environment
    }

    /// The last four characters, by which people tell their keys apart.
    pub fn last_four(&self) -> &str {
        checked_text::last_four(self.text.expose())
    }

    /// The hash a new key is stored under, 64 hexadecimal characters.
    pub fn hash(&self, keyring: &Keyring) -> String {
        keyring.hash(&self.text)
    }

    /// The hashes a presented key may be stored under, the likeliest first (see [`Keyring::hashes`]).
    pub fn hashes(&self, keyring: &Keyring) -> Vec<String> {
        keyring.hashes(&self.text)
    }

    /// The key itself, for the one answer that shows it.
    pub fn expose(&self) -> &str {
        self.text.expose()
    }
}

fn prefix_of(environment: Environment) -> &'static str {
    match environment {
        Environment::Test => "qp_test_sk_",
        Environment::Live => "qp_prod_sk_",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{entropy::SystemEntropy, keyring::tests::some_keyring};

    #[test]
    fn a_generated_key_is_read_back_with_its_environment() {
        let keyring = some_keyring();
        for (environment, prefix) in [(Environment::Test, "qp_test_sk_"), (Environment::Live, "qp_prod_sk_")]
        {
            let key = ApiKey::generate(environment, &SystemEntropy);
            let read = ApiKey::parse(key.expose()).expect("a key");
            assert_eq!(read.environment(), environment);
            assert!(key.expose().starts_with(prefix));
            assert_eq!(key.expose().len(), prefix.len() + 43);
            assert!(key.expose().ends_with(read.last_four()) && read.last_four().len() == 4);
            assert_eq!(read.hashes(&keyring), [key.hash(&keyring)]);
        }
    }

    #[test]
    fn the_prefix_is_under_the_checksum() {
        let key = ApiKey::generate(Environment::Test, &SystemEntropy);
        let forged = key.expose().replace("_test_", "_prod_");
        assert_eq!(ApiKey::parse(&forged).expect_err("forged"), ApiKeyProblem::Malformed);
    }

    #[test]
    fn retired_prefixes_are_named_and_all_else_is_malformed() {
        let problem = |text: &str| ApiKey::parse(text).expect_err("no key");
        for text in ["qp_sandbox_sk_abc", "qp_live_abc", "qp_live_", "qp_live_sk_abc"] {
            assert_eq!(problem(text), ApiKeyProblem::RetiredPrefix, "{text}");
        }
        for text in ["", "qp_test_sk_", "qp_test_sk_abc", "QP_TEST_SK_abc", "Bearer x", "qp_op_abc", "\u{0}é"]
        {
            assert_eq!(problem(text), ApiKeyProblem::Malformed, "{text:?}");
        }
    }

    #[test]
    fn debug_output_hides_the_key() {
        let key = ApiKey::generate(Environment::Live, &SystemEntropy);
        assert!(!format!("{key:?}").contains(&key.expose()[11..]));
    }
}
