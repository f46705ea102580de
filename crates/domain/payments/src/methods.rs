//! Which methods a merchant may use, and whether one would do.

use quipu_kernel::{Amount, Currency, Environment, Problems};
use quipu_merchants::{Method, Route};
use serde::Serialize;

use crate::PaymentType;

/// One method as the list of methods shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MethodRow {
    /// The method.
    pub method: Method,
    /// In which currency.
    pub currency: Currency,
    /// For which type of payment.
    #[serde(rename = "type")]
    pub kind: PaymentType,
    /// Whether it takes a partner destination.
    pub partner: bool,
    /// Least amount, in minor units.
    pub min_amount: Amount,
    /// Greatest amount, in minor units.
    pub max_amount: Option<Amount>,
    /// The members of `payout` that it always needs.
    pub required_payout_fields: Vec<String>,
}

/// The methods of an environment: one row for each enabled route and type.
pub fn available_methods(environment: Environment, routes: &[Route]) -> Vec<MethodRow> {
    unimplemented!()
}

/// A question whether a payment of some form could be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodQuestion {}

impl MethodQuestion {
    /// Reads `method`, `currency`, `type`, and optionally `amount` and `payout`. Problems are only those of the form.
    pub fn parse(body: &serde_json::Value) -> Result<Self, Problems> {
        unimplemented!()
    }
}

/// One reason against a payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MethodFinding {
    /// The `error_code` that a creation would answer.
    pub code: &'static str,
    /// The same for a person.
    pub message: String,
}

/// Everything that speaks against a payment as asked; nothing if it could be created.
pub fn judge_method(
    question: &MethodQuestion,
    environment: Environment,
    routes: &[Route],
) -> Vec<MethodFinding> {
    unimplemented!()
}
