//! The URL for uploading a file.

use quipu_tickets::{IssuedUpload, UploadDraft};
use serde_json::json;

use super::existing_ticket;
use crate::{
    answer::envelope,
    caller::Caller,
    files,
    request::{Call, Outcome},
};

pub(crate) async fn issue(call: Call, caller: Caller) -> Outcome {
    let id = existing_ticket(&call, &caller).await?;
    let draft = UploadDraft::parse(&call.json().await?)?;
    let issued = call.state.services.tickets.announce(caller.tenant(), &id, draft).await?;
    let IssuedUpload { upload, elsewhere } = issued;
    let url = elsewhere.unwrap_or_else(|| files::upload_url(&call.state, &upload));
    let expires_in = upload.expires_at.since(upload.issued_at).as_secs();
    envelope::one(json!({
        "upload_url": url,
        "attachment_id": upload.id,
        "key": upload.key(),
        "expires_in": expires_in,
    }))
}
