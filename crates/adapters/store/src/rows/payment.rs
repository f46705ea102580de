//! The row of a payment, and its conversion.

use std::borrow::Cow;

use diesel::Queryable;
use quipu_kernel::{Amount, CustomerId, Minor, Timestamp};
use quipu_payments::{Customer, InRequestWebhook, Payment, State, Terms};

use crate::{
    error::Fault,
    rows::{
        document::Document,
        stored::{parsed, tenant_of},
    },
};

/// The row, column by column, in the order of the table.
#[derive(Debug, Queryable)]
pub(crate) struct PaymentRow {
    pub(crate) merchant_id: i64,
    pub(crate) environment: String,
    pub(crate) id: String,
    kind: String,
    method: String,
    currency: String,
    amount: i64,
    fee: i64,
    merchant_reference: String,
    _holds_reference: bool,
    customer_id: i64,
    status: String,
    status_version: i32,
    rail: String,
    created_at: i64,
    updated_at: i64,
    expires_at: Option<i64>,
    completed_at: Option<i64>,
    refunded_amount: i64,
    received_amount: Option<i64>,
    late: bool,
    webhook_url: Option<String>,
    document: String,
    revision: i64,
}

/// The columns of a [`PaymentRow`], in its order, for statements written by hand.
macro_rules! payment_columns {
    () => {
        "payments.merchant_id, payments.environment, payments.id, payments.type, payments.method, payments.currency, \
         payments.amount, payments.fee, payments.merchant_reference, payments.holds_reference, payments.customer_id, \
         payments.status, payments.status_version, payments.rail, payments.created_at, payments.updated_at, \
         payments.expires_at, payments.completed_at, payments.refunded_amount, payments.received_amount, payments.late, \
         payments.webhook_url, payments.document, payments.revision"
    };
}

pub(crate) use payment_columns;

impl PaymentRow {
    /// The payment, or the error that names the column that cannot be parsed.
    pub(crate) fn into_payment(self) -> Result<Payment, Fault> {
        let document: Document<'_> = serde_json::from_str(&self.document)
            .map_err(|error| Fault::Corrupt(format!("the document of {}: {error}", self.id)))?;
        let owned = |text: Option<Cow<'_, str>>| text.map(Cow::into_owned);
        let beyond = |column, error| Fault::Corrupt(format!("the {column} of {}: {error}", self.id));
        let amount = |column, units| Amount::new(units).map_err(|error| beyond(column, error));
        let minor = |column, units| Minor::new(units).map_err(|error| beyond(column, error));
        let events = document.webhook_events.iter().map(|name| parsed("an event", name));
        let events = events.collect::<Result<Vec<_>, _>>()?;
        let tenant = tenant_of(self.merchant_id, &self.environment)?;
        let terms = Terms {
            id: parsed("a payment", &self.id)?,
            tenant,
            kind: parsed("a type", &self.kind)?,
            method: parsed("a method", &self.method)?,
            currency: parsed("a currency", &self.currency)?,
            amount: amount("amount", self.amount)?,
            merchant_reference: self.merchant_reference,
            customer: Customer {
                id: CustomerId(self.customer_id),
                email: owned(document.customer_email),
                phone: owned(document.customer_phone),
                name: owned(document.customer_name),
            },
            rail: self.rail,
            created_at: Timestamp::from_millis(self.created_at),
            expires_at: self.expires_at.map(Timestamp::from_millis),
            description: owned(document.description),
            note: owned(document.note),
            external_id: owned(document.external_id),
            traffic_type: document.traffic_type,
            webhook: self.webhook_url.map(|url| InRequestWebhook { url, events }),
            return_urls: document.return_urls.into_owned(),
            redirect_scheme: document.redirect_scheme,
        };
        let state = State {
            status: parsed("a status", &self.status)?,
            version: self.status_version,
            fee: minor("fee", self.fee)?,
            refunded_amount: minor("refunded amount", self.refunded_amount)?,
            received_amount: self
                .received_amount
                .map(|units| amount("received amount", units))
                .transpose()?,
            late: self.late,
            failure: document.failure.map(Cow::into_owned),
            payout: document.payout.map(Cow::into_owned),
            instructions: document.instructions.into_owned(),
            provider_reference: owned(document.provider_reference),
            revision: self.revision,
            completed_at: self.completed_at.map(Timestamp::from_millis),
            updated_at: Timestamp::from_millis(self.updated_at),
        };
        Ok(Payment::restore(terms, state))
    }
}

#[cfg(test)]
mod tests {
    use diesel::{QueryDsl as _, Table as _};

    use crate::schema::payments;

    #[test]
    fn statements_by_hand_name_the_columns_in_the_order_of_the_table() {
        let query = payments::table.select(payments::table::all_columns());
        let said = diesel::debug_query::<diesel::sqlite::Sqlite, _>(&query).to_string().replace('`', "");
        assert!(said.contains(&format!("SELECT {} FROM", payment_columns!())), "{said}");
    }
}
