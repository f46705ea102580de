//! Reading the headers that say who is calling.

use actix_web::{HttpRequest, http::header::HeaderName};

/// A header as it was sent. One that stands there twice is not read at all: whoever looked at the request before us may
/// have gone by the other value.
pub(super) enum CredentialHeader<'a> {
    Nothing,
    Text(&'a str),
    /// Sent twice, or in bytes that are no text.
    Unusable,
}

impl<'a> CredentialHeader<'a> {
    pub(super) fn read(request: &'a HttpRequest, name: &HeaderName) -> Self {
        let mut values = request.headers().get_all(name);
        match (values.next(), values.next()) {
            (None, _) => Self::Nothing,
            (Some(value), None) => value.to_str().map_or(Self::Unusable, Self::Text),
            (Some(_), Some(_)) => Self::Unusable,
        }
    }

    /// The text; for what is unusable one that no header may have, so that it is refused for its form.
    pub(super) const fn or_malformed(self) -> Option<&'a str> {
        match self {
            Self::Nothing => None,
            Self::Text(text) => Some(text),
            Self::Unusable => Some("\0"),
        }
    }
}
