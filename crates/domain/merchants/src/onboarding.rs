//! Onboarding: what the operator does for merchants, over its interface and from the shell alike.
//!
//! Each verb builds the records and the line of the audit log, and hands both to the [`Directory`] in one
//! call. Keys and secrets that are shown once are in the answer and nowhere else.

mod keys;
mod operators;

use std::sync::Arc;

use quipu_kernel::{Clock, Entropy, Environment, IdSource, MerchantId, Secret, Tenant, Timestamp, uuid_v4};
use quipu_signing::{Keyring, WebhookSecret};
use serde_json::{Value, json};

use crate::{
    audit::{Actor, AuditRecord},
    beneficiary::{Beneficiary, NewBeneficiary},
    error::DirectoryError,
    merchant::{Merchant, MerchantChange, MerchantPatch, NewMerchant},
    ports::Directory,
    route::Route,
};

/// How often a change is decided again because somebody else has changed the same merchant meanwhile. Only
/// staff change merchants, so even a second attempt is rare.
const MOST_ATTEMPTS: usize = 256;

/// A record with the secret text that is shown once.
#[derive(Debug, Clone)]
pub struct Issued<T> {
    /// The stored record.
    pub record: T,
    /// The secret text, to be shown once.
    pub secret: Secret,
}

/// The operator's verbs on the directory of merchants.
pub struct Onboarding {
    directory: Arc<dyn Directory>,
    keyring: Arc<Keyring>,
    pub(crate) clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    numbers: IdSource,
}

impl Onboarding {
    /// The verbs, working over these ports. The keyring hashes keys and seals secrets.
    pub fn new(
        directory: Arc<dyn Directory>,
        keyring: Arc<Keyring>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self { directory, keyring, clock, entropy, numbers: IdSource::default() }
    }

    /// Adds a merchant with the routes of [`Route::of_new_merchant`]; answers its `default_webhook_secret` of the test
    /// and of the live environment, in that order.
    pub async fn create_merchant(
        &self,
        new: NewMerchant,
        actor: Actor,
    ) -> Result<(Merchant, [Secret; 2]), DirectoryError> {
        let at = self.clock.now();
        let id = MerchantId(self.numbers.next(at, self.entropy.as_ref()));
        let secrets = Environment::ALL.map(|environment| self.new_webhook_secret(id, environment));
        let [(test, sealed_test), (live, sealed_live)] = secrets;
        let merchant = Merchant {
            id,
            name: new.name,
            api_version: new.api_version,
            status: new.status,
            return_urls: new.return_urls,
            sealed_webhook_secrets: [sealed_test, sealed_live],
            former_webhook_secrets: [None, None],
            created_at: at,
        };
        let audit =
            self.audit(at, actor, "merchant.create", Some(id)).changing(Value::Null, shown(&merchant));
        self.directory.add_merchant(merchant.clone(), Route::of_new_merchant(), audit).await?;
        Ok((merchant, [test, live]))
    }

    /// Changes a merchant's name, status or return URLs.
    pub async fn change_merchant(
        &self,
        id: MerchantId,
        patch: MerchantPatch,
        actor: Actor,
    ) -> Result<Merchant, DirectoryError> {
        let revised = self.revise(id, |before| {
            let mut after = before.clone();
            after.name = patch.name.clone().unwrap_or(after.name);
            after.status = patch.status.unwrap_or(after.status);
            after.return_urls = patch.return_urls.clone().unwrap_or(after.return_urls);
            let audit = self.audit(self.clock.now(), actor.clone(), "merchant.update", Some(id));
            let audit = audit.changing(shown(before), shown(&after));
            (after, audit)
        });
        revised.await
    }

    /// Gives a merchant a new `default_webhook_secret` in one environment. For
    /// [`FormerSecret::OVERLAP`](crate::FormerSecret::OVERLAP) deliveries are signed with the replaced one
    /// too.
    pub async fn rotate_webhook_secret(
        &self,
        tenant: Tenant,
        actor: Actor,
    ) -> Result<Secret, DirectoryError> {
        let (id, environment) = (tenant.merchant(), tenant.environment());
        let (secret, sealed) = self.new_webhook_secret(id, environment);
        let revised = self.revise(id, |before| {
            let mut after = before.clone();
            let now = self.clock.now();
            after.replace_webhook_secret(environment, sealed.clone(), now);
            let audit = self.audit(now, actor.clone(), "merchant.rotate_webhook_secret", Some(id));
            (after, audit.changing(Value::Null, json!({ "environment": environment })))
        });
        revised.await?;
        Ok(secret)
    }

