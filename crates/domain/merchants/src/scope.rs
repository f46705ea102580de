//! What a key may do.

use std::{collections::BTreeSet, str::FromStr};

use quipu_kernel::Unrecognised;

/// One permission (docs/API.md, "Authentication"). The alias `.view` is read as `.read`, whose grant is exactly the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// `payments.create`
    PaymentsCreate,
    /// `payments.read`, also written `payments.view`
    PaymentsRead,
    /// `payments.cancel`
    PaymentsCancel,
    /// `payments.methods`
    PaymentsMethods,
    /// `webhooks.create`
    WebhooksCreate,
    /// `webhooks.read`, also written `webhooks.view`
    WebhooksRead,
    /// `webhooks.update`
    WebhooksUpdate,
    /// `webhooks.delete`
    WebhooksDelete,
    /// `balance.read`, also written `balance.view`
    BalanceRead,
    /// `tickets.create`
    TicketsCreate,
    /// `tickets.read`
    TicketsRead,
    /// `tickets.update`
    TicketsUpdate,
}

impl Scope {
    /// Every scope, in the order of the documents.
    pub const ALL: [Self; 12] = [
        Self::PaymentsCreate,
        Self::PaymentsRead,
        Self::PaymentsCancel,
        Self::PaymentsMethods,
        Self::WebhooksCreate,
        Self::WebhooksRead,
        Self::WebhooksUpdate,
        Self::WebhooksDelete,
        Self::BalanceRead,
        Self::TicketsCreate,
        Self::TicketsRead,
        Self::TicketsUpdate,
    ];

    /// The canonical name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PaymentsCreate => "payments.create",
            Self::PaymentsRead => "payments.read",
            Self::PaymentsCancel => "payments.cancel",
            Self::PaymentsMethods => "payments.methods",
            Self::WebhooksCreate => "webhooks.create",
            Self::WebhooksRead => "webhooks.read",
            Self::WebhooksUpdate => "webhooks.update",
            Self::WebhooksDelete => "webhooks.delete",
            Self::BalanceRead => "balance.read",
            Self::TicketsCreate => "tickets.create",
            Self::TicketsRead => "tickets.read",
            Self::TicketsUpdate => "tickets.update",
        }
    }
}

impl FromStr for Scope {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        let canonical = match text {
            "payments.view" => "payments.read",
            "webhooks.view" => "webhooks.read",
            "balance.view" => "balance.read",
            other => other,
        };
        let found = Self::ALL.into_iter().find(|scope| scope.as_str() == canonical);
        found.ok_or(Unrecognised { expected: "a known scope, such as payments.create" })
    }
}

/// A set of scopes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scopes(BTreeSet<Scope>);

impl Scopes {
    /// Every scope: what a new key has when nobody says otherwise.
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    /// Whether `scope` is granted.
    pub fn grants(&self, scope: Scope) -> bool {
        self.0.contains(&scope)
    }

    /// Whether every scope of `self` is in `other` too.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// The scopes, in the order of the documents.
    pub fn iter(&self) -> impl Iterator<Item = Scope> + '_ {
        self.0.iter().copied()
    }

    /// The canonical names, separated by spaces (RFC 6749, section 3.3), as tokens and stores write them.
    pub fn to_text(&self) -> String {
        self.iter().map(Scope::as_str).collect::<Vec<_>>().join(" ")
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
