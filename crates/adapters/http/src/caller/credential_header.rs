//! Reads the headers that identify the caller.

use actix_web::{HttpRequest, http::header::HeaderName};

/// A credential header as it was sent. One that is sent twice is not read at all: a proxy in front of us may
/// have used the other value.
pub(super) enum CredentialHeader<'a> {
    Nothing,
    Text(&'a str),
    /// Sent twice, or not as text.
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

    /// The text. An unusable header is read as a text that is always malformed, so that it is refused as
    /// such.
    pub(super) const fn or_malformed(self) -> Option<&'a str> {
        match self {
            Self::Nothing => None,
            Self::Text(text) => Some(text),
            Self::Unusable => Some("\0"),
        }
    }
}
