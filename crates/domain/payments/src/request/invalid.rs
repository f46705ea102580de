//! A create request that is not valid, and the parts of it that could be read.

use quipu_kernel::{CustomerId, Environment, Problems};
use quipu_webhooks::TargetUrl;

use crate::{
    details::{pairing::RequestedPairing, payout::Payout},
    payment::InRequestWebhook,
};

/// The problems of a request, and the parts of it that could be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InvalidDraft {
    pub(crate) problems: Problems,
    pub(crate) customer_id: Option<CustomerId>,
    pub(crate) pairing: RequestedPairing,
    pub(crate) payout: Option<Box<Payout>>,
    pub(crate) webhook: Option<InRequestWebhook>,
}

impl InvalidDraft {
    /// The problems that the request itself shows.
    pub fn into_problems(self) -> Problems {
        self.problems
    }

    /// The same problems, after `first`.
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

/// Notes a problem if a webhook target in `live` is not https.
pub(crate) fn judge_webhook(
    webhook: Option<&InRequestWebhook>,
    environment: Environment,
    problems: &mut Problems,
) {
    if let Some(problem) = webhook.and_then(|webhook| TargetUrl::problem_in(environment, &webhook.url)) {
        problems.add("webhook_url", problem);
    }
}

/// Notes that the merchant has no customer of this number.
pub(crate) fn refuse_unknown_customer(problems: &mut Problems) {
    problems.add("customer_id", "names no customer");
}
