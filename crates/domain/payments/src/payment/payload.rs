//! The events of a payment as bytes, in the form in which merchants receive them.

use quipu_kernel::{Amount, Currency, Entropy, EventId, Minor, PaymentId, Timestamp};
use quipu_merchants::{Direction, Method};
use quipu_webhooks::{Envelope, Event, EventName, EventStatus, NamedTarget, TargetUrl};
use serde::Serialize;

use crate::{
    details::{kind::PaymentType, payout::Payout},
    payment::{Payment, failure::Failure, status::Status, step_events},
};

#[derive(Serialize)]
struct Data<'a> {
    status_version: i32,
    payment: PaymentData<'a>,
}

#[derive(Serialize)]
struct PaymentData<'a> {
    transaction_id: &'a PaymentId,
    merchant_reference: &'a str,
    #[serde(rename = "type")]
    kind: PaymentType,
    method: Method,
    currency: Currency,
    amount: Amount,
    fee: Minor,
    net_amount: Minor,
    refunded_amount: Minor,
    /// What arrived instead of the agreed amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    received_amount: Option<Amount>,
    /// Whether the money came after the payment had ended; only then it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    late: Option<bool>,
    status: Status,
    previous_status: Option<Status>,
    status_version: i32,
    failure: Option<&'a Failure>,
    created_at: Timestamp,
    updated_at: Timestamp,
    customer_data: CustomerData<'a>,
}

/// The customer as events tell of them. Only these members are included (docs/WEBHOOKS.md), and only if they
/// have a value.
#[derive(Serialize)]
struct CustomerData<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    customer_email: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    customer_phone: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    customer_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    external_id: Option<&'a str>,
    reference: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    requested_payment_type: PaymentType,
    commission: Commission,
    #[serde(skip_serializing_if = "Option::is_none")]
    payout: Option<PayoutData<'a>>,
}

#[derive(Serialize)]
struct Commission {
    currency: Currency,
    total_minor: Minor,
}

/// The recipient of a withdrawal as events tell of it.
#[derive(Default, PartialEq, Serialize)]
struct PayoutData<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    bank_code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bank_account: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recipient_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bank_name: Option<&'a str>,
}

impl<'a> PayoutData<'a> {
    /// The recipient that was sent. For a bank beneficiary, its IBAN, SWIFT and names are included.
    fn of(payout: &'a Payout) -> Option<Self> {
        let Payout {
            recipient_name,
            bank_account,
            bank_code,
            partner_destination,
            account_type: _,
            beneficiary_tax_id: _,
            payid: _,
            payid_type: _,
            bsb: _,
        } = payout;
        let bank = partner_destination.as_ref().and_then(|destination| destination.bank());
        let recipient_name = recipient_name.as_deref();
        let data = match bank {
            Some(bank) => Self {
                bank_code: bank.swift.as_deref(),
                bank_account: Some(&bank.iban),
                recipient_name: recipient_name.or(Some(&bank.beneficiary_name)),
                bank_name: bank.beneficiary_bank.as_deref(),
            },
            None => Self {
                bank_code: bank_code.as_deref(),
                bank_account: bank_account.as_deref(),
                recipient_name,
                bank_name: None,
            },
        };
        (data != Self::default()).then_some(data)
    }
}

/// The text, if it is there and not empty.
fn filled(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.is_empty())
}

impl<'a> Data<'a> {
    fn of(payment: &'a Payment, previous_status: Option<Status>) -> Self {
        let (terms, state) = (payment.terms(), payment.state());
        let is_withdrawal = terms.kind.direction() == Direction::Withdrawal;
        let payout = state.payout.as_ref().filter(|_| is_withdrawal);
        let customer_data = CustomerData {
            note: filled(terms.note.as_ref()),
            customer_email: filled(terms.customer.email.as_ref()),
            customer_phone: filled(terms.customer.phone.as_ref()),
            customer_name: filled(terms.customer.name.as_ref()),
            external_id: filled(terms.external_id.as_ref()),
            reference: &terms.merchant_reference,
            description: filled(terms.description.as_ref()),
            expires_at: terms.expires_at,
            requested_payment_type: terms.kind,
            commission: Commission { currency: terms.currency, total_minor: state.fee },
            payout: payout.and_then(PayoutData::of),
        };
        let payment = PaymentData {
            transaction_id: &terms.id,
            merchant_reference: &terms.merchant_reference,
            kind: terms.kind,
            method: terms.method,
            currency: terms.currency,
            amount: terms.amount,
            fee: state.fee,
            net_amount: payment.net_amount(),
            refunded_amount: state.refunded_amount,
            received_amount: state.received_amount,
            late: state.late.then_some(true),
            status: state.status,
            previous_status,
            status_version: state.version,
            failure: state.failure.as_ref(),
            created_at: terms.created_at,
            updated_at: state.updated_at,
            customer_data,
        };
        Self { status_version: state.version, payment }
    }
}

/// The `data` of an event of this payment, to be compared with a stored one.
pub(crate) fn data_of(payment: &Payment, previous: Option<Status>) -> serde_json::Value {
    serde_json::json!(Data::of(payment, previous))
}

/// The events of the step that `payment` has just taken from `previous`, or of its creation. Their
/// identifiers sort in the order in which they are to be told, after those of earlier steps.
pub fn events(payment: &Payment, previous: Option<Status>, entropy: &dyn Entropy) -> Vec<Event> {
    let names = step_events::of(payment);
    let (tenant, at) = (payment.terms().tenant, payment.state().updated_at);
    let data = Data::of(payment, previous);
    let status = EventStatus {
        previous: previous.map(Status::as_str),
        status: payment.status().as_str(),
        version: payment.state().version,
    };
    let target = payment.terms().webhook.as_ref().map(|webhook| NamedTarget {
        url: TargetUrl::restore(webhook.url.clone()),
        events: webhook.events.clone(),
        first: previous.is_none(),
    });
    let version = payment.state().version;
    let mut ids: Vec<_> = names.iter().map(|_| EventId::of_step(at, version, entropy)).collect();
    ids.sort_unstable();
    let event = |(name, id): (&EventName, EventId)| Event {
        payload: Envelope::new(&id, *name, at, tenant, &data).payload(),
        id,
        name: *name,
        at,
        payment_id: Some(payment.id().clone()),
        status: Some(status),
        named: target.clone(),
    };
    names.iter().zip(ids).map(event).collect()
}
