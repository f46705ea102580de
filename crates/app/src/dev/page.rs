//! The hosted page of the demo: its payment waits until somebody pays it on the page of the simulated scheme.

use anyhow::{Context, Result};
use quipu_http::FrontLink;
use quipu_kernel::{Environment, MerchantId, Tenant};
use quipu_merchants::ReturnUrls;
use quipu_payments::{Creation, Draft};
use serde_json::json;

use super::Credentials;
use crate::wire::UseCases;

/// The address of the page; `None` if its payment is refused, as it is once somebody has tried out other routes.
pub(crate) async fn page(use_cases: &UseCases, demo: &Credentials, public_url: &str) -> Option<String> {
    let made = make(use_cases, demo, public_url).await;
    made.inspect_err(|error| tracing::warn!("{error:#}; the demo goes on without it")).ok()
}

/// Creates the payment for the v2 merchant, so that it does not appear in the lists that people try first,
/// and answers the address of its page. The page leads back to the front page, where the demo has no shop.
async fn make(use_cases: &UseCases, demo: &Credentials, public_url: &str) -> Result<String> {
    let tenant = Tenant::new(MerchantId(demo.v2.merchant_id), Environment::Test);
    let reference = uuid::Uuid::new_v4();
    let draft = Draft::parse(&json!({
        "amount": 250_000, "currency": "LKR", "method": "redirectpay", "type": "deposit_pp",
        "merchant_reference": format!("demo-page-{reference}"), "description": "A payment to try out",
        "customer": { "name": "Ana Perez", "email": "stay@simulator.test" },
    }));
    let front_page = Some(format!("{}/", public_url.trim_end_matches('/')));
    let default_return_urls = ReturnUrls { success_url: front_page.clone(), cancel_url: front_page };
    let creation = Creation { tenant, draft, default_return_urls, nonce: None };
    let payment = use_cases.create.run(creation).await.context("the demo's page cannot be made")?;
    let url = use_cases.pages.links.url_of(&payment).context("the demo's payment has no page")?;
    Ok(url.expose().to_owned())
}

/// The link to it on the front page.
pub(crate) fn front_link(url: &str) -> FrontLink {
    FrontLink { what: "A hosted page of the demo", href: url.to_owned(), text: "Pay 2,500.00 LKR".to_owned() }
}
