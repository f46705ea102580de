//! The members of a payment that no query uses, stored as one JSON text.

use std::borrow::Cow;

use quipu_kernel::json_text;
use quipu_merchants::ReturnUrls;
use quipu_payments::{Failure, Instructions, Payment, Payout, RedirectScheme, TrafficType};
use serde::{Deserialize, Serialize};

/// The members that no query uses. Members without a value are left out.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Document<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) customer_email: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) customer_phone: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) customer_name: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) payout: Option<Cow<'a, Payout>>,
    pub(crate) instructions: Cow<'a, Instructions>,
    pub(crate) return_urls: Cow<'a, ReturnUrls>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) external_id: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) traffic_type: Option<TrafficType>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) webhook_events: Vec<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) redirect_scheme: Option<RedirectScheme>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<Cow<'a, Failure>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) provider_reference: Option<Cow<'a, str>>,
}

impl<'a> Document<'a> {
    fn of(payment: &'a Payment) -> Self {
        fn text(value: Option<&String>) -> Option<Cow<'_, str>> {
            value.map(|text| Cow::Borrowed(text.as_str()))
        }
        let (terms, state) = (payment.terms(), payment.state());
        let events = terms.webhook.iter().flat_map(|webhook| &webhook.events);
        Self {
            customer_email: text(terms.customer.email.as_ref()),
            customer_phone: text(terms.customer.phone.as_ref()),
            customer_name: text(terms.customer.name.as_ref()),
            payout: state.payout.as_ref().map(Cow::Borrowed),
            instructions: Cow::Borrowed(&state.instructions),
            return_urls: Cow::Borrowed(&terms.return_urls),
            description: text(terms.description.as_ref()),
            note: text(terms.note.as_ref()),
            external_id: text(terms.external_id.as_ref()),
            traffic_type: terms.traffic_type,
            webhook_events: events.map(|name| Cow::Borrowed(name.as_str())).collect(),
            redirect_scheme: terms.redirect_scheme,
            failure: state.failure.as_ref().map(Cow::Borrowed),
            provider_reference: text(state.provider_reference.as_ref()),
        }
    }

    /// The JSON text of a payment.
    pub(crate) fn text_of(payment: &'a Payment) -> String {
        json_text(&Self::of(payment))
    }
}
