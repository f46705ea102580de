#![doc = include_str!("../README.md")]

mod api_key;
mod checked_text;
mod digest;
mod entropy;
mod hmac_secret;
mod keyring;
mod operator_token;
mod page_key;
mod request_signature;
mod seal;
mod signed_url;
mod token_key;
mod webhook_signature;

pub use api_key::{ApiKey, ApiKeyProblem};
pub use digest::{sha256, sha256_hex};
pub use entropy::SystemEntropy;
pub use hmac_secret::generate_hmac_secret;
pub use keyring::{Keyring, MasterKeyProblem, generate_master_key};
pub use operator_token::OperatorToken;
pub use page_key::PageKey;
pub use request_signature::{
    NONCE_KEPT_FOR, SignatureClaim, SignatureHeaders, SignatureProblem, SignedRequest, sign_request,
};
pub use seal::OpenProblem;
pub use signed_url::{SignedUrl, UrlProblem};
pub use token_key::TokenKey;
pub use webhook_signature::WebhookSecret;
