//! The addresses of hosted pages.

use quipu_commit::Record;
use quipu_kernel::{Environment, PaymentId, Secret, Tenant};
use quipu_signing::{PageKey, sha256_hex};

use crate::{details::kind::PaymentType, payment::Payment};

/// How many characters a token has.
const TOKEN_CHARACTERS: usize = 27;

/// Makes the addresses of hosted pages. A token is computed from the page key and the payment, so that an
/// address can be shown at any time and only its hash has to be stored.
#[derive(Debug)]
pub struct PageLinks {
    key: PageKey,
    public_url: String,
}

/// The record by which a payment's page is found, stored with the payment in the same commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageAddress {
    /// The tenant that owns the payment.
    pub tenant: Tenant,
    /// The payment.
    pub payment_id: PaymentId,
    /// Hex of SHA-256 over the secret part of the address.
    pub hash: String,
}

impl Record for PageAddress {}

impl PageLinks {
    /// Makes addresses that begin with `public_url`.
    pub fn new(key: PageKey, public_url: &str) -> Self {
        Self { key, public_url: public_url.trim_end_matches('/').to_owned() }
    }

    /// The address of a payment's page, if its type has one.
    pub fn url(&self, kind: PaymentType, environment: Environment, id: &PaymentId) -> Option<Secret> {
        let token = self.token(kind, environment, id)?;
        Some(Secret::new(format!("{}/payment-pages/{}", self.public_url, token.expose())))
    }

    /// The token of this payment's page, if it has one.
    pub fn token_of(&self, payment: &Payment) -> Option<Secret> {
        let terms = payment.terms();
        self.token(terms.kind, terms.tenant.environment(), &terms.id)
    }

    fn token(&self, kind: PaymentType, environment: Environment, id: &PaymentId) -> Option<Secret> {
        kind.has_page().then(|| self.key.token(environment, id.as_str()))
    }

    /// The address of this payment's page, if it has one.
    pub fn url_of(&self, payment: &Payment) -> Option<Secret> {
        let terms = payment.terms();
        self.url(terms.kind, terms.tenant.environment(), &terms.id)
    }

    /// The records of a new payment's pages: its own page, and the one that plays its scheme in the test
    /// environment.
    pub fn addresses(&self, payment: &Payment) -> Vec<PageAddress> {
        let terms = payment.terms();
        let tenant = terms.tenant;
        let mut hashes = Vec::new();
        if let Some(token) = self.token_of(payment) {
            hashes.push(sha256_hex(token.expose().as_bytes()));
        }
        let shown = payment.state().instructions.redirect_url.as_deref();
        let is_played = shown.is_some_and(|url| url.ends_with(&Self::scheme_path(&terms.id)));
        if is_played && tenant.environment() == Environment::Test {
            hashes.push(Self::scheme_hash(&terms.id));
        }
        let address = |hash| PageAddress { tenant, payment_id: terms.id.clone(), hash };
        hashes.into_iter().map(address).collect()
    }

    /// The hash by which a token is looked up; `None` for a text that does not have the form of a token.
    pub fn hash_of(token: &str) -> Option<String> {
        let fits = token.len() == TOKEN_CHARACTERS
            && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        fits.then(|| sha256_hex(token.as_bytes()))
    }

    /// The path of the page that plays the scheme of a payment.
    pub fn scheme_path(id: &PaymentId) -> String {
        format!("/simulated-scheme/{id}")
    }

    /// The hash by which the page that plays a scheme is looked up.
    pub fn scheme_hash(id: &PaymentId) -> String {
        sha256_hex(format!("scheme/{id}").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use quipu_signing::SystemEntropy;

    use super::*;

    #[test]
    fn only_hosted_types_have_an_address_and_its_token_is_found_by_its_hash() {
        let links = PageLinks::new(PageKey::generate(&SystemEntropy), "https://pay.example/");
        let id: PaymentId = "pay_1763683200000_abcdefghjkmn".parse().expect("an identifier");
        assert!(links.url(PaymentType::Deposit, Environment::Test, &id).is_none());
        let url = links.url(PaymentType::DepositPp, Environment::Test, &id).expect("an address");
        let token = url.expose().strip_prefix("https://pay.example/payment-pages/").expect("a path");
        assert!(PageLinks::hash_of(token).is_some());
        assert_ne!(Some(url.clone()), links.url(PaymentType::DepositPp, Environment::Live, &id));
        for text in ["", "details", &token[1..], &format!("{token}x"), "w3Jv9Qx2b7Lk0TzR5mN8cYpFhU."] {
            assert_eq!(PageLinks::hash_of(text), None, "{text}");
        }
    }
}
