//! Saved beneficiaries of partner payouts.

use quipu_kernel::{Environment, Fields, MerchantId, Problems, Tenant, Timestamp, wire_names};
use serde_json::{Value, json};

use crate::bank_identifiers::{judge_iban, judge_swift};

const MAX_TEXT: usize = 200;
const MAX_REFERENCE: usize = 140;

wire_names! {
    /// How the beneficiary's bank is reached.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum BeneficiaryKind {
        /// A bank transfer across borders.
        Bank = "bank",
        /// A SEPA credit transfer.
        Sepa = "sepa",
    }
}

/// A beneficiary that the operator saved for a merchant, named in payouts by `ibanAccountId`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beneficiary {
    /// `ibanAccountId`: 1 to 2147483647, unique over all merchants and environments.
    pub id: i32,
    /// What was saved under this number.
    pub details: NewBeneficiary,
}

/// A beneficiary as the operator wrote it. Its number is given when it is saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBeneficiary {
    /// The tenant that owns it.
    pub tenant: Tenant,
    /// How its bank is reached.
    pub kind: BeneficiaryKind,
    /// International bank account number (ISO 13616).
    pub iban: String,
    /// Business identifier code (ISO 9362); a SEPA beneficiary may have none.
    pub swift: Option<String>,
    /// Name of the account's holder.
    pub beneficiary_name: String,
    /// Name of the bank.
    pub beneficiary_bank: Option<String>,
    /// Postal address of the beneficiary.
    pub address: Option<String>,
    /// Text that goes with every payout.
    pub reference: Option<String>,
    /// When it was saved.
    pub created_at: Timestamp,
}

impl Beneficiary {
    /// The beneficiary as the operator sees it.
    pub fn shown(&self) -> Value {
        let details = &self.details;
        json!({
            // A decimal text, as payouts name it.
            "ibanAccountId": self.id.to_string(),
            "environment": details.tenant.environment(),
            "kind": details.kind,
            "iban": details.iban,
            "swift": details.swift,
            "beneficiaryName": details.beneficiary_name,
            "beneficiaryBank": details.beneficiary_bank,
            "address": details.address,
            "reference": details.reference,
            "created_at": details.created_at,
        })
    }
}

impl NewBeneficiary {
    /// The last four characters of the account, by which a person who knows it recognises it.
    pub fn last_four(&self) -> &str {
        let begins = self.iban.char_indices().rev().nth(3).map_or(0, |(at, _)| at);
        &self.iban[begins..]
    }

    /// Reads what an operator wrote. The rules are those of an inline bank beneficiary, but a SEPA one needs
    /// only account and name.
    pub fn parse(merchant: MerchantId, body: &Value, now: Timestamp) -> Result<Self, Problems> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let environment = fields.required_parsed::<Environment>("environment", &mut problems);
        let kind = fields.required_parsed::<BeneficiaryKind>("kind", &mut problems);
        let is_bank = kind == Some(BeneficiaryKind::Bank);
        let iban = text(&fields, "iban", 34, true, &mut problems);
        if let Some(iban) = &iban {
            judge_iban(iban, "iban", &mut problems);
        }
        let swift = text(&fields, "swift", 11, is_bank, &mut problems);
        if let Some(swift) = &swift {
            judge_swift(swift, "swift", &mut problems);
        }
        let beneficiary_name = text(&fields, "beneficiaryName", MAX_TEXT, true, &mut problems);
        let beneficiary_bank = text(&fields, "beneficiaryBank", MAX_TEXT, is_bank, &mut problems);
        let address = text(&fields, "address", MAX_TEXT, is_bank, &mut problems);
        let reference = text(&fields, "reference", MAX_REFERENCE, false, &mut problems);
        let beneficiary = || {
            Some(Self {
                tenant: Tenant::new(merchant, environment?),
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
        beneficiary().filter(|_| problems.is_empty()).ok_or(problems)
    }
}

/// Reads a text that must not be blank, and may be absent unless it is `required`.
fn text(
    fields: &Fields<'_>,
    name: &str,
    max: usize,
    required: bool,
    problems: &mut Problems,
) -> Option<String> {
    if required {
        fields.require(name, problems);
    }
    fields.filled_text(name, max, problems).map(str::to_owned)
}
