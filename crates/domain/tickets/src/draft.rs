//! The requests of merchants about tickets.
//!
//! Each reader checks everything that the request alone can show, and collects all problems. Unknown members
//! are ignored; `null` is the same as leaving a member out.

use quipu_kernel::{Fields, PaymentId, Problems};
use serde_json::Value;

use crate::{
    category::Category,
    content_type::{ContentType, MAX_FILE_BYTES},
    ids::AttachmentId,
};

/// The most characters of a title.
const MAX_TITLE: usize = 200;
/// The most characters of a description, a comment or a note.
pub(crate) const MAX_BODY: usize = 10_000;
/// The most characters of any other text.
pub(crate) const MAX_TEXT: usize = 255;
/// The most files that one comment may name.
const MAX_FILES: usize = 20;

/// The problem of a payment that does not exist or belongs to another tenant.
pub(crate) const NO_SUCH_PAYMENT: &str = "must name one of your payments";

/// A valid request to open a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketDraft {
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    pub(crate) category: Category,
    pub(crate) sub_category: Option<String>,
    pub(crate) payment_id: Option<PaymentId>,
    pub(crate) transaction_id: Option<String>,
    pub(crate) reference: Option<String>,
    pub(crate) requires_refund: bool,
}

impl TicketDraft {
    /// Reads the body of a request, or answers all its problems.
    pub fn parse(body: &Value) -> Result<Self, Problems> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let p = &mut problems;
        let title = fields.required_long_text("title", MAX_TITLE, p);
        let description = fields.long_text("description", MAX_BODY, p);
        let category = fields.parsed("category", p).unwrap_or(Category::Other);
        let sub_category = fields.long_text("sub_category", MAX_TEXT, p);
        let payment_id = read_payment_id(&fields, p);
        let transaction_id = fields.long_text("transaction_id", MAX_TEXT, p);
        let reference = fields.long_text("reference", MAX_TEXT, p);
        let requires_refund = fields.boolean("requires_refund", p).unwrap_or(false);
        let draft = title.map(|title| Self {
            title: title.to_owned(),
            description: description.map(str::to_owned),
            category,
            sub_category: sub_category.map(str::to_owned),
            payment_id,
            transaction_id: transaction_id.map(str::to_owned),
            reference: reference.map(str::to_owned),
            requires_refund,
        });
        problems.admit(draft)
    }

    /// The payment it is about.
    pub const fn payment_id(&self) -> Option<&PaymentId> {
        self.payment_id.as_ref()
    }
}

fn read_payment_id(fields: &Fields<'_>, problems: &mut Problems) -> Option<PaymentId> {
    let text = fields.text("payment_id", MAX_TEXT, problems)?;
    let id = text.parse().ok();
    if id.is_none() {
        problems.add("payment_id", NO_SUCH_PAYMENT);
    }
    id
}

/// An upload, as a comment names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedUpload {
    /// The `attachment_id` in the answer with the upload URL.
    pub id: AttachmentId,
    /// The `key` in the same answer.
    pub key: String,
    /// The name of the attachment, which may differ from that of the upload.
    pub filename: String,
    /// The type that the upload was announced with.
    pub content_type: ContentType,
}

/// A valid comment of a merchant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentDraft {
    pub(crate) body: String,
    pub(crate) uploads: Vec<NamedUpload>,
}

impl CommentDraft {
    /// Reads the body of a request, or answers all its problems.
    pub fn parse(body: &Value) -> Result<Self, Problems> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let text = fields.required_long_text("body", MAX_BODY, &mut problems);
        let items = fields.objects("attachments", MAX_FILES, &mut problems).unwrap_or_default();
        let uploads: Vec<_> = items.iter().map(|item| read_named(item, &mut problems)).collect();
        for (place, upload) in uploads.iter().enumerate() {
            let Some(upload) = upload else { continue };
            if uploads[..place].iter().flatten().any(|earlier| earlier.id == upload.id) {
                problems.add(&format!("attachments.{place}.attachment_id"), "is named twice");
            }
        }
        let uploads = uploads.into_iter().flatten().collect();
        problems.admit(text.map(|text| Self { body: text.to_owned(), uploads }))
    }

    /// The uploads that it names.
    pub fn uploads(&self) -> &[NamedUpload] {
        &self.uploads
    }
}

fn read_named(fields: &Fields<'_>, problems: &mut Problems) -> Option<NamedUpload> {
    let id = fields.required_parsed("attachment_id", problems);
    let key = fields.required_text("key", MAX_TEXT, problems);
    let filename = read_filename(fields, problems);
    let content_type = fields.required_parsed("content_type", problems);
    Some(NamedUpload { id: id?, key: key?.to_owned(), filename: filename?, content_type: content_type? })
}

/// Reads the name of a file, which must contain no path and nothing that looks like one.
fn read_filename(fields: &Fields<'_>, problems: &mut Problems) -> Option<String> {
    let name = fields.required_text("filename", MAX_TEXT, problems)?;
    if name.contains(['/', '\\']) || matches!(name, "." | "..") {
        problems.add(&fields.path("filename"), "must be the name of a file, without a path");
        return None;
    }
    Some(name.to_owned())
}

/// A valid request for an upload URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadDraft {
    pub(crate) filename: String,
    pub(crate) content_type: ContentType,
}

impl UploadDraft {
    /// Reads the body of a request, or answers all its problems. `file_size` is checked but not stored: the
    /// bytes are counted when they arrive.
    pub fn parse(body: &Value) -> Result<Self, Problems> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let filename = read_filename(&fields, &mut problems);
        let content_type = fields.required_parsed("content_type", &mut problems);
        let size = fields.integer("file_size", &mut problems);
        if size
            .is_some_and(|size| !u64::try_from(size).is_ok_and(|size| (1..=MAX_FILE_BYTES).contains(&size)))
        {
            problems.add("file_size", format_args!("must be from 1 to {MAX_FILE_BYTES}"));
        }
        let draft = filename.zip(content_type);
        problems.admit(draft.map(|(filename, content_type)| Self { filename, content_type }))
    }
}

/// Reads the optional `comment` of a close or reopen.
pub fn parse_closing_comment(body: &Value) -> Result<Option<String>, Problems> {
    let fields = Fields::of_body(body)?;
    let mut problems = Problems::new();
    let comment = fields.optional_long_text("comment", MAX_BODY, &mut problems);
    problems.admit(Some(comment))
}
