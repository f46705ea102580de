//! A create request that is not valid, as far as it could be read.

use quipu_kernel::{CustomerId, Environment, Problems, is_https};

use crate::{payment::InRequestWebhook, payout::Payout, requested_pairing::RequestedPairing};

/// What is wrong with a request, and what could be read of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InvalidDraft {
    pub(crate) problems: Problems,
    pub(crate) customer_id: Option<CustomerId>,
    pub(crate) pairing: RequestedPairing,
    pub(crate) payout: Option<Box<Payout>>,
    pub(crate) webhook: Option<InRequestWebhook>,
}

impl InvalidDraft {
    /// What the request itself shows.
    pub fn into_problems(self) -> Problems {
        self.problems
    }

    /// The same with other problems before it.
    #[must_use]
    pub fn behind(self, mut first: Problems) -> Self {
        first.append(self.problems);
        Self { problems: first, ..self }
    }
}

impl From<Problems> for InvalidDraft {
    fn from(problems: Problems) -> Self {
        Self { problems, ..Self::default() }
    }
}

/// In `live`, a payment's events travel only by https.
pub(crate) fn judge_webhook(
    webhook: Option<&InRequestWebhook>,
    environment: Environment,
    problems: &mut Problems,
) {
    if environment == Environment::Live && webhook.is_some_and(|webhook| !is_https(&webhook.url)) {
        problems.add("webhook_url", "must be an https URL in the live environment");
    }
}

/// Notes that the merchant has no customer of this number.
pub(crate) fn refuse_unknown_customer(problems: &mut Problems) {
    problems.add("customer_id", "names no customer");
}
