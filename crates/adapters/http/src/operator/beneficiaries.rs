//! Saved beneficiaries of partner payouts.

use quipu_kernel::{Fields, MerchantId, Problems, Timestamp};
use quipu_merchants::{Beneficiary, BeneficiaryKind};
use serde_json::{Value, json};

use super::{checked, existing_merchant, tenant_of};
use crate::{
    call::{Call, Outcome},
    caller::Staff,
    envelope,
    error::ApiError,
};

const MAX_TEXT: usize = 200;
const MAX_REFERENCE: usize = 140;

/// `POST /operator/v1/merchants/{id}/beneficiaries`
pub(crate) async fn add(call: Call, staff: Staff) -> Outcome {
    let merchant = existing_merchant(&call).await?;
    let mut beneficiary = parse(merchant, &call.json()?, call.now)?;
    let audit = call.state.onboarding.audit(call.now, staff.actor(), "beneficiary.add", merchant);
    // The number is given by the commit itself, and an account number has no place in a log.
    let after = json!({
        "environment": beneficiary.tenant.environment(),
        "kind": beneficiary.kind,
        "beneficiaryName": beneficiary.beneficiary_name,
    });
    let audit = audit.changing(Value::Null, after);
    beneficiary.id = call.state.services.directory.add_beneficiary(beneficiary.clone(), audit).await?;
    envelope::one(shown(&beneficiary))
}

/// `GET /operator/v1/merchants/{id}/beneficiaries`
pub(crate) async fn list(call: Call, _staff: Staff) -> Outcome {
    let merchant = existing_merchant(&call).await?;
    let mut problems = Problems::new();
    let query = call.query()?;
    let (page, created) = (query.page(&mut problems), query.created(&mut problems));
    let page = checked(Some(page), problems)?;
    let (beneficiaries, total) = call.state.services.directory.beneficiaries(merchant, created, page).await?;
    envelope::many(beneficiaries.iter().map(shown).collect(), total, page)
}

fn shown(beneficiary: &Beneficiary) -> Value {
    json!({
        // A decimal text, as payouts name it.
        "ibanAccountId": beneficiary.id.to_string(),
        "environment": beneficiary.tenant.environment(),
        "kind": beneficiary.kind,
        "iban": beneficiary.iban,
        "swift": beneficiary.swift,
        "beneficiaryName": beneficiary.beneficiary_name,
        "beneficiaryBank": beneficiary.beneficiary_bank,
        "address": beneficiary.address,
        "reference": beneficiary.reference,
        "created_at": beneficiary.created_at,
    })
}

/// The rules are those of an inline bank beneficiary; a SEPA one needs only account and name.
fn parse(merchant: MerchantId, body: &Value, now: Timestamp) -> Result<Beneficiary, ApiError> {
    let fields = Fields::of_body(body)?;
    let mut problems = Problems::new();
    let tenant = tenant_of(merchant, &fields, &mut problems);
    let kind = fields.required_parsed::<BeneficiaryKind>("kind", &mut problems);
    let is_bank = kind == Some(BeneficiaryKind::Bank);
    let iban = text(&fields, "iban", 34, true, &mut problems);
    if iban.as_deref().is_some_and(|iban| !is_iban(iban)) {
        problems.add("iban", "must be 15 to 34 capitals and digits that begin with a country code");
    }
    let swift = text(&fields, "swift", 11, is_bank, &mut problems);
    if swift.as_deref().is_some_and(|swift| !is_swift(swift)) {
        problems.add("swift", "must be 8 or 11 capitals and digits");
    }
    let beneficiary_name = text(&fields, "beneficiaryName", MAX_TEXT, true, &mut problems);
    let beneficiary_bank = text(&fields, "beneficiaryBank", MAX_TEXT, is_bank, &mut problems);
    let address = text(&fields, "address", MAX_TEXT, is_bank, &mut problems);
    let reference = text(&fields, "reference", MAX_REFERENCE, false, &mut problems);
    let beneficiary = || {
        Some(Beneficiary {
            id: 0,
            tenant: tenant?,
            kind: kind?,
            iban: iban?,
            swift,
            beneficiary_name: beneficiary_name?,
            beneficiary_bank,
            address,
            reference,
            created_at: now,
        })
    };
    checked(beneficiary(), problems)
}

/// A text that is not blank.
fn text(
    fields: &Fields<'_>,
    name: &str,
    max: usize,
    required: bool,
    problems: &mut Problems,
) -> Option<String> {
    if required && !fields.has(name) {
        problems.add(name, "is required");
    }
    let text = fields.text(name, max, problems)?;
    if text.trim().is_empty() {
        problems.add(name, "must not be blank");
        return None;
    }
    Some(text.to_owned())
}

fn is_iban(text: &str) -> bool {
    let bytes = text.as_bytes();
    (15..=34).contains(&bytes.len())
        && bytes[..2].iter().all(u8::is_ascii_uppercase)
        && bytes.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

fn is_swift(text: &str) -> bool {
    matches!(text.len(), 8 | 11)
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}
