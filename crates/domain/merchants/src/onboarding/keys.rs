//! API keys and v2 credentials, and the switch from the ones to the others.

use quipu_kernel::{Environment, MerchantId, Secret, Tenant, Timestamp};
use quipu_signing::{ApiKey, generate_hmac_secret};
use serde_json::{Value, json};

use super::{Issued, Onboarding, again_while_stale, shown};
use crate::{
    api_key::{ApiKeyRecord, NewApiKey},
    audit::Actor,
    credential::{HmacCredential, NewCredential},
    error::DirectoryError,
    merchant::{ApiVersion, Merchant, MerchantChange},
};

impl Issued<HmacCredential> {
    /// A credential of [`Onboarding::switch`] as staff see it, with its secret.
    pub fn shown(&self) -> Value {
        json!({
            "environment": self.record.tenant.environment(),
            "credential_id": self.record.credential_id,
            "secret": self.secret.expose(),
        })
    }
}

impl Onboarding {
    /// Issues an API key.
    pub async fn issue_api_key(
        &self,
        new: NewApiKey,
        actor: Actor,
    ) -> Result<Issued<ApiKeyRecord>, DirectoryError> {
        let at = self.clock.now();
        let key = ApiKey::generate(new.tenant.environment(), self.entropy.as_ref());
        let record = ApiKeyRecord {
            key_id: self.uuid(),
            tenant: new.tenant,
            name: new.name,
            hash: key.hash(&self.keyring),
            last_four: key.last_four().to_owned(),
            scopes: new.scopes,
            rate_limits: new.rate_limits,
            expires_at: new.expires_at,
            revoked_at: None,
            last_used_at: None,
            created_at: at,
        };
        let after = json!({
            "environment": record.tenant.environment(),
            "name": record.name,
            "scopes": record.scopes.to_text(),
            "rate_limits": record.rate_limits,
            "expires_at": record.expires_at,
            "last_four": record.last_four,
        });
        let audit = self.audit(at, actor, "api_key.issue", Some(record.tenant.merchant()));
        let audit = audit.about(format!("api_key/{}", record.key_id)).changing(Value::Null, after);
        self.directory.add_api_key(record.clone(), audit).await?;
        Ok(Issued { record, secret: Secret::new(key.expose()) })
    }

    /// Revokes an API key, and with it every bearer token made by it.
    pub async fn revoke_api_key(
        &self,
        merchant: MerchantId,
        key_id: &str,
        actor: Actor,
    ) -> Result<(), DirectoryError> {
        let at = self.clock.now();
        let audit = self.revocation(at, actor, "api_key", Some(merchant), key_id);
        self.directory.revoke_api_key(merchant, key_id, at, audit).await
    }

    /// Issues a v2 credential, the second beside an active one at most.
    pub async fn issue_credential(
        &self,
        new: NewCredential,
        actor: Actor,
    ) -> Result<Issued<HmacCredential>, DirectoryError> {
        let merchant = new.tenant.merchant();
        self.existing(merchant).await?;
        let at = self.clock.now();
        let issued = self.new_credential(new, at);
        let after =
            json!({ "environment": new.tenant.environment(), "rate_limits": issued.record.rate_limits });
        let audit = self.audit(at, actor, "hmac_credential.issue", Some(merchant));
        let audit = audit
            .about(format!("hmac_credential/{}", issued.record.credential_id))
            .changing(Value::Null, after);
        self.directory.add_credential(issued.record.clone(), audit).await?;
        Ok(issued)
    }

    /// Revokes a v2 credential, and with it every bearer token made by it.
    pub async fn revoke_credential(
        &self,
        merchant: MerchantId,
        credential_id: &str,
        actor: Actor,
    ) -> Result<(), DirectoryError> {
        let at = self.clock.now();
        let audit = self.revocation(at, actor, "hmac_credential", Some(merchant), credential_id);
        self.directory.revoke_credential(merchant, credential_id, at, audit).await
    }

    /// Moves a merchant to another version of the interface: its API keys and credentials end, and for v2 each
    /// environment gets a credential. `Conflict` if it is on that version already.
    pub async fn switch(
        &self,
        id: MerchantId,
        version: ApiVersion,
        actor: Actor,
    ) -> Result<Vec<Issued<HmacCredential>>, DirectoryError> {
        let switched = again_while_stale(async || {
            let before = self.existing(id).await?;
            if before.api_version == version {
                return Err(DirectoryError::Conflict("the merchant is on this version already"));
            }
            let at = self.clock.now();
            let issued = self.credentials_of(id, version, at);
            let after = Merchant { api_version: version, ..before.clone() };
            let audit = self.audit(at, actor.clone(), "merchant.switch", Some(id));
            let audit = audit.changing(shown(&before), shown(&after));
            let records = issued.iter().map(|issued| issued.record.clone()).collect();
            let change = MerchantChange { before, after };
            self.directory.switch_version(change, records, at, audit).await?;
            Ok(issued)
        });
        switched.await
    }

    /// The credentials that a merchant gets when it starts with a version.
    fn credentials_of(
        &self,
        id: MerchantId,
        version: ApiVersion,
        at: Timestamp,
    ) -> Vec<Issued<HmacCredential>> {
        match version {
            ApiVersion::V1 => Vec::new(),
            ApiVersion::V2 => {
                let tenants = Environment::ALL.map(|environment| Tenant::new(id, environment));
                tenants
                    .into_iter()
                    .map(|tenant| self.new_credential(NewCredential::usual(tenant), at))
                    .collect()
            }
        }
    }

    fn new_credential(&self, new: NewCredential, at: Timestamp) -> Issued<HmacCredential> {
        let credential_id = self.uuid();
        let secret = generate_hmac_secret(self.entropy.as_ref());
        let record = HmacCredential {
            sealed_secret: self.sealed(&HmacCredential::seal_context(&credential_id), &secret),
            credential_id,
            tenant: new.tenant,
            rate_limits: new.rate_limits,
            revoked_at: None,
            created_at: at,
        };
        Issued { record, secret }
    }
}
