//! Hosted payment pages, and the files beside them.

use super::row;
use crate::{body::Intake, door::Door, pages, row::RouteRow, shape::Family};

#[rustfmt::skip]
pub(super) static ROWS: &[RouteRow] = &[
    row("GET", "/", Door::Public(run!(pages::files::front_page, call))).family_of(Family::Page),
    row("GET", "/assets/{name}", Door::Public(run!(pages::files::file, call))),
    row("GET", "/logos/{name}", Door::Visitor(run!(pages::files::logo, call))),
    row("GET", "/payment-pages/{token}", Door::Visitor(run!(pages::show::handle, call))).family_of(Family::Page),
    row("GET", "/payment-pages/{token}/details", Door::Visitor(run!(pages::details::handle, call))),
    row("GET", "/payment-pages/{token}/events", Door::Visitor(run!(pages::events::handle, call))),
    row("POST", "/payment-pages/{token}/recipient", Door::Visitor(run!(pages::recipient::handle, call))).reads(Intake::Form),
    row("GET", "/simulated-scheme/{payment_id}", Door::Visitor(run!(pages::scheme::show, call))).family_of(Family::Page),
    row("POST", "/simulated-scheme/{payment_id}", Door::Visitor(run!(pages::scheme::decide, call))).reads(Intake::Form).family_of(Family::Page),
];
