//! A create request, read whole.
//!
//! [`Draft::parse`] checks everything that the request alone can show. What depends on the merchant (its
//! routes, its customers and beneficiaries, its environment) is checked where the payment is made.

use quipu_kernel::{Amount, Currency, Environment, Fields, Problems};
use quipu_merchants::{Method, ReturnUrls, RouteKey};
use quipu_webhooks::{EventName, TargetUrl};
use serde_json::Value;

use crate::{
    details::{
        customer::{NamedCustomer, read_id},
        kind::{PaymentType, RedirectScheme, TrafficType},
        pairing::{RequestedPairing, names_partner},
        payout::Payout,
    },
    payment::InRequestWebhook,
    request::invalid::InvalidDraft,
};

/// A create request without any problem that the request alone can show (docs/API.md, "Create").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub(crate) amount: Amount,
    pub(crate) currency: Currency,
    pub(crate) method: Method,
    pub(crate) kind: PaymentType,
    pub(crate) merchant_reference: String,
    pub(crate) customer: NamedCustomer,
    pub(crate) payout: Option<Payout>,
    pub(crate) webhook: Option<InRequestWebhook>,
    pub(crate) traffic_type: Option<TrafficType>,
    pub(crate) redirect_scheme: Option<RedirectScheme>,
    pub(crate) return_urls: ReturnUrls,
    pub(crate) description: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) external_id: Option<String>,
}

impl Draft {
    /// Reads the body of a request, or answers all its problems. Unknown members at the top level, in
    /// `customer` and in `return_urls` are ignored; `null` is the same as leaving a member out.
    pub fn parse(body: &Value) -> Result<Self, InvalidDraft> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let p = &mut problems;
        let amount = read_amount(&fields, p);
        let currency = fields.required_parsed("currency", p);
        let method = fields.required_parsed("method", p);
        let kind = fields.required_parsed("type", p);
        let merchant_reference = fields.required_text("merchant_reference", 255, p);
        let customer_id = read_id(&fields, p);
        let customer = NamedCustomer::read(&fields, customer_id, p);
        let pairing = RequestedPairing { kind, method, currency, partner: names_partner(&fields) };
        pairing.judge(p);
        let payout = Payout::of_request(&fields, pairing, p);
        let webhook = read_webhook(&fields, p);
        let traffic_type = fields.parsed("traffic_type", p);
        let redirect_scheme = read_redirect_scheme(&fields, method, p);
        let return_urls = ReturnUrls::read(&fields, p).unwrap_or_default();
        let description = fields.long_text("description", 500, p);
        let note = fields.long_text("note", 500, p);
        let external_id = fields.text("external_id", 255, p);

        if !problems.is_empty() {
            let payout = payout.map(Box::new);
            return Err(InvalidDraft { problems, customer_id, pairing, payout, webhook });
        }
        let whole = || {
            Some(Self {
                amount: amount?,
                currency: currency?,
                method: method?,
                kind: kind?,
                merchant_reference: merchant_reference?.to_owned(),
                customer: customer?,
                payout,
                webhook,
                traffic_type,
                redirect_scheme,
                return_urls,
                description: description.map(str::to_owned),
                note: note.map(str::to_owned),
                external_id: external_id.map(str::to_owned),
            })
        };
        whole().ok_or_else(InvalidDraft::default)
    }

    /// The key of the route for the payment.
    pub(crate) fn route_key(&self, environment: Environment) -> RouteKey {
        RouteKey {
            environment,
            currency: self.currency,
            method: self.method,
            direction: self.kind.direction(),
            partner: self.payout.as_ref().is_some_and(Payout::is_partner),
        }
    }
}

fn read_amount(body: &Fields<'_>, problems: &mut Problems) -> Option<Amount> {
    let units = body.required_integer("amount", problems)?;
    match Amount::new(units) {
        Ok(amount) => return Some(amount),
        Err(_) if units < 1 => problems.add("amount", "must be at least 1"),
        Err(_) => problems.add("amount", "must be at most 2^53 - 1"),
    }
    None
}

/// Reads `webhook_url` and `webhook_events`. The latter has no effect without the former, but is checked in
/// any case.
fn read_webhook(body: &Fields<'_>, problems: &mut Problems) -> Option<InRequestWebhook> {
    let url = body.web_url("webhook_url", problems).map(str::to_owned);
    if let Some(problem) = url.as_deref().and_then(TargetUrl::problem_of) {
        problems.add("webhook_url", problem);
    }
    // Even with wrong events, the address still has rules that only the environment decides.
    let events = EventName::read_list(body, "webhook_events", problems);
    Some(InRequestWebhook { url: url?, events: events.unwrap_or_else(|| EventName::DEFAULTS.to_vec()) })
}

fn read_redirect_scheme(
    body: &Fields<'_>,
    method: Option<Method>,
    problems: &mut Problems,
) -> Option<RedirectScheme> {
    if body.has("redirectpay") && method.is_some_and(|method| method != Method::RedirectPay) {
        problems.add("redirectpay", "is only for method redirectpay");
    }
    let fields = body.object("redirectpay", problems)?;
    fields.refuse_unknown(&["payment_method"], problems);
    fields.parsed("payment_method", problems)
}
