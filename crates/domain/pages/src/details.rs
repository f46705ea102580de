//! The facts of a page as JSON: for the page's own script, and for merchants who draw a page themselves.

use quipu_kernel::{Amount, Currency, Minor, PaymentId, Timestamp};
use quipu_merchants::{Accent, Method, ReturnUrls};
use quipu_payments::{Instructions, PaymentType, Status};
use serde::Serialize;

use crate::{language::Language, money, story, view::View};

/// Everything that a page shows of its payment. It contains nothing that only the merchant may see: no fee,
/// no customer, no account of a recipient.
#[derive(Debug, Serialize)]
pub struct PageDetails<'a> {
    transaction_id: &'a PaymentId,
    status: Status,
    status_version: i32,
    revision: i64,
    #[serde(rename = "type")]
    kind: PaymentType,
    method: Method,
    amount: Amount,
    currency: Currency,
    amount_text: String,
    merchant_reference: &'a str,
    description: Option<&'a str>,
    merchant: PageMerchant<'a>,
    headline: String,
    message: String,
    late: bool,
    received_amount: Option<Amount>,
    refunded_amount: Minor,
    recipient_required: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    required_payout_fields: &'a [String],
    #[serde(flatten)]
    instructions: &'a Instructions,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
    server_time: Timestamp,
    return_urls: &'a ReturnUrls,
    locale: Language,
}

#[derive(Debug, Serialize)]
struct PageMerchant<'a> {
    name: &'a str,
    accent: Accent,
    logo: Option<String>,
}

impl<'a> PageDetails<'a> {
    /// How often the payment's status was set.
    pub const fn status_version(&self) -> i32 {
        self.status_version
    }

    /// The facts of the page that this view describes.
    pub fn new(view: View<'a>) -> Self {
        let (terms, state) = (view.payment.terms(), view.payment.state());
        let story = story::of(&view);
        let recipient_required = view.payment.waits_for_recipient();
        Self {
            transaction_id: view.payment.id(),
            status: state.status,
            status_version: state.version,
            revision: state.revision,
            kind: terms.kind,
            method: terms.method,
            amount: terms.amount,
            currency: terms.currency,
            amount_text: money::shown(terms.amount.minor(), terms.currency).with_code(),
            merchant_reference: &terms.merchant_reference,
            description: terms.description.as_deref(),
            merchant: PageMerchant {
                name: &view.brand.name,
                accent: view.brand.accent,
                logo: view.brand.logo_path().map(|path| format!("{}{path}", view.root)),
            },
            headline: story.headline,
            message: story.text,
            late: state.late,
            received_amount: state.received_amount,
            refunded_amount: state.refunded_amount,
            recipient_required,
            required_payout_fields: if recipient_required { view.members } else { &[] },
            instructions: &state.instructions,
            created_at: terms.created_at,
            expires_at: terms.expires_at,
            completed_at: state.completed_at,
            server_time: view.now,
            return_urls: &terms.return_urls,
            locale: view.words.language(),
        }
    }
}
