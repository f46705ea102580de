//! What a route's row says of itself for the documents.

use crate::code::ErrorCode;

/// What an answer carries, by the name of a schema.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shows {
    /// `{success, data}`
    Data(&'static str),
    /// `{success, data: […], total, pagination}`
    List(&'static str),
    /// `{success, …}`, the members at the top level.
    Members(&'static str),
    /// The schema itself.
    Plain(&'static str),
    /// Nothing that a schema could say, of one of these media types.
    Media(&'static [&'static str]),
    /// No body.
    Nothing,
}

/// One operation of the interface, as its document shows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) text: &'static str,
    pub(super) status: u16,
    pub(super) parameters: &'static [&'static str],
    pub(super) body: Option<&'static str>,
    pub(super) body_is_required: bool,
    pub(super) shows: Shows,
    pub(super) refuses: &'static [ErrorCode],
    pub(super) tells: Option<Tells>,
    pub(super) also: &'static [(u16, Shows)],
    pub(super) refuses_in_pages: bool,
    pub(super) changes_nothing: bool,
}

/// What is sent to an address that a request named.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tells {
    /// The member of the body that names the address.
    pub(super) member: &'static str,
    /// The schemas of what is sent, one of them at a time.
    pub(super) schemas: &'static [&'static str],
}

/// An operation by a name that programs use, and in a few words. What it shows and takes is said by the methods.
pub(crate) const fn op(id: &'static str, summary: &'static str) -> Operation {
    Operation {
        id,
        summary,
        text: "",
        status: 200,
        parameters: &[],
        body: None,
        body_is_required: false,
        shows: Shows::Media(&["application/json"]),
        refuses: &[],
        tells: None,
        also: &[],
        refuses_in_pages: false,
        changes_nothing: false,
    }
}

impl Operation {
    /// More words.
    pub(crate) const fn says(self, text: &'static str) -> Self {
        Self { text, ..self }
    }

    /// Its parameters beside those of the path, by their names in `openapi/parameters.json`.
    pub(crate) const fn asks(self, parameters: &'static [&'static str]) -> Self {
        Self { parameters, ..self }
    }

    /// The schema of its body.
    pub(crate) const fn takes(self, schema: &'static str) -> Self {
        Self { body: Some(schema), body_is_required: true, ..self }
    }

    /// The schema of a body that may be left out.
    pub(crate) const fn may_take(self, schema: &'static str) -> Self {
        Self { body: Some(schema), body_is_required: false, ..self }
    }

    /// What its success shows.
    pub(crate) const fn shows(self, shows: Shows) -> Self {
        Self { shows, ..self }
    }

    /// The status of its success, 200 unless said.
    pub(crate) const fn answers(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// Other answers than success and refusal, by their status.
    pub(crate) const fn or_answers(self, also: &'static [(u16, Shows)]) -> Self {
        Self { also, ..self }
    }

    /// Whoever accepts HTML reads a refusal as a page.
    pub(crate) const fn refuses_in_pages(self) -> Self {
        Self { refuses_in_pages: true, ..self }
    }

    /// It changes nothing, whatever its method is, so that its outcome is never unknown.
    pub(crate) const fn changes_nothing(self) -> Self {
        Self { changes_nothing: true, ..self }
    }

    /// The codes of its own refusals; what every route of its door refuses needs no saying.
    pub(crate) const fn refuses(self, codes: &'static [ErrorCode]) -> Self {
        Self { refuses: codes, ..self }
    }

    /// What is sent, now and later, to the address in this member of the body.
    pub(crate) const fn tells(self, member: &'static str, schemas: &'static [&'static str]) -> Self {
        Self { tells: Some(Tells { member, schemas }), ..self }
    }

    /// The same under another name, for a second route that does the same.
    pub(crate) const fn named(self, id: &'static str) -> Self {
        Self { id, ..self }
    }

    /// The same under another name, for a route that asks and answers the same but does something else.
    pub(crate) const fn like(self, id: &'static str, summary: &'static str) -> Self {
        Self { id, summary, ..self }
    }
}
