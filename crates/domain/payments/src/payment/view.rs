//! A payment as merchants read it.

use std::borrow::Cow;

use quipu_commit::Answer;
use quipu_kernel::{Amount, Currency, CustomerId, Environment, Minor, PaymentId, Timestamp, json_text};
use quipu_merchants::{Direction, Method, ReturnUrls};
use serde::{Serialize, Serializer};

use crate::{
    details::{
        customer::Customer,
        destination::Destination,
        instructions::{BankDetails, CryptoDetails, Instructions, PayIdDetails, VoucherDetails},
        kind::{PaymentType, TrafficType},
        payout::Payout,
    },
    payment::{Payment, failure::Failure, status::Status},
};

/// A payment in the shape in which create, get and list answer it: one flat object with the members of a
/// creation's answer and the further members of the record (docs/API.md, "Create" and "Read").
#[derive(Debug, Clone, Copy)]
pub struct PaymentRecord<'a>(&'a Payment);

impl<'a> PaymentRecord<'a> {
    /// The record of this payment.
    pub const fn of(payment: &'a Payment) -> Self {
        Self(payment)
    }
}

/// The answer to a creation: the record beside `success: true`. The page URL is not included,
/// because a kept answer must hold no secret; the HTTP adapter adds it when it sends the answer.
pub fn creation_answer(payment: &Payment) -> Answer {
    #[derive(Serialize)]
    struct Created<'a> {
        success: bool,
        #[serde(flatten)]
        record: PaymentRecord<'a>,
    }
    let created = Created { success: true, record: PaymentRecord::of(payment) };
    Answer::success(json_text(&created))
}

/// Members that only some payments have are left out for the others; members that every payment has are
/// `null` if they have no value.
#[derive(Serialize)]
struct Record<'a> {
    transaction_id: &'a PaymentId,
    status: Status,
    amount: Amount,
    currency: Currency,
    method: Method,
    #[serde(rename = "type")]
    kind: PaymentType,
    merchant_reference: &'a str,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    bank_details: Option<&'a BankDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payid_details: Option<&'a PayIdDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    voucher_details: Option<&'a VoucherDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crypto_details: Option<&'a CryptoDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    redirect_url: Option<&'a str>,
    customer_id: CustomerId,
    customer: &'a Customer,
    environment: Environment,
    fee: Minor,
    net_amount: Minor,
    refunded_amount: Minor,
    received_amount: Option<Amount>,
    late: bool,
    description: Option<&'a str>,
    note: Option<&'a str>,
    external_id: Option<&'a str>,
    status_version: i32,
    failure: Option<&'a Failure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payout: Option<PayoutMember<'a>>,
    traffic_type: Option<TrafficType>,
    webhook_url: Option<&'a str>,
    expires_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
    updated_at: Timestamp,
    return_urls: &'a ReturnUrls,
}

/// The member `payout` of a withdrawal: `null` while its recipient is unknown.
#[derive(Serialize)]
#[serde(transparent)]
struct PayoutMember<'a>(Option<Cow<'a, Payout>>);

impl<'a> PayoutMember<'a> {
    /// The payout as it was sent: the account behind a saved beneficiary is not shown to the merchant.
    fn of(payout: Option<&'a Payout>) -> Self {
        Self(payout.map(|payout| match &payout.partner_destination {
            Some(destination) if destination.is_saved() => {
                let mut sent = payout.clone();
                sent.partner_destination = sent.partner_destination.map(Destination::without_account);
                Cow::Owned(sent)
            }
            _ => Cow::Borrowed(payout),
        }))
    }
}

impl Serialize for PaymentRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (terms, state) = (self.0.terms(), self.0.state());
        let is_withdrawal = terms.kind.direction() == Direction::Withdrawal;
        let Instructions { bank_details, payid_details, voucher_details, crypto_details, redirect_url } =
            &state.instructions;
        let record = Record {
            transaction_id: &terms.id,
            status: state.status,
            amount: terms.amount,
            currency: terms.currency,
            method: terms.method,
            kind: terms.kind,
            merchant_reference: &terms.merchant_reference,
            created_at: terms.created_at,
            bank_details: bank_details.as_ref(),
            payid_details: payid_details.as_ref(),
            voucher_details: voucher_details.as_ref(),
            crypto_details: crypto_details.as_ref(),
            redirect_url: redirect_url.as_deref(),
            customer_id: terms.customer.id,
            customer: &terms.customer,
            environment: terms.tenant.environment(),
            fee: state.fee,
            net_amount: self.0.net_amount(),
            refunded_amount: state.refunded_amount,
            received_amount: state.received_amount,
            late: state.late,
            description: terms.description.as_deref(),
            note: terms.note.as_deref(),
            external_id: terms.external_id.as_deref(),
            status_version: state.version,
            failure: state.failure.as_ref(),
            payout: is_withdrawal.then(|| PayoutMember::of(state.payout.as_ref())),
            traffic_type: terms.traffic_type,
            webhook_url: terms.webhook.as_ref().map(|webhook| webhook.url.as_str()),
            expires_at: terms.expires_at,
            completed_at: state.completed_at,
            updated_at: state.updated_at,
            return_urls: &terms.return_urls,
        };
        record.serialize(serializer)
    }
}
