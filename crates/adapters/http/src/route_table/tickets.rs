//! Tickets, their comments and attachments: under `/api/v1`, and under the bare paths as well. And the storage host.

use quipu_merchants::Scope;
use quipu_tickets::MAX_FILE_BYTES;

use super::{row, scope};
use crate::{
    answer::{ErrorCode, Family},
    files::{self, FILE_TYPES},
    request::Intake,
    routing::{
        Access, Needs, RouteRow,
        Shows::{CountedList, Data, Media},
        operation::op,
    },
    v1::tickets,
};

const CREATE: Needs = scope(Scope::TicketsCreate);
const READ: Needs = scope(Scope::TicketsRead);
const UPDATE: Needs = scope(Scope::TicketsUpdate);

const LIST: &[&str] = &[
    "Limit",
    "Offset",
    "TicketStatusFilter",
    "TicketCategoryFilter",
    "TicketSearch",
    "TicketPaymentFilter",
    "CreatedAfter",
    "CreatedBefore",
    "TicketSortBy",
    "SortOrder",
];
const NO_TICKET: &[ErrorCode] = &[ErrorCode::TicketNotFound];
const NO_MOVE: &[ErrorCode] = &[ErrorCode::TicketNotFound, ErrorCode::InvalidStatusTransition];
/// The query parameters of a signed URL.
const SIGNED: &[&str] = &["UrlExpires", "UrlSignature"];
const NO_FILE: &[ErrorCode] = &[ErrorCode::UrlInvalid, ErrorCode::UrlExpired, ErrorCode::AttachmentNotFound];

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("POST", "/api/v1/tickets", Access::KeyOrToken(CREATE, run!(tickets::create::handle, call, caller))).also_at("/tickets").family_of(Family::Ticket)
        .doc(op("createTicket", "Open a ticket").takes("TicketCreate").answers(201).shows(Data("Ticket")).refuses(&[ErrorCode::TicketExistsForPayment])),
    row("GET", "/api/v1/tickets", Access::KeyOrToken(READ, run!(tickets::list::handle, call, caller))).also_at("/tickets").family_of(Family::Ticket)
        .doc(op("listTickets", "Tickets, newest first unless asked otherwise").asks(LIST).shows(CountedList("TicketSummary"))),
    row("GET", "/api/v1/tickets/{id}", Access::KeyOrToken(READ, run!(tickets::get::handle, call, caller))).also_at("/tickets/{id}").family_of(Family::Ticket)
        .doc(op("getTicket", "One ticket").shows(Data("Ticket")).refuses(NO_TICKET)),
    row("POST", "/api/v1/tickets/{id}/close", Access::KeyOrToken(UPDATE, run!(tickets::moves::close, call, caller))).also_at("/tickets/{id}/close").family_of(Family::Ticket)
        .doc(op("closeTicket", "Close a ticket").may_take("TicketClosing").shows(Data("Ticket")).refuses(NO_MOVE)),
    row("POST", "/api/v1/tickets/{id}/reopen", Access::KeyOrToken(UPDATE, run!(tickets::moves::reopen, call, caller))).also_at("/tickets/{id}/reopen").family_of(Family::Ticket)
        .doc(op("reopenTicket", "Open a ticket again").may_take("TicketClosing").shows(Data("Ticket")).refuses(NO_MOVE)),
    row("POST", "/api/v1/tickets/{id}/comments", Access::KeyOrToken(UPDATE, run!(tickets::comments::add, call, caller))).also_at("/tickets/{id}/comments").family_of(Family::Ticket)
        .doc(op("addComment", "Comment, with files that were sent").takes("CommentCreate").answers(201).shows(Data("Comment")).refuses(&[ErrorCode::TicketNotFound, ErrorCode::InvalidStatusTransition, ErrorCode::LimitReached])),
    row("GET", "/api/v1/tickets/{id}/comments", Access::KeyOrToken(READ, run!(tickets::comments::list, call, caller))).also_at("/tickets/{id}/comments").family_of(Family::Ticket)
        .doc(op("listComments", "Comments, oldest first").asks(&["Limit", "Offset"]).shows(CountedList("Comment")).refuses(NO_TICKET)),
    row("POST", "/api/v1/tickets/{id}/upload-url", Access::KeyOrToken(UPDATE, run!(tickets::upload_url::issue, call, caller))).also_at("/tickets/{id}/upload-url").family_of(Family::Ticket)
        .doc(op("createUploadUrl", "Where a file may be sent").takes("UploadCreate").shows(Data("UploadUrl")).refuses(NO_MOVE)),
    row("GET", "/api/v1/tickets/{id}/attachments/{attachment_id}", Access::KeyOrToken(READ, run!(tickets::attachments::of_ticket, call, caller))).also_at("/tickets/{id}/attachments/{attachment_id}").family_of(Family::Ticket)
        .doc(op("getAttachment", "Where a file may be fetched").shows(Data("AttachmentLinks")).refuses(&[ErrorCode::TicketNotFound, ErrorCode::AttachmentNotFound])),
    row("GET", "/api/v1/tickets/{id}/comments/{comment_id}/attachments/{attachment_id}", Access::KeyOrToken(READ, run!(tickets::attachments::of_comment, call, caller))).also_at("/tickets/{id}/comments/{comment_id}/attachments/{attachment_id}").family_of(Family::Ticket)
        .doc(op("getCommentAttachment", "Where a file of a comment may be fetched").shows(Data("AttachmentLinks")).refuses(&[ErrorCode::TicketNotFound, ErrorCode::CommentNotFound, ErrorCode::AttachmentNotFound])),
    row("PUT", "/uploads/{environment}/{merchant}/{ticket}/{attachment}", Access::Anonymous(run!(files::send::put, call))).reads(Intake::Stream(MAX_FILE_BYTES)).family_of(Family::Ticket)
        .doc(op("sendFile", "Send the bytes of a file, by a signed URL").says("The body is of the type that was announced.").asks(SIGNED).shows(Data("Uploaded")).refuses(&[ErrorCode::UrlInvalid, ErrorCode::UrlExpired, ErrorCode::AttachmentNotFound, ErrorCode::UploadUrlUsed])),
    row("GET", "/files/{environment}/{merchant}/{ticket}/{attachment}", Access::Anonymous(run!(files::fetch::file, call))).family_of(Family::Ticket)
        .doc(op("fetchFile", "A file, by a signed URL").asks(SIGNED).shows(Media(FILE_TYPES)).refuses(NO_FILE)),
    row("GET", "/files/{environment}/{merchant}/{ticket}/{attachment}/thumbnail", Access::Anonymous(run!(files::fetch::thumbnail, call))).family_of(Family::Ticket)
        .doc(op("fetchThumbnail", "A thumbnail, by a signed URL").asks(SIGNED).shows(Media(&["image/jpeg", "image/webp"])).refuses(NO_FILE)),
];
