//! Members of the operator's staff.

use quipu_kernel::Secret;
use quipu_signing::OperatorToken;
use serde_json::{Value, json};

use super::{Issued, Onboarding};
use crate::{
    audit::Actor,
    error::DirectoryError,
    operator::{NewOperator, Operator},
};

impl Onboarding {
    /// Adds a member of staff and answers the token once.
    pub async fn create_operator(
        &self,
        new: NewOperator,
        actor: Actor,
    ) -> Result<Issued<Operator>, DirectoryError> {
        let at = self.clock.now();
        let token = OperatorToken::generate(self.entropy.as_ref());
        let operator = Operator {
            operator_id: self.uuid(),
            name: new.name,
            role: new.role,
            token_hash: token.hash(&self.keyring),
            expires_at: new.expires_at,
            revoked_at: None,
            created_at: at,
        };
        let after = json!({
            "name": operator.name,
            "role": operator.role.as_str(),
            "expires_at": operator.expires_at,
        });
        let audit = self.audit(at, actor, "operator.create", None);
        let audit = audit.about(format!("operator/{}", operator.operator_id)).changing(Value::Null, after);
        self.directory.add_operator(operator.clone(), audit).await?;
        Ok(Issued { record: operator, secret: Secret::new(token.expose()) })
    }

    /// Revokes a member of staff's token at once. `Conflict` for the last admin: somebody must be able to let
    /// others in.
    pub async fn revoke_operator(&self, operator_id: &str, actor: Actor) -> Result<(), DirectoryError> {
        let at = self.clock.now();
        let audit = self.revocation(at, actor, "operator", None, operator_id);
        self.directory.revoke_operator(operator_id, at, audit).await
    }
}
