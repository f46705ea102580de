//! How the command line writes values.

use quipu_kernel::{Clock, CustomerId, Fields, MerchantId, Minor, Problems, SystemClock, Timestamp};
use quipu_merchants::Scopes;
use serde_json::json;

/// A name for people: 1 to 255 characters, none of them a control character.
pub(super) fn name(text: &str) -> Result<String, String> {
    let fits = (1..=255).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    if fits { Ok(text.to_owned()) } else { Err("must be 1 to 255 characters".to_owned()) }
}

/// A merchant's number.
pub(super) fn merchant(text: &str) -> Result<MerchantId, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.map(MerchantId).ok_or_else(|| "must be a merchant's number".to_owned())
}

/// An address in the web.
pub(super) fn web_url(text: &str) -> Result<String, String> {
    let (body, mut problems) = (json!({ "url": text }), Problems::new());
    let url = Fields::of_body(&body).ok().and_then(|fields| fields.web_url("url", &mut problems));
    url.map(str::to_owned).ok_or_else(|| problems.messages().join("; "))
}

/// A customer's number.
pub(super) fn customer(text: &str) -> Result<CustomerId, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.map(CustomerId).ok_or_else(|| "must be a customer's number".to_owned())
}

/// An instant that is still to come, ISO 8601.
pub(super) fn future_instant(text: &str) -> Result<Timestamp, String> {
    let at = Timestamp::parse(text).filter(|at| *at > SystemClock.now());
    at.ok_or_else(|| "must be an ISO 8601 instant in the future".to_owned())
}

/// A rate limit.
pub(super) fn limit(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "must be a whole number above zero".to_owned())
}

/// An amount with a sign, in minor units.
pub(super) fn signed_amount(text: &str) -> Result<Minor, String> {
    let amount = text.parse().ok().and_then(|units| Minor::new(units).ok());
    let amount = amount.filter(|amount| *amount != Minor::ZERO);
    amount.ok_or_else(|| "must be a whole number of at most 2^53 - 1, not zero".to_owned())
}

/// Why something is done: 1 to 500 characters, none of them a control character.
pub(super) fn reason(text: &str) -> Result<String, String> {
    let fits = (1..=500).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    if fits { Ok(text.to_owned()) } else { Err("must be 1 to 500 characters".to_owned()) }
}

/// Scopes, separated by commas.
pub(super) fn scopes(text: &str) -> Result<Scopes, String> {
    let scopes = Scopes::parse(&text.replace(',', " ")).map_err(|error| error.to_string())?;
    if scopes == Scopes::default() { Err("must name a scope".to_owned()) } else { Ok(scopes) }
}
