//! Members of the operator's staff.

use quipu_kernel::{Fields, Problems, Timestamp, wire_names};
use serde_json::{Value, json};

use crate::merchant::required_name;

wire_names! {
    /// What a member of staff may do. `admin` may do everything; every role reads what `viewer` reads.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Role {
        /// Everything.
        Admin = "admin",
        /// Money: adjustments, decisions about payments, refunds, the ledger and the audit log.
        Finance = "finance",
        /// Reading and answering tickets.
        Support = "support",
        /// Reading payments.
        Viewer = "viewer",
    }
}

impl Role {
    /// Whether this role may do what requires the role `needed`.
    pub fn covers(self, needed: Self) -> bool {
        self == Self::Admin || self == needed || needed == Self::Viewer
    }
}

/// A member of staff with a token, known by the token's keyed hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// Identifier (UUID).
    pub operator_id: String,
    /// Name shown in the audit log.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// Hex of HMAC-SHA256 over the token's text.
    pub token_hash: String,
    /// From when on the token is refused as expired.
    pub expires_at: Option<Timestamp>,
    /// Since when the token is refused.
    pub revoked_at: Option<Timestamp>,
    /// When the token was issued.
    pub created_at: Timestamp,
}

impl Operator {
    /// Whether the token is accepted at this instant.
    pub fn is_active(&self, at: Timestamp) -> bool {
        self.revoked_at.is_none() && !self.has_expired(at)
    }

    /// Whether the token is refused as expired at this instant.
    pub fn has_expired(&self, at: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= at)
    }

    /// The operator as staff see them.
    pub fn shown(&self) -> Value {
        json!({
            "operator_id": self.operator_id,
            "name": self.name,
            "role": self.role.as_str(),
            "expires_at": self.expires_at,
            "revoked_at": self.revoked_at,
            "created_at": self.created_at,
        })
    }

    /// Whether the token expires no earlier than the other's.
    pub fn outlasts(&self, other: &Self) -> bool {
        self.expires_at.is_none_or(|end| other.expires_at.is_some_and(|others| others <= end))
    }
}

/// A member of staff to be added.
#[derive(Debug, Clone)]
pub struct NewOperator {
    /// Name shown in the audit log.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// When the token expires; `None` if it does not.
    pub expires_at: Option<Timestamp>,
}

impl NewOperator {
    /// Reads what staff wrote.
    pub fn parse(body: &Value, now: Timestamp) -> Result<Self, Problems> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let name = required_name(&fields, &mut problems).map(str::to_owned);
        let role = fields.required_parsed::<Role>("role", &mut problems);
        let expires_at = fields.future_instant("expires_at", now, &mut problems);
        let new = || Some(Self { name: name?, role: role?, expires_at });
        problems.admit(new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_763_683_200_000);

    fn until(end: Option<i64>) -> Operator {
        Operator {
            operator_id: "1".to_owned(),
            name: "Ana".to_owned(),
            role: Role::Admin,
            token_hash: "00".to_owned(),
            expires_at: end.map(|millis| Timestamp::from_millis(NOW.millis() + millis)),
            revoked_at: None,
            created_at: NOW,
        }
    }

    #[test]
    fn an_admin_may_do_everything_and_everybody_reads_what_a_viewer_reads() {
        use Role::{Admin, Finance, Support, Viewer};
        for (role, covered) in [
            (Admin, &[Admin, Finance, Support, Viewer][..]),
            (Finance, &[Finance, Viewer]),
            (Support, &[Support, Viewer]),
            (Viewer, &[Viewer]),
        ] {
            let covers: Vec<_> = Role::ALL.into_iter().filter(|needed| role.covers(*needed)).collect();
            assert_eq!(covers, covered, "{role:?}");
        }
    }

    #[test]
    fn a_token_ends_with_its_time_or_its_revocation() {
        for (end, is_active) in [(None, true), (Some(1), true), (Some(0), false), (Some(-1), false)] {
            let operator = until(end);
            assert_eq!(
                (operator.is_active(NOW), operator.has_expired(NOW)),
                (is_active, !is_active),
                "{end:?}"
            );
            let revoked = Operator { revoked_at: Some(NOW), ..operator };
            assert_eq!((revoked.is_active(NOW), revoked.has_expired(NOW)), (false, !is_active), "{end:?}");
        }
    }

    #[test]
    fn a_token_outlasts_those_that_end_no_later() {
        for (own, other, outlasts) in [
            (None, None, true),
            (None, Some(5), true),
            (Some(5), None, false),
            (Some(5), Some(4), true),
            (Some(5), Some(5), true),
            (Some(5), Some(6), false),
        ] {
            assert_eq!(until(own).outlasts(&until(other)), outlasts, "{own:?} {other:?}");
        }
    }
}
