//! One row of the route table.

use actix_web::HttpRequest;
use quipu_merchants::Scope;

use super::{
    access::{Access, Credentials},
    deprecation::Deprecation,
    operation::Operation,
};
use crate::{answer::Family, pages::show::wants_page, request::Intake};

/// One route: its path, who may call it, how its body is read, and the shape of its refusals.
pub struct RouteRow {
    method: &'static str,
    path: &'static str,
    alias: Option<&'static str>,
    family: Family,
    pub(crate) intake: Intake,
    pub(crate) access: Access,
    /// Its description in the documents.
    pub(crate) operation: Operation,
    /// Its deprecation, if it will end.
    pub(crate) deprecation: Option<Deprecation>,
}

/// One route before its description. Only that makes it a row, so every row is in a document.
pub(crate) struct Undescribed {
    method: &'static str,
    path: &'static str,
    alias: Option<&'static str>,
    family: Family,
    intake: Intake,
    access: Access,
    deprecation: Option<Deprecation>,
}

impl Undescribed {
    /// A route of the API family, whose body is JSON unless the method has none.
    pub(crate) const fn new(method: &'static str, path: &'static str, access: Access) -> Self {
        let (family, intake) = (Family::Api, Intake::of_method(method));
        Self { method, path, alias: None, family, intake, access, deprecation: None }
    }

    /// Answers under this path too. Documents show the first one.
    pub(crate) const fn also_at(self, path: &'static str) -> Self {
        Self { alias: Some(path), ..self }
    }

    /// Answers refusals in the shapes of this family.
    pub(crate) const fn family_of(self, family: Family) -> Self {
        Self { family, ..self }
    }

    /// Has its body read in this way.
    pub(crate) const fn reads(self, intake: Intake) -> Self {
        Self { intake, ..self }
    }

    /// Marks it as deprecated. Its answers then carry `Deprecation` and `Sunset`.
    #[cfg_attr(not(test), expect(dead_code, reason = "no route is deprecated today"))]
    pub(crate) const fn deprecated(self, deprecation: Deprecation) -> Self {
        Self { deprecation: Some(deprecation), ..self }
    }

    /// Describes it for the documents.
    pub(crate) const fn doc(self, operation: Operation) -> RouteRow {
        let Self { method, path, alias, family, intake, access, deprecation } = self;
        RouteRow { method, path, alias, family, intake, access, operation, deprecation }
    }
}

impl RouteRow {
    /// Whether its callers are counted against a budget that its answers report.
    pub(crate) const fn is_limited(&self) -> bool {
        !matches!(self.access, Access::Public(_) | Access::Staff(..))
    }

    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`. Where there is `GET` there is `HEAD`, and `OPTIONS` is everywhere.
    pub const fn method(&self) -> &'static str {
        self.method
    }

    /// The path, its variable segments in braces: `/api/v1/payments/{id}`.
    pub const fn path(&self) -> &'static str {
        self.path
    }

    /// Another path under which it answers.
    pub const fn alias(&self) -> Option<&'static str> {
        self.alias
    }

    /// All its paths.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.path).chain(self.alias)
    }

    /// The family of the refusal of a request: a browser that sends a form is answered with a page.
    pub(crate) fn family_for(&self, request: &HttpRequest) -> Family {
        if self.intake == Intake::Form && wants_page(request) { Family::Page } else { self.family }
    }

    /// The family of its refusals to others than browsers.
    pub(crate) const fn family(&self) -> Family {
        self.family
    }

    /// The credentials that it requires.
    pub const fn credentials(&self) -> Credentials {
        self.access.credentials()
    }

    /// The scope that a merchant's key must have.
    pub const fn scope(&self) -> Option<Scope> {
        match self.access.needs() {
            Some(needs) => needs.scope,
            None => None,
        }
    }
}

impl std::fmt::Debug for RouteRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}
