//! The storage host: files are uploaded and fetched at signed URLs. The URL is the permission, so no other is
//! required; it names the merchant's file and expires soon.

pub(crate) mod fetch;
pub(crate) mod send;

use quipu_kernel::{Environment, MerchantId, Tenant, Timestamp};
use quipu_signing::{SignedUrl, UrlProblem};
use quipu_tickets::{AttachmentId, ContentType, StoredAttachment, TicketId, Upload};
use serde::Serialize;

use crate::{
    answer::{ApiError, ErrorCode},
    request::{Call, Query},
    state::AppState,
};

/// The types that a file may have.
pub(crate) const FILE_TYPES: &[&str] = &ContentType::NAMES;

/// Where one file is, in the segments of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    tenant: Tenant,
    ticket: TicketId,
    attachment: AttachmentId,
}

impl Place {
    /// The file that the path names; a malformed path is answered 404.
    fn of(call: &Call) -> Result<Self, ApiError> {
        let read = || {
            let environment: Environment = call.segment("environment").parse().ok()?;
            let merchant = call.segment("merchant").parse().ok().map(MerchantId)?;
            let ticket = call.segment("ticket").parse().ok()?;
            let attachment = call.segment("attachment").parse().ok()?;
            Some(Self { tenant: Tenant::new(merchant, environment), ticket, attachment })
        };
        read().ok_or_else(ApiError::attachment_not_found)
    }

    fn of_stored(stored: &StoredAttachment) -> Self {
        let (ticket, attachment) = (stored.ticket.clone(), stored.shown.id.clone());
        Self { tenant: stored.tenant, ticket, attachment }
    }

    /// The path as it is signed, without any prefix of the storage host.
    fn path(&self, kind: Kind) -> String {
        let (environment, merchant) = (self.tenant.environment(), self.tenant.merchant());
        let (first, last) = match kind {
            Kind::Upload => ("uploads", ""),
            Kind::File => ("files", ""),
            Kind::Thumbnail => ("files", "/thumbnail"),
        };
        format!("/{first}/{environment}/{merchant}/{}/{}{last}", self.ticket, self.attachment)
    }

    fn url(&self, state: &AppState, kind: Kind, expires: Timestamp) -> String {
        let path = self.path(kind);
        let signed = SignedUrl { method: kind.method(), path: &path, expires };
        let signature = signed.sign(&state.services.keyring);
        format!("{}{path}?expires={}&signature={signature}", state.settings.upload_url, expires.millis())
    }

    /// Whether the request's URL was signed here for this purpose, and has not expired.
    fn verify(&self, call: &Call, kind: Kind) -> Result<(), ApiError> {
        let query = Query::parse(call.request.query_string())?;
        let (mut ignored, invalid) = (quipu_kernel::Problems::new(), UrlProblem::Mismatch);
        let expires = query.whole_number("expires", &mut ignored);
        let expires = expires.and_then(|millis| i64::try_from(millis).ok()).map(Timestamp::from_millis);
        let signature = query.text("signature", &mut ignored);
        let (Some(expires), Some(signature)) = (expires, signature) else { return Err(refused(invalid)) };
        let path = self.path(kind);
        let signed = SignedUrl { method: kind.method(), path: &path, expires };
        signed.verify(&call.state.services.keyring, signature, call.now).map_err(refused)
    }
}

/// The purpose of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Upload,
    File,
    Thumbnail,
}

impl Kind {
    const fn method(self) -> &'static str {
        match self {
            Self::Upload => "PUT",
            Self::File | Self::Thumbnail => "GET",
        }
    }
}

fn refused(problem: UrlProblem) -> ApiError {
    let code = match problem {
        UrlProblem::Mismatch => ErrorCode::UrlInvalid,
        UrlProblem::Expired => ErrorCode::UrlExpired,
    };
    ApiError::refused(code, problem.to_string())
}

/// The URL to which an upload is sent.
pub(crate) fn upload_url(state: &AppState, upload: &Upload) -> String {
    let (ticket, attachment) = (upload.ticket.clone(), upload.id.clone());
    Place { tenant: upload.tenant, ticket, attachment }.url(state, Kind::Upload, upload.expires_at)
}

/// The URLs of an attachment, as an answer's data. `thumb_url` is null until the thumbnail is made.
#[derive(Serialize)]
pub(crate) struct Links {
    download_url: String,
    thumb_url: Option<String>,
}

impl Links {
    pub(crate) fn of(call: &Call, stored: &StoredAttachment) -> Self {
        let place = Place::of_stored(stored);
        let expires = call.now.plus(call.state.services.tickets.periods().download_expires_in);
        let thumbnail = stored.thumbnail.as_ref();
        Self {
            download_url: place.url(&call.state, Kind::File, expires),
            thumb_url: thumbnail.map(|_| place.url(&call.state, Kind::Thumbnail, expires)),
        }
    }
}
