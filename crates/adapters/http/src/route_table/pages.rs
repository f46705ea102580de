//! Hosted payment pages, and the files beside them.

use super::row;
use crate::{
    answer::{ErrorCode, Family},
    pages,
    request::Intake,
    routing::{
        Access, RouteRow,
        Shows::{Media, Members, Nothing},
        operation::op,
    },
};

const LANGUAGE: &[&str] = &["PageLanguage", "AcceptLanguage"];
const NO_PAGE: &[ErrorCode] = &[ErrorCode::PageNotFound];
const NOT_TAKEN: &[ErrorCode] =
    &[ErrorCode::PageNotFound, ErrorCode::PaymentAlreadyProcessed, ErrorCode::MethodNotAvailable];

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("GET", "/", Access::Public(run!(pages::files::front_page, call))).family_of(Family::Page)
        .doc(op("frontPage", "What this is, and where to read on").shows(Media(&["text/html"]))),
    row("GET", "/guides/{name}", Access::Public(run!(pages::files::guide, call))).family_of(Family::Page)
        .doc(op("guide", "A guide, as the front page lists them").shows(Media(&["text/html"])).refuses(&[ErrorCode::RouteNotFound])),
    row("GET", "/assets/{name}", Access::Public(run!(pages::files::file, call)))
        .doc(op("pageFile", "A file beside hosted pages, which never changes").shows(Media(&["text/css", "text/javascript", "image/svg+xml"])).refuses(&[ErrorCode::RouteNotFound])),
    row("GET", "/logos/{name}", Access::Anonymous(run!(pages::files::logo, call)))
        .doc(op("pageLogo", "A merchant's logo").shows(Media(&["image/png"])).refuses(&[ErrorCode::RouteNotFound])),
    row("GET", "/payment-pages/{token}", Access::Anonymous(run!(pages::show::handle, call))).family_of(Family::Page)
        .doc(op("page", "The hosted page of a payment").asks(LANGUAGE).shows(Media(&["text/html"])).refuses(NO_PAGE)),
    row("GET", "/payment-pages/{token}/details", Access::Anonymous(run!(pages::details::handle, call)))
        .doc(op("pageDetails", "What the page shows").asks(LANGUAGE).shows(Members("PageDetailsBoth")).refuses(NO_PAGE)),
    row("GET", "/payment-pages/{token}/events", Access::Anonymous(run!(pages::events::handle, call)))
        .doc(op("pageEvents", "Its changes, as server-sent events").says("Each event is a `PageDetails`, its `id` the `status_version`; the first tells how it stands.").asks(LANGUAGE).shows(Media(&["text/event-stream"])).refuses(NO_PAGE)),
    row("GET", "/payment-pages/{token}/recipient", Access::Anonymous(run!(pages::recipient::show, call))).family_of(Family::Page)
        .doc(op("recipientForm", "Leads to the page, which has the form").asks(LANGUAGE).answers(303).shows(Nothing).refuses(NO_PAGE)),
    row("POST", "/payment-pages/{token}/recipient", Access::Anonymous(run!(pages::recipient::handle, call))).reads(Intake::Form)
        .doc(op("nameRecipient", "Say where a hosted withdrawal goes, once").asks(LANGUAGE).takes("Recipient").answers(303).shows(Nothing).refuses_in_pages().refuses(NOT_TAKEN)),
    row("GET", "/simulated-scheme/{payment_id}", Access::Anonymous(run!(pages::scheme::show, call))).family_of(Family::Page)
        .doc(op("simulatedScheme", "The page that plays a payment scheme in the test environment").asks(LANGUAGE).shows(Media(&["text/html"])).refuses(NO_PAGE)),
    row("POST", "/simulated-scheme/{payment_id}", Access::Anonymous(run!(pages::scheme::decide, call))).reads(Intake::Form).family_of(Family::Page)
        .doc(op("decideSimulatedScheme", "Approve, decline, or leave open").asks(LANGUAGE).takes("SchemeDecision").shows(Media(&["text/html"])).or_answers(&[(303, Nothing)]).refuses(NO_PAGE)),
];
