//! Scopes: the permissions of a key.

use std::collections::BTreeSet;

use quipu_kernel::{Fields, Problems, Unrecognised, wire_names};

/// The most names in a list of scopes.
const MOST_NAMES: usize = 64;

wire_names! {
    /// One permission (docs/API.md, "Authentication"). The alias `.view` is read as `.read`, whose grant is
    /// exactly the same.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Scope {
        /// `payments.create`
        PaymentsCreate = "payments.create",
        /// `payments.read`, also written `payments.view`
        PaymentsRead = "payments.read" | "payments.view",
        /// `payments.cancel`
        PaymentsCancel = "payments.cancel",
        /// `payments.methods`
        PaymentsMethods = "payments.methods",
        /// `webhooks.create`
        WebhooksCreate = "webhooks.create",
        /// `webhooks.read`, also written `webhooks.view`
        WebhooksRead = "webhooks.read" | "webhooks.view",
        /// `webhooks.update`
        WebhooksUpdate = "webhooks.update",
        /// `webhooks.delete`
        WebhooksDelete = "webhooks.delete",
        /// `balance.read`, also written `balance.view`
        BalanceRead = "balance.read" | "balance.view",
        /// `tickets.create`
        TicketsCreate = "tickets.create",
        /// `tickets.read`
        TicketsRead = "tickets.read",
        /// `tickets.update`
        TicketsUpdate = "tickets.update",
    }
}

/// A set of scopes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scopes(BTreeSet<Scope>);

impl Scopes {
    /// Every scope: what a new key has unless its maker asks for less.
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    /// Whether `scope` is granted.
    pub fn grants(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }

    /// The scopes, in the order of the documents.
    pub fn iter(&self) -> impl Iterator<Item = Scope> + '_ {
        self.0.iter().copied()
    }

    /// The canonical names, separated by spaces (RFC 6749, section 3.3), as tokens and stores write them.
    pub fn to_text(&self) -> String {
        self.iter().map(Scope::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Reads the member `scopes` of a request, a list of names; `None` if it is not there.
    pub fn read(fields: &Fields<'_>, problems: &mut Problems) -> Option<Self> {
        let names = fields.texts("scopes", MOST_NAMES, problems)?;
        let scopes: Result<Self, _> = names.into_iter().map(str::parse).collect();
        scopes.map_err(|_| problems.add("scopes", "must be known scopes, such as payments.create")).ok()
    }

    /// Reads what [`Scopes::to_text`] wrote.
    pub fn parse(text: &str) -> Result<Self, Unrecognised> {
        text.split_ascii_whitespace().map(str::parse).collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_grants_exactly_what_its_read_does() {
        for (alias, canonical) in [
            ("payments.view", Scope::PaymentsRead),
            ("webhooks.view", Scope::WebhooksRead),
            ("balance.view", Scope::BalanceRead),
        ] {
            assert_eq!(alias.parse(), Ok(canonical));
        }
        assert!("tickets.view".parse::<Scope>().is_err());
    }

    #[test]
    fn a_set_is_read_as_it_was_written() {
        assert_eq!(Scopes::parse(&Scopes::all().to_text()), Ok(Scopes::all()));
        assert!(Scopes::parse("payments.read payments.everything").is_err());
    }
}
