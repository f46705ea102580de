//! The description of a route in its row, for the documents.

use crate::answer::ErrorCode;

/// The content of an answer, by the name of a schema.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shows {
    /// `{success, data}`
    Data(&'static str),
    /// `{success, data: […], total, pagination}`
    List(&'static str),
    /// `{success, data: […], total, pagination}`, with `total` inside `pagination` too.
    CountedList(&'static str),
    /// `{success, …}`, the members at the top level.
    Members(&'static str),
    /// The schema itself.
    Plain(&'static str),
    /// Content without a schema, of one of these media types.
    Media(&'static [&'static str]),
    /// No body.
    Nothing,
}

/// One operation of the interface, as its document describes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) text: &'static str,
    pub(crate) status: u16,
    pub(crate) parameters: &'static [&'static str],
    pub(crate) body: Option<&'static str>,
    pub(crate) body_is_required: bool,
    pub(crate) shows: Shows,
    pub(crate) refuses: &'static [ErrorCode],
    pub(crate) tells: Option<Tells>,
    pub(crate) also: &'static [(u16, Shows)],
    pub(crate) refuses_in_pages: bool,
    pub(crate) changes_nothing: bool,
}

/// The messages to an address that a request named.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tells {
    /// The member of the body that names the address.
    pub(crate) member: &'static str,
    /// The schemas of the messages; each message has one of them.
    pub(crate) schemas: &'static [&'static str],
}

/// An operation with a name for programs and a short summary. The other methods add its answers and
/// parameters.
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
    /// Adds a longer description.
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

    /// A browser reads its refusals as pages.
    pub(crate) const fn refuses_in_pages(self) -> Self {
        Self { refuses_in_pages: true, ..self }
    }

    /// It changes nothing, whatever its method is, so its outcome is never unknown.
    pub(crate) const fn changes_nothing(self) -> Self {
        Self { changes_nothing: true, ..self }
    }

    /// The codes of its own refusals. The refusals of its access rule are added automatically.
    pub(crate) const fn refuses(self, codes: &'static [ErrorCode]) -> Self {
        Self { refuses: codes, ..self }
    }

    /// The messages, now and later, to the address in this member of the body.
    pub(crate) const fn tells(self, member: &'static str, schemas: &'static [&'static str]) -> Self {
        Self { tells: Some(Tells { member, schemas }), ..self }
    }

    /// The same operation with another name, for a second route that does the same.
    pub(crate) const fn named(self, id: &'static str) -> Self {
        Self { id, ..self }
    }

    /// The same parameters and answers with another name and summary, for a route that does something else.
    pub(crate) const fn like(self, id: &'static str, summary: &'static str) -> Self {
        Self { id, summary, ..self }
    }
}