    /// Changes a merchant as `decide` says, and decides again if somebody else has changed it meanwhile, so
    /// that both of two simultaneous changes take effect. A change that alters nothing is not written, and
    /// has no line in the audit log.
    async fn revise(
        &self,
        id: MerchantId,
        decide: impl Fn(&Merchant) -> (Merchant, AuditRecord),
    ) -> Result<Merchant, DirectoryError> {
        let revised = again_while_stale(async || {
            let before = self.existing(id).await?;
            let (after, audit) = decide(&before);
            if after != before {
                let change = MerchantChange { before, after: after.clone() };
                self.directory.update_merchant(change, audit).await?;
            }
            Ok(after)
        });
        revised.await
    }

    /// Replaces all routes of a merchant.
    pub async fn put_routes(
        &self,
        merchant: MerchantId,
        routes: Vec<Route>,
        actor: Actor,
    ) -> Result<(), DirectoryError> {
        let audit = self.audit(self.clock.now(), actor, "routes.replace", Some(merchant));
        let audit = audit.changing(Value::Null, json!(routes));
        self.directory.replace_routes(merchant, routes, audit).await
    }

    /// Saves a beneficiary of partner payouts.
    pub async fn add_beneficiary(
        &self,
        beneficiary: NewBeneficiary,
        actor: Actor,
    ) -> Result<Beneficiary, DirectoryError> {
        let audit =
            self.audit(self.clock.now(), actor, "beneficiary.add", Some(beneficiary.tenant.merchant()));
        // The number is given by the commit itself, and the whole account has no place in a log.
        let after = json!({
            "environment": beneficiary.tenant.environment(),
            "kind": beneficiary.kind,
            "beneficiaryName": beneficiary.beneficiary_name,
            "iban_last_four": beneficiary.last_four(),
        });
        self.directory.add_beneficiary(beneficiary, audit.changing(Value::Null, after)).await
    }

    /// A line of the audit log about a merchant, if it concerns one, for changes that other crates make too.
    pub fn audit(&self, at: Timestamp, actor: Actor, action: &str, of: Option<MerchantId>) -> AuditRecord {
        AuditRecord::new(self.entropy.as_ref(), at, actor, action, of)
    }

    fn revocation(
        &self,
        at: Timestamp,
        actor: Actor,
        what: &str,
        merchant: Option<MerchantId>,
        id: &str,
    ) -> AuditRecord {
        let audit = self.audit(at, actor, &format!("{what}.revoke"), merchant);
        let (before, after) = (json!({ "revoked_at": null }), json!({ "revoked_at": at }));
        audit.about(format!("{what}/{id}")).changing(before, after)
    }

    /// A secret for a merchant's `default_webhook_secret`, and the same sealed.
    fn new_webhook_secret(&self, merchant: MerchantId, environment: Environment) -> (Secret, String) {
        let secret = WebhookSecret::generate(self.entropy.as_ref()).secret().clone();
        let sealed = self.sealed(&Merchant::seal_context(merchant, environment), &secret);
        (secret, sealed)
    }

    fn sealed(&self, context: &str, secret: &Secret) -> String {
        self.keyring.seal_secret(self.entropy.as_ref(), context, secret)
    }

    async fn existing(&self, id: MerchantId) -> Result<Merchant, DirectoryError> {
        self.directory.merchant(id).await?.ok_or(DirectoryError::NotFound)
    }

    fn uuid(&self) -> String {
        uuid_v4(self.entropy.as_ref())
    }
}

/// Makes an attempt, and further ones while the last was `Stale`.
async fn again_while_stale<T>(
    attempt: impl AsyncFn() -> Result<T, DirectoryError>,
) -> Result<T, DirectoryError> {
    for _ in 1..MOST_ATTEMPTS {
        match attempt().await {
            Err(DirectoryError::Stale) => {}
            outcome => return outcome,
        }
    }
    attempt().await
}

/// A merchant as the audit log shows it.
fn shown(merchant: &Merchant) -> Value {
    json!({
        "name": merchant.name,
        "api_version": merchant.api_version,
        "status": merchant.status,
        "return_urls": merchant.return_urls,
    })
}
