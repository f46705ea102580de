//! Fetching a file. A browser that opens an uploaded file runs nothing in it: the file has its declared type,
//! is sandboxed, and is saved instead of shown unless it is a picture.

use std::fmt::Write as _;

use actix_web::{
    HttpResponse,
    body::{BoxBody, SizedStream},
    http::header::{self, HeaderName, HeaderValue},
    web::Bytes,
};
use futures_util::stream::unfold;
use quipu_tickets::{ContentType, FileRefused, Outgoing, StoredAttachment};

use super::{Kind, Place};
use crate::{
    answer::ApiError,
    request::{Call, Outcome},
};

const POLICY: &str = "default-src 'none'; sandbox; frame-ancestors 'none'";

/// `GET` of a file.
pub(crate) async fn file(call: Call) -> Outcome {
    let stored = find(&call, Kind::File).await?;
    let disposition = disposition(stored.shown.content_type, &stored.shown.name);
    send(&call, &stored.object, stored.shown.content_type, &disposition).await
}

/// `GET` of a thumbnail.
pub(crate) async fn thumbnail(call: Call) -> Outcome {
    let stored = find(&call, Kind::Thumbnail).await?;
    let thumbnail = stored.thumbnail.ok_or_else(ApiError::attachment_not_found)?;
    send(&call, &thumbnail.object, thumbnail.content_type, "inline").await
}

async fn find(call: &Call, kind: Kind) -> Result<StoredAttachment, ApiError> {
    let place = Place::of(call)?;
    place.verify(call, kind)?;
    let tickets = &call.state.services.tickets;
    let stored = tickets.attachment(place.tenant, &place.ticket, &place.attachment).await?;
    stored.ok_or_else(ApiError::attachment_not_found)
}

async fn send(call: &Call, object: &str, kind: ContentType, disposition: &str) -> Outcome {
    let outgoing = call.state.services.tickets.open_file(object).await.map_err(|refused| match refused {
        FileRefused::NotArrived => ApiError::attachment_not_found(),
        other => ApiError::Unavailable { cause: format!("opening a file: {other}") },
    })?;
    let size = outgoing.size();
    let mut response = HttpResponse::Ok();
    response
        .insert_header((header::CONTENT_TYPE, HeaderValue::from_static(kind.as_str())))
        .insert_header((header::CONTENT_DISPOSITION, disposition))
        .insert_header((header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")))
        .insert_header((header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")))
        .insert_header((header::CACHE_CONTROL, HeaderValue::from_static("private, no-store")))
        .insert_header((HeaderName::from_static("x-robots-tag"), HeaderValue::from_static("noindex")));
    Ok(response.body(BoxBody::new(SizedStream::new(size, Box::pin(pieces(outgoing))))))
}

/// The file piece by piece, each read after the previous one was sent.
fn pieces(outgoing: Box<dyn Outgoing>) -> impl futures_util::Stream<Item = Result<Bytes, std::io::Error>> {
    unfold(Some(outgoing), |outgoing| async move {
        let mut outgoing = outgoing?;
        match outgoing.read().await {
            Ok(Some(piece)) => Some((Ok(Bytes::from(piece)), Some(outgoing))),
            Ok(None) => None,
            Err(refused) => Some((Err(std::io::Error::other(refused)), None)),
        }
    })
}

/// The header's value (RFC 6266): the given name, with every byte escaped that could end it or has a meaning.
fn disposition(kind: ContentType, name: &str) -> String {
    let how = if kind.is_image() { "inline" } else { "attachment" };
    let mut escaped = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_') {
            escaped.push(char::from(byte));
        } else {
            // Writing to memory cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    format!("{how}; filename*=UTF-8''{escaped}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pictures_are_shown_in_place() {
        for kind in ContentType::ALL {
            let expected = if kind.is_image() { "inline;" } else { "attachment;" };
            assert!(disposition(kind, "a").starts_with(expected), "{kind:?}");
        }
    }

    #[test]
    fn no_name_breaks_out_of_its_header() {
        assert_eq!(
            disposition(ContentType::Pdf, "a b\"; x=\r\n ñ.pdf"),
            "attachment; filename*=UTF-8''a%20b%22%3B%20x%3D%0D%0A%20%C3%B1.pdf"
        );
    }
}
