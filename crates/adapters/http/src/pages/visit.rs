//! One visit of a page: the payment behind its token, its merchant, and the language.

use std::sync::Arc;

use actix_web::http::header;
use quipu_kernel::{PaymentId, Problems, Tenant, Timestamp};
use quipu_merchants::MerchantStatus;
use quipu_pages::{Brand, Filled, Language, PageUrls, View, Words};
use quipu_payments::{PageLinks, Payment, recipient_members};

use crate::{answer::ApiError, request::Call, state::AppState, viewing::about::About};

/// A visit.
pub(super) struct Visit {
    pub(super) payment: Payment,
    /// Whether the merchant is suspended. Then no recipient is asked for, as that would send its money.
    pub(super) is_suspended: bool,
    pub(super) about: Arc<About>,
    pub(super) words: Words,
    pub(super) token: String,
}

impl Visit {
    /// Finds the page of the call's token.
    pub(super) async fn of(call: &Call) -> Result<Self, ApiError> {
        let token = call.segment("token").to_owned();
        // A malformed token is not looked up.
        let hash = PageLinks::hash_of(&token).ok_or_else(ApiError::page_not_found)?;
        Self::behind(call, &hash, token).await
    }

    /// Finds the payment whose page has an address with this hash.
    pub(super) async fn behind(call: &Call, hash: &str, token: String) -> Result<Self, ApiError> {
        let services = &call.state.services;
        let (tenant, id) =
            services.pages.store.payment_of(hash).await?.ok_or_else(ApiError::page_not_found)?;
        let payment = payment_of(&call.state, tenant, &id).await?;
        let merchant = services.caller_book.remembered_merchant(tenant.merchant()).await?;
        let merchant = merchant.ok_or_else(|| ApiError::internal("reading a page", &"it has no merchant"))?;
        let brand = Brand::of(&merchant, services.pages.store.merchant_page(merchant.id).await?);
        let is_suspended = merchant.status == MerchantStatus::Suspended;
        let mut members = Vec::new();
        if payment.waits_for_recipient() && !is_suspended {
            let routes = services.routes.routes(tenant.merchant()).await?;
            members = recipient_members(&payment, &routes);
        }
        let about = Arc::new(About { brand, root: call.state.settings.root().to_owned(), members });
        Ok(Self { payment, is_suspended, about, words: words(call), token })
    }

    /// The view of the page at `now`.
    pub(super) fn view<'a>(&'a self, now: Timestamp, filled: Option<&'a Filled>) -> View<'a> {
        View { token: &self.token, filled, ..self.about.view(&self.payment, self.words, now) }
    }

    /// The address of the page.
    pub(super) fn urls(&self) -> PageUrls {
        PageUrls::new(&self.about.root, &self.token, self.words.language())
    }
}

/// The present state of the payment.
pub(super) async fn payment_of(
    state: &AppState,
    tenant: Tenant,
    id: &PaymentId,
) -> Result<Payment, ApiError> {
    state.services.payments.payment(tenant, id).await?.ok_or_else(ApiError::page_not_found)
}

/// The language of a call: `lang`, otherwise the browser's. A `lang` that cannot be read is ignored.
pub(super) fn words(call: &Call) -> Words {
    let query = call.query().ok();
    let wanted = query.as_ref().and_then(|query| query.text("lang", &mut Problems::new()));
    let accepted = call.request.headers().get(header::ACCEPT_LANGUAGE);
    Words::of(Language::choose(wanted, accepted.and_then(|value| value.to_str().ok())))
}
