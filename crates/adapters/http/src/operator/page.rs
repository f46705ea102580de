//! The name and logo that hosted pages show for a merchant.

use base64::{Engine, engine::general_purpose::STANDARD};
use quipu_kernel::{Fields, MerchantId, Problems};
use quipu_merchants::MerchantPage;
use quipu_pages::{LogoProblem, MAX_LOGO_BYTES, redraw};
use quipu_signing::sha256_hex;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::existing_merchant;
use crate::{
    answer::{ApiError, envelope},
    caller::AuthenticatedOperator,
    request::{Call, Outcome},
};

/// The most characters of a logo in base64.
const MAX_LOGO_TEXT: usize = MAX_LOGO_BYTES.div_ceil(3) * 4;

/// `GET /operator/v1/merchants/{id}/page`
pub(crate) async fn get(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    shown(&call, merchant).await
}

/// `PUT /operator/v1/merchants/{id}/page`: replaces everything; a member left out returns to the gateway's
/// own.
pub(crate) async fn put(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    let (page, file) = parse(&call.json().await?)?;
    let drawn = match file {
        Some(file) => Some(drawn(file).await?),
        None => None,
    };
    let page = MerchantPage { logo: drawn.as_deref().map(sha256_hex), ..page };
    set(&call, &staff, merchant, Some((page, drawn))).await
}

/// The logo of a file, drawn on a thread for blocking work.
async fn drawn(file: Vec<u8>) -> Result<Vec<u8>, ApiError> {
    /// One at a time: a small file may unpack to as much memory as its decoder may take.
    static TURN: Semaphore = Semaphore::const_new(1);
    let turn = TURN.acquire().await.map_err(|error| ApiError::internal("drawing a logo", &error))?;
    let drawing = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        redraw(&file)
    });
    let drawn = drawing.await.map_err(|error| ApiError::internal("drawing a logo", &error))?;
    drawn.map_err(|problem: LogoProblem| ApiError::validation("logo", &problem.to_string()))
}

/// `DELETE /operator/v1/merchants/{id}/page`
pub(crate) async fn delete(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    set(&call, &staff, merchant, None).await
}

async fn set(
    call: &Call,
    staff: &AuthenticatedOperator,
    merchant: MerchantId,
    page: Option<(MerchantPage, Option<Vec<u8>>)>,
) -> Outcome {
    let store = &call.state.services.pages.store;
    let after = page.as_ref().map(|(page, _)| page);
    let audit = call.state.services.onboarding.audit_of_page(merchant, after, staff.actor());
    store.set_merchant_page(merchant, page, audit).await?;
    shown(call, merchant).await
}

async fn shown(call: &Call, merchant: MerchantId) -> Outcome {
    let store = &call.state.services.pages.store;
    let page = store.merchant_page(merchant).await?.unwrap_or_default();
    let picture = match &page.logo {
        Some(hash) => store.logo(hash).await?,
        None => None,
    };
    envelope::one(json!({
        "merchant_id": merchant,
        "name": page.name,
        "accent": page.accent,
        "logo": picture.map(|picture| STANDARD.encode(picture)),
        "logo_url": page.logo.map(|hash| format!("{}/logos/{hash}.png", call.state.settings.public_url)),
    }))
}

fn parse(body: &Value) -> Result<(MerchantPage, Option<Vec<u8>>), ApiError> {
    let fields = Fields::of_body(body)?;
    let mut problems = Problems::new();
    let page = MerchantPage::read(&fields, &mut problems);
    let logo = read_logo(&fields, &mut problems);
    problems.into_result()?;
    Ok((page, logo))
}

fn read_logo(fields: &Fields<'_>, problems: &mut Problems) -> Option<Vec<u8>> {
    let text = match fields.value("logo") {
        None => return None,
        Some(Value::String(text)) => text,
        Some(_) => {
            problems.add("logo", "must be a string");
            return None;
        }
    };
    if text.len() > MAX_LOGO_TEXT {
        problems.add("logo", LogoProblem::TooLong);
        return None;
    }
    let file = STANDARD.decode(text).ok();
    if file.is_none() {
        problems.add("logo", "must be base64");
    }
    file
}
