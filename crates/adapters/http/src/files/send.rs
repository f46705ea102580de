//! Sending a file: `PUT` to the URL of an upload.

use actix_web::http::header;
use quipu_tickets::{ContentType, UploadError};
use serde_json::json;

use super::{Kind, Place};
use crate::{
    answer::{ApiError, ErrorCode, envelope},
    request::{Call, Outcome},
};

/// Takes the bytes piece by piece, and refuses as soon as there are too many or the first ones show another
/// type.
pub(crate) async fn put(mut call: Call) -> Outcome {
    let place = Place::of(&call)?;
    place.verify(&call, Kind::Upload)?;
    let tickets = call.state.services.tickets.clone();
    let (upload, mut incoming) = tickets.receive(place.tenant, &place.attachment).await?;
    if upload.ticket != place.ticket {
        return Err(ApiError::attachment_not_found());
    }
    require_type(&call, upload.content_type)?;
    if let Some(body) = &mut call.upload {
        while let Some(piece) = body.next().await? {
            incoming.write(&piece).await.map_err(UploadError::from)?;
        }
    }
    let arrival = incoming.finish().await.map_err(UploadError::from)?;
    let answer = json!({ "attachment_id": upload.id, "size": arrival.size });
    let now = call.state.services.clock.now();
    tickets.arrived(upload, arrival, now).await?;
    envelope::one(answer)
}

fn require_type(call: &Call, expected: ContentType) -> Result<(), ApiError> {
    let header = |name| call.request.headers().get(name).and_then(|value| value.to_str().ok());
    let declared = header(header::CONTENT_TYPE).and_then(ContentType::of_header);
    let plain = header(header::CONTENT_ENCODING).is_none_or(|it| it.eq_ignore_ascii_case("identity"));
    if declared == Some(expected) && plain {
        return Ok(());
    }
    let message =
        format!("send the body with Content-Type {} and without Content-Encoding", expected.as_str());
    Err(ApiError::refused(ErrorCode::UnsupportedMediaType, message))
}
