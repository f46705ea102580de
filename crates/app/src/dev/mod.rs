//! The demo of `--dev`: a merchant on each version with test balances, a member of staff, and the file that
//! keeps their credentials. The database has only hashes and sealed secrets, so a later start prints the
//! content of the file.

mod lines;
mod page;

use anyhow::{Context, Result, anyhow};
use quipu_kernel::{Currency, Environment, MerchantId, Tenant};
use quipu_merchants::{
    Actor, ApiVersion, CallerBook as _, HmacCredential, KeyEnvelope, MerchantStatus, NewApiKey,
    NewCredential, NewMerchant, NewOperator, RateLimits, ReturnUrls, Role, Scopes,
};
use quipu_payments::{Adjustment, StaffAction};
use quipu_signing::{ApiKey, OperatorToken};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{data_folder::DataFolder, wire::Foundation};

pub(crate) use self::{
    lines::message,
    page::{front_link, page},
};

const FILE: &str = "dev-credentials.json";
/// The amount with which each demo merchant begins in each currency, in minor units.
const FUNDS: i64 = 100_000_000;
/// The six currencies of balance queries, and the currency of partner payouts.
const CURRENCIES: [Currency; 7] =
    [Currency::ARS, Currency::AUD, Currency::GEL, Currency::LKR, Currency::MXN, Currency::TRY, Currency::UYU];

/// All credentials of a demo.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Credentials {
    base_url: String,
    operator_token: String,
    v1: V1Credentials,
    v2: V2Credentials,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct V1Credentials {
    merchant_id: i64,
    api_key: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct V2Credentials {
    merchant_id: i64,
    hmac_secret: String,
}

/// The credentials of the demo. It is made unless the data folder has credentials that still work; then
/// `base_url` is updated in the file.
pub(crate) async fn credentials(
    foundation: &Foundation,
    folder: &DataFolder,
    base_url: &str,
) -> Result<Credentials> {
    let mut credentials = match working(foundation, folder).await? {
        Some(credentials) => credentials,
        None => make(foundation).await.context("the demo cannot be made")?,
    };
    base_url.clone_into(&mut credentials.base_url);
    let text = serde_json::to_string_pretty(&credentials)?;
    if folder.read(FILE)?.as_ref() != Some(&text) {
        folder.write_private(FILE, text.as_bytes())?;
    }
    Ok(credentials)
}

/// The credentials in the file, if all are valid for this database and this master key.
async fn working(foundation: &Foundation, folder: &DataFolder) -> Result<Option<Credentials>> {
    let Some(text) = folder.read(FILE)? else { return Ok(None) };
    let Ok(credentials) = serde_json::from_str::<Credentials>(&text) else { return Ok(None) };
    let work = key_works(foundation, &credentials.v1.api_key).await?
        && token_works(foundation, &credentials.operator_token).await?
        && secret_works(foundation, &credentials.v2).await?;
    Ok(work.then_some(credentials))
}

async fn key_works(foundation: &Foundation, text: &str) -> Result<bool> {
    let (Ok(key), now) = (ApiKey::parse(text), foundation.clock.now()) else { return Ok(false) };
    for hash in key.hashes(&foundation.keyring) {
        if let Some(found) = foundation.store.api_key_by_hash(&hash).await? {
            return Ok(found.key.is_active(now) && found.merchant.api_version == ApiVersion::V1);
        }
    }
    Ok(false)
}

async fn token_works(foundation: &Foundation, text: &str) -> Result<bool> {
    let Ok(token) = OperatorToken::parse(text) else { return Ok(false) };
    for hash in token.hashes(&foundation.keyring) {
        if let Some(found) = foundation.store.operator_by_hash(&hash).await? {
            return Ok(found.is_active(foundation.clock.now()));
        }
    }
    Ok(false)
}

async fn secret_works(foundation: &Foundation, given: &V2Credentials) -> Result<bool> {
    let credentials = foundation.store.credentials(MerchantId(given.merchant_id)).await?;
    let signs = |it: &KeyEnvelope<HmacCredential>| {
        let context = HmacCredential::seal_context(&it.key.credential_id);
        let opened = foundation.keyring.open_secret(&context, &it.key.sealed_secret);
        it.key.is_active()
            && it.key.tenant.environment() == Environment::Test
            && it.merchant.api_version == ApiVersion::V2
            && opened.is_ok_and(|secret| secret.expose() == given.hmac_secret)
    };
    Ok(credentials.iter().any(|it| signs(it)))
}

async fn make(foundation: &Foundation) -> Result<Credentials> {
    let onboarding = foundation.onboarding();
    let v1 = merchant(foundation, "Demo merchant (v1)", ApiVersion::V1).await?;
    let new = NewApiKey {
        tenant: v1,
        name: "Demo key".to_owned(),
        scopes: Scopes::all(),
        rate_limits: RateLimits::default(),
        expires_at: None,
    };
    let key = onboarding.issue_api_key(new, actor()).await?;
    let v2 = merchant(foundation, "Demo merchant (v2)", ApiVersion::V2).await?;
    let credential = onboarding.issue_credential(NewCredential::usual(v2), actor()).await?;
    let admin = NewOperator { name: "Demo operator".to_owned(), role: Role::Admin, expires_at: None };
    let operator = onboarding.create_operator(admin, actor()).await?;
    Ok(Credentials {
        base_url: String::new(),
        operator_token: operator.secret.expose().to_owned(),
        v1: V1Credentials { merchant_id: v1.merchant().0, api_key: key.secret.expose().to_owned() },
        v2: V2Credentials {
            merchant_id: v2.merchant().0,
            hmac_secret: credential.secret.expose().to_owned(),
        },
    })
}

/// A merchant with test balances in every currency.
async fn merchant(foundation: &Foundation, name: &str, api_version: ApiVersion) -> Result<Tenant> {
    let (status, return_urls) = (MerchantStatus::Active, ReturnUrls::default());
    let new = NewMerchant { name: name.to_owned(), api_version, status, return_urls };
    let (merchant, _) = foundation.onboarding().create_merchant(new, actor()).await?;
    let tenant = Tenant::new(merchant.id, Environment::Test);
    for currency in CURRENCIES {
        fund(foundation, tenant, currency).await?;
    }
    Ok(tenant)
}

async fn fund(foundation: &Foundation, tenant: Tenant, currency: Currency) -> Result<()> {
    let order = json!({
        "environment": tenant.environment(), "currency": currency, "amount": FUNDS, "reason": "demo",
    });
    let adjustment = Adjustment::parse(tenant.merchant(), &order);
    let adjustment = adjustment.map_err(|problems| anyhow!(problems.into_messages().join("\n")))?;
    let (entropy, at) = (&*foundation.entropy, foundation.clock.now());
    let audit = StaffAction { entropy, at, actor: actor() }.adjusted(&adjustment);
    Ok(foundation.adjust().run(&adjustment, audit.into()).await?)
}

fn actor() -> Actor {
    Actor { id: "shell".to_owned(), name: "quipu serve --dev".to_owned() }
}
