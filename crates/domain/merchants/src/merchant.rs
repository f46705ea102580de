//! Merchants.

use std::time::Duration;

use quipu_kernel::{Environment, Fields, MerchantId, Problems, Timestamp, wire_names};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most characters of a name for people.
pub(crate) const MAX_NAME: usize = 255;

wire_names! {
    /// The version of the interface that a merchant is on; it is on exactly one (docs/VERSIONING.md).
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ApiVersion {
        /// API keys in `X-API-Key`.
        V1 = "v1",
        /// Requests signed by HMAC.
        V2 = "v2",
    }
}

wire_names! {
    /// Whether a merchant may make calls.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum MerchantStatus {
        /// It may make calls.
        Active = "active",
        /// Every call is answered 403 `MERCHANT_SUSPENDED`.
        Suspended = "suspended",
    }
}

/// Where the hosted page, or the provider's own, sends the payer afterwards; each is an http or https URL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReturnUrls {
    /// After a completed payment.
    #[serde(default)]
    pub success_url: Option<String>,
    /// After a payment that was given up, failed or expired.
    #[serde(default)]
    pub cancel_url: Option<String>,
}

impl ReturnUrls {
    /// Reads the member `return_urls`; `None` if there is none. A URL that has a problem is left out.
    pub fn read(fields: &Fields<'_>, problems: &mut Problems) -> Option<Self> {
        let members = fields.object("return_urls", problems)?;
        let mut url = |name: &str| members.web_url(name, problems).map(str::to_owned);
        Some(Self { success_url: url("success_url"), cancel_url: url("cancel_url") })
    }
}

/// A merchant, as onboarding made it or staff changed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merchant {
    /// Its number, shown as `merchant_id`.
    pub id: MerchantId,
    /// Its name, 1 to 255 characters.
    pub name: String,
    /// The version of the interface that it is on.
    pub api_version: ApiVersion,
    /// Whether it may make calls.
    pub status: MerchantStatus,
    /// The return URLs of payments that bring none of their own.
    pub return_urls: ReturnUrls,
    /// The sealed `default_webhook_secret` of the test and of the live environment, in that order.
    pub sealed_webhook_secrets: [String; 2],
    /// The secrets that the current ones replaced, in the same order, while deliveries are still signed with
    /// both.
    pub former_webhook_secrets: [Option<FormerSecret>; 2],
    /// When it was onboarded.
    pub created_at: Timestamp,
}

/// A `default_webhook_secret` that was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormerSecret {
    /// The secret, sealed for the place it had.
    pub sealed: String,
    /// The time until which deliveries are signed with it too.
    pub until: Timestamp,
}

impl FormerSecret {
    /// How long deliveries carry the signature of a replaced secret beside that of its successor.
    pub const OVERLAP: Duration = Duration::from_hours(24);
}

/// A merchant to be onboarded.
#[derive(Debug, Clone)]
pub struct NewMerchant {
    /// Its name, 1 to 255 characters.
    pub name: String,
    /// The version of the interface that it will use.
    pub api_version: ApiVersion,
    /// Whether it may make calls from the first day.
    pub status: MerchantStatus,
    /// The return URLs of payments that bring none of their own.
    pub return_urls: ReturnUrls,
}

/// The name of somebody, for people: 1 to 255 characters, not only white space.
pub(crate) fn required_name<'a>(fields: &Fields<'a>, problems: &mut Problems) -> Option<&'a str> {
    fields.required_text("name", MAX_NAME, problems)?;
    fields.filled_text("name", MAX_NAME, problems)
}

impl NewMerchant {
    /// Reads what staff wrote. Only the name is needed.
    pub fn parse(body: &Value) -> Result<Self, Problems> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let name = required_name(&fields, &mut problems).map(str::to_owned);
        let api_version = fields.parsed("api_version", &mut problems).unwrap_or(ApiVersion::V1);
        let return_urls = ReturnUrls::read(&fields, &mut problems).unwrap_or_default();
        let status = fields.parsed("status", &mut problems).unwrap_or(MerchantStatus::Active);
        let new = name.map(|name| Self { name, api_version, status, return_urls });
        problems.admit(new)
    }
}

/// Changes of a merchant; absent members stay as they are.
#[derive(Debug, Clone, Default)]
pub struct MerchantPatch {
    /// A new name, 1 to 255 characters.
    pub name: Option<String>,
    /// Suspend it, or let it act again.
    pub status: Option<MerchantStatus>,
    /// New defaults, both members at once.
    pub return_urls: Option<ReturnUrls>,
}

impl MerchantPatch {
    /// Reads what staff wrote about a merchant on `version`. A patch may name the version but not change it,
    /// since the operation that does so issues credentials.
    pub fn parse(body: &Value, version: ApiVersion) -> Result<Self, Problems> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let name = if fields.has("name") { required_name(&fields, &mut problems) } else { None };
        let patch = Self {
            name: name.map(str::to_owned),
            status: fields.parsed("status", &mut problems),
            return_urls: ReturnUrls::read(&fields, &mut problems),
        };
        if fields.parsed("api_version", &mut problems).is_some_and(|named: ApiVersion| named != version) {
            problems.add("api_version", "is changed by the operation switch");
        }
        problems.into_result().map(|()| patch)
    }
}

