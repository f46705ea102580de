//! Saved beneficiaries of partner payouts.

use quipu_kernel::Problems;
use quipu_merchants::{Beneficiary, NewBeneficiary};

use super::existing_merchant;
use crate::{
    answer::envelope,
    caller::AuthenticatedOperator,
    request::{Call, Outcome},
};

/// `POST /operator/v1/merchants/{id}/beneficiaries`
pub(crate) async fn add(call: Call, staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    let beneficiary = NewBeneficiary::parse(merchant, &call.json().await?, call.now)?;
    envelope::one(call.state.services.onboarding.add_beneficiary(beneficiary, staff.actor()).await?.shown())
}

/// `GET /operator/v1/merchants/{id}/beneficiaries`
pub(crate) async fn list(call: Call, _staff: AuthenticatedOperator) -> Outcome {
    let merchant = existing_merchant(&call).await?.id;
    let mut problems = Problems::new();
    let query = call.query()?;
    let (page, created) = (query.page(&mut problems), query.created(&mut problems));
    problems.into_result()?;
    let (beneficiaries, total) = call.state.services.directory.beneficiaries(merchant, created, page).await?;
    envelope::many(beneficiaries.iter().map(Beneficiary::shown).collect(), total, page)
}
