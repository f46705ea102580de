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