/// A change to a merchant: the merchant as it was when the change was decided, and as it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MerchantChange {
    /// The merchant on which the decision rests. If somebody else has changed it meanwhile, the change is not
    /// made.
    pub before: Merchant,
    /// The same merchant afterwards.
    pub after: Merchant,
}

/// The place of an environment in the pairs of secrets.
const fn slot(environment: Environment) -> usize {
    match environment {
        Environment::Test => 0,
        Environment::Live => 1,
    }
}

impl Merchant {
    /// The context to which the sealed `default_webhook_secret` of an environment is bound, so that a row
    /// copied elsewhere opens nothing.
    pub fn seal_context(id: MerchantId, environment: Environment) -> String {
        format!("merchant/{id}/default-webhook-secret/{environment}")
    }

    /// The sealed `default_webhook_secret` of an environment.
    pub fn sealed_webhook_secret(&self, environment: Environment) -> &str {
        &self.sealed_webhook_secrets[slot(environment)]
    }

    /// The sealed secret that was replaced in an environment, while deliveries at `now` are still signed with it too.
    pub fn former_webhook_secret(&self, environment: Environment, now: Timestamp) -> Option<&str> {
        let former = self.former_webhook_secrets[slot(environment)].as_ref();
        former.filter(|former| now < former.until).map(|former| former.sealed.as_str())
    }

    /// Replaces the sealed secret of an environment. The replaced one goes on to sign for a while.
    pub fn replace_webhook_secret(&mut self, environment: Environment, sealed: String, now: Timestamp) {
        let slot = slot(environment);
        let replaced = std::mem::replace(&mut self.sealed_webhook_secrets[slot], sealed);
        let until = now.plus(FormerSecret::OVERLAP);
        self.former_webhook_secrets[slot] = Some(FormerSecret { sealed: replaced, until });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_has_what_is_named_and_never_another_version() {
        let read = |body: Value| MerchantPatch::parse(&body, ApiVersion::V1).map_err(Problems::into_messages);
        let empty = read(json!({ "name": null, "status": null, "return_urls": null })).expect("nothing");
        assert_eq!((empty.name, empty.status, empty.return_urls), (None, None, None));
        let cancel = "https://shop.example/back";
        let full = json!({ "name": "Tienda", "status": "suspended", "api_version": "v1",
            "return_urls": { "cancel_url": cancel } });
        let full = read(full).expect("a patch");
        assert_eq!((full.name.as_deref(), full.status), (Some("Tienda"), Some(MerchantStatus::Suspended)));
        let urls = ReturnUrls { success_url: None, cancel_url: Some(cancel.to_owned()) };
        assert_eq!(full.return_urls, Some(urls), "both are new");
        for (body, problem) in [
            (json!({ "api_version": "v2" }), "api_version is changed by the operation switch"),
            (json!({ "name": "" }), "name must not be empty"),
            (json!({ "name": " " }), "name must not be blank"),
            (json!({ "name": "x".repeat(256) }), "name must be at most 255 characters"),
            (json!({ "status": "gone" }), "status must be one of active, suspended"),
            (
                json!({ "return_urls": { "success_url": "javascript:alert(1)" } }),
                "return_urls.success_url must be an http or https URL",
            ),
        ] {
            assert_eq!(read(body.clone()).map(|_| ()), Err(vec![problem.to_owned()]), "{body}");
        }
    }

    #[test]
    fn a_replaced_secret_signs_for_24_hours_in_its_own_environment() {
        const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;
        let at = |millis| Timestamp::from_millis(1_763_683_200_000 + millis);
        let mut merchant = Merchant {
            id: MerchantId(7),
            name: "Tienda".to_owned(),
            api_version: ApiVersion::V1,
            status: MerchantStatus::Active,
            return_urls: ReturnUrls::default(),
            sealed_webhook_secrets: ["test 1".to_owned(), "live 1".to_owned()],
            former_webhook_secrets: [None, None],
            created_at: at(0),
        };
        merchant.replace_webhook_secret(Environment::Live, "live 2".to_owned(), at(0));
        assert_eq!(merchant.sealed_webhook_secrets, ["test 1", "live 2"]);
        let current = Environment::ALL.map(|environment| merchant.sealed_webhook_secret(environment));
        assert_eq!(current, ["test 1", "live 2"]);
        let former = |environment, millis| merchant.former_webhook_secret(environment, at(millis));
        assert_eq!(former(Environment::Live, 0), Some("live 1"));
        assert_eq!(former(Environment::Live, DAY_MILLIS - 1), Some("live 1"));
        assert_eq!(former(Environment::Live, DAY_MILLIS), None);
        assert_eq!(former(Environment::Test, 0), None);
    }
}
