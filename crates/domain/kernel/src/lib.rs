#![doc = include_str!("../README.md")]

mod clock;
mod currency;
mod entropy;
mod environment;
mod ids;
mod money;
mod page;
mod problems;
mod secret;

pub use clock::{Clock, SystemClock, Timestamp};
pub use currency::Currency;
pub use entropy::{Entropy, base32, base62};
pub use environment::{Environment, Tenant};
pub use ids::{CustomerId, EventId, IdSource, MerchantId, PaymentId, PaymentIdSource};
pub use money::{Amount, MAX_MINOR, Minor, OutOfRange};
pub use page::Page;
pub use problems::{Fields, Problems, has_control_characters};
pub use secret::Secret;

/// A text that is not one of the values its type admits.
///
/// The message names what is admitted and never repeats the text, which may be hostile or secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be {expected}")]
pub struct Unrecognised {
    /// What would have been accepted, in words: `"one of deposit, withdrawal"`.
    pub expected: &'static str,
}
