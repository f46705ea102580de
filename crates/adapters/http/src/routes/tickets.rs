//! Tickets, their comments and attachments: under `/api/v1`, and under the bare paths as well. And the storage host.

use quipu_merchants::Scope;
use quipu_tickets::MAX_FILE_BYTES;

use super::{row, scope};
use crate::{
    body::Intake,
    door::{Door, Needs},
    files,
    row::RouteRow,
    shape::Family,
    v1::tickets,
};

const CREATE: Needs = scope(Scope::TicketsCreate);
const READ: Needs = scope(Scope::TicketsRead);
const UPDATE: Needs = scope(Scope::TicketsUpdate);

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("POST", "/api/v1/tickets", Door::KeyOrToken(CREATE, run!(tickets::create::handle, call, caller))).also_at("/tickets").family_of(Family::Ticket),
    row("GET", "/api/v1/tickets", Door::KeyOrToken(READ, run!(tickets::list::handle, call, caller))).also_at("/tickets").family_of(Family::Ticket),
    row("GET", "/api/v1/tickets/{id}", Door::KeyOrToken(READ, run!(tickets::get::handle, call, caller))).also_at("/tickets/{id}").family_of(Family::Ticket),
    row("POST", "/api/v1/tickets/{id}/close", Door::KeyOrToken(UPDATE, run!(tickets::moves::close, call, caller))).also_at("/tickets/{id}/close").family_of(Family::Ticket),
    row("POST", "/api/v1/tickets/{id}/reopen", Door::KeyOrToken(UPDATE, run!(tickets::moves::reopen, call, caller))).also_at("/tickets/{id}/reopen").family_of(Family::Ticket),
    row("POST", "/api/v1/tickets/{id}/comments", Door::KeyOrToken(UPDATE, run!(tickets::comments::add, call, caller))).also_at("/tickets/{id}/comments").family_of(Family::Ticket),
    row("GET", "/api/v1/tickets/{id}/comments", Door::KeyOrToken(READ, run!(tickets::comments::list, call, caller))).also_at("/tickets/{id}/comments").family_of(Family::Ticket),
    row("POST", "/api/v1/tickets/{id}/upload-url", Door::KeyOrToken(UPDATE, run!(tickets::upload_url::issue, call, caller))).also_at("/tickets/{id}/upload-url").family_of(Family::Ticket),
    row("GET", "/api/v1/tickets/{id}/attachments/{attachment_id}", Door::KeyOrToken(READ, run!(tickets::attachments::of_ticket, call, caller))).also_at("/tickets/{id}/attachments/{attachment_id}").family_of(Family::Ticket),
    row("GET", "/api/v1/tickets/{id}/comments/{comment_id}/attachments/{attachment_id}", Door::KeyOrToken(READ, run!(tickets::attachments::of_comment, call, caller))).also_at("/tickets/{id}/comments/{comment_id}/attachments/{attachment_id}").family_of(Family::Ticket),
    row("PUT", "/uploads/{environment}/{merchant}/{ticket}/{attachment}", Door::Visitor(run!(files::send::put, call))).reads(Intake::Stream(MAX_FILE_BYTES)).family_of(Family::Ticket),
    row("GET", "/files/{environment}/{merchant}/{ticket}/{attachment}", Door::Visitor(run!(files::fetch::file, call))).family_of(Family::Ticket),
    row("GET", "/files/{environment}/{merchant}/{ticket}/{attachment}/thumbnail", Door::Visitor(run!(files::fetch::thumbnail, call))).family_of(Family::Ticket),
];
