//! Parsers of the values on the command line.

use quipu_kernel::{Clock, CustomerId, Fields, MerchantId, Minor, Problems, SystemClock, Timestamp};
use quipu_merchants::Scopes;
use serde_json::json;

/// Checks a text by the rule for a member of a request; the error says what the text must be.
fn as_a_member(text: &str, read: impl FnOnce(&Fields<'_>, &mut Problems) -> bool) -> Result<&str, String> {
    let (body, mut problems) = (json!({ MEMBER: text }), Problems::new());
    let is_good = Fields::of_body(&body).is_ok_and(|fields| read(&fields, &mut problems));
    if is_good && problems.is_empty() {
        return Ok(text);
    }
    let of_member = format!("{MEMBER} ");
    let told = problems.messages().iter().map(|told| told.strip_prefix(&of_member).unwrap_or(told));
    Err(told.collect::<Vec<_>>().join("; "))
}

const MEMBER: &str = "value";

/// A text of 1 to `max` characters, none of them a control character.
fn plain(text: &str, max: usize) -> Result<String, String> {
    let read =
        |fields: &Fields<'_>, problems: &mut Problems| fields.required_text(MEMBER, max, problems).is_some();
    as_a_member(text, read).map(str::to_owned)
}

/// A name for people: 1 to 255 characters, none of them a control character.
pub(super) fn name(text: &str) -> Result<String, String> {
    plain(text, 255)
}

/// The name that payers read, which must not be blank.
pub(super) fn payers_name(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("must not be blank".to_owned()) } else { name(text) }
}

/// A bank's or provider's reference: 1 to 255 characters.
pub(super) fn rail_reference(text: &str) -> Result<String, String> {
    plain(text, 255)
}

/// A ticket that a refund names: 1 to 64 characters.
pub(super) fn refunds_ticket(text: &str) -> Result<String, String> {
    plain(text, 64)
}

/// A merchant's number.
pub(super) fn merchant(text: &str) -> Result<MerchantId, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.map(MerchantId).ok_or_else(|| "must be a merchant's number".to_owned())
}

/// A web address.
pub(super) fn web_url(text: &str) -> Result<String, String> {
    let read = |fields: &Fields<'_>, problems: &mut Problems| fields.web_url(MEMBER, problems).is_some();
    as_a_member(text, read).map(str::to_owned)
}

/// A customer's number.
pub(super) fn customer(text: &str) -> Result<CustomerId, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.map(CustomerId).ok_or_else(|| "must be a customer's number".to_owned())
}

/// An instant in the future, ISO 8601.
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

/// A reason: 1 to 500 characters, none of them a control character.
pub(super) fn reason(text: &str) -> Result<String, String> {
    plain(text, 500)
}

/// Scopes, separated by commas.
pub(super) fn scopes(text: &str) -> Result<Scopes, String> {
    let scopes = Scopes::parse(&text.replace(',', " ")).map_err(|error| error.to_string())?;
    if scopes == Scopes::default() { Err("must name a scope".to_owned()) } else { Ok(scopes) }
}
