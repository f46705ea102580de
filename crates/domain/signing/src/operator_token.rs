//! An operator's token (docs/openapi-operator.json).

use quipu_kernel::{Entropy, Secret, Unrecognised};

use crate::{checked_text, keyring::Keyring};

const PREFIX: &str = "qp_op_";

/// An operator token of the right form: `qp_op_`, 37 random characters, and six of a checksum. Only the
/// database shows whether it was ever issued.
#[derive(Debug, Clone)]
pub struct OperatorToken(Secret);

impl OperatorToken {
    /// A new token.
    pub fn generate(entropy: &dyn Entropy) -> Self {
        Self(Secret::new(checked_text::generate(PREFIX, entropy)))
    }

    /// Reads a presented token.
    pub fn parse(text: &str) -> Result<Self, Unrecognised> {
        if !checked_text::is_valid(PREFIX, text) {
            return Err(Unrecognised { expected: "an operator token" });
        }
        Ok(Self(Secret::new(text)))
    }

    /// The last four characters, by which people tell their tokens apart.
    pub fn last_four(&self) -> &str {
        checked_text::last_four(self.0.expose())
    }

    /// The hash a new token is stored under, 64 hexadecimal characters.
    pub fn hash(&self, keyring: &Keyring) -> String {
        keyring.hash(&self.0)
    }

    /// The hashes a presented token may be stored under, the likeliest first (see [`Keyring::hashes`]).
    pub fn hashes(&self, keyring: &Keyring) -> Vec<String> {
        keyring.hashes(&self.0)
    }

    /// The token itself, for the one place that shows it.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{entropy::SystemEntropy, keyring::tests::some_keyring};

    #[test]
    fn a_generated_token_is_read_back_and_a_changed_one_is_not() {
        let keyring = some_keyring();
        let token = OperatorToken::generate(&SystemEntropy);
        let read = OperatorToken::parse(token.expose()).expect("a token");
        assert_eq!(read.hashes(&keyring), [token.hash(&keyring)]);
        assert_eq!(read.last_four(), token.last_four());
        assert!(OperatorToken::parse(&token.expose()[..48]).is_err());
        assert!(OperatorToken::parse(&format!("{} ", token.expose())).is_err());
    }
}
