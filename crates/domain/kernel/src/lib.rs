#![doc = include_str!("../README.md")]

mod blank;
mod clock;
mod currency;
mod day;
mod entropy;
mod environment;
mod fields;
mod folded;
mod ids;
mod json;
mod locked;
mod money;
mod network;
mod page;
mod period;
mod problems;
mod secret;
mod store_error;
mod unrecognised;
mod uuid_text;
mod web_url;
mod wire_names;

pub use blank::unless_blank;
pub use clock::{Clock, SystemClock, Timestamp};
pub use currency::Currency;
pub use day::Day;
pub use entropy::{BASE62, Entropy, base32, base62};
pub use environment::{Environment, Tenant};
pub use fields::{Fields, has_control_characters};
pub use folded::fold;
pub use ids::{CustomerId, EventId, IdSource, MerchantId, PaymentId, PaymentIdSource, timed_id};
pub use json::{MAX_JSON_INTEGER, json_text};
pub use locked::locked;
pub use money::{Amount, MAX_MINOR, Minor, OutOfRange};
pub use network::{Network, NoNetwork};
pub use page::Page;
pub use period::Period;
pub use problems::Problems;
pub use secret::Secret;
#[doc(hidden)]
pub use serde;
pub use store_error::StoreError;
pub use unrecognised::Unrecognised;
pub use uuid_text::{read_uuid, uuid_v4, uuid_v7};
pub use web_url::{is_https, is_web_url, names_a_user};
