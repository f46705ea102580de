//! Listing payments.

use quipu_kernel::{CustomerId, Page, Problems};
use quipu_payments::PaymentFilter;

use crate::{
    answer::{ApiError, envelope},
    caller::Caller,
    pages::links::ShownPayment,
    request::{Call, Outcome, Query},
};

pub(crate) async fn handle(call: Call, caller: Caller) -> Outcome {
    let (filter, page) = parse(&call.query()?)?;
    let (payments, total) = call.state.services.payments.payments(caller.tenant(), &filter, page).await?;
    let links = &call.state.services.pages.links;
    let shown = payments.iter().map(|payment| ShownPayment::of(payment, links));
    envelope::many(shown.collect(), total, page)
}

fn parse(query: &Query) -> Result<(PaymentFilter, Page), ApiError> {
    let mut problems = Problems::new();
    let page = query.page(&mut problems);
    let filter = filter(query, &mut problems);
    problems.into_result()?;
    Ok((filter, page))
}

/// The filters that merchants and staff have.
pub(crate) fn filter(query: &Query, problems: &mut Problems) -> PaymentFilter {
    PaymentFilter {
        status: query.parsed("status", problems),
        kind: query.parsed("type", problems),
        method: query.parsed("method", problems),
        currency: query.parsed("currency", problems),
        merchant_reference: reference(query, problems),
        customer_id: customer(query, problems),
        created: query.created(problems),
    }
}

fn reference(query: &Query, problems: &mut Problems) -> Option<String> {
    let text = query.text("merchant_reference", problems)?;
    let fits = (1..=255).contains(&text.chars().count());
    if !fits {
        problems.add("merchant_reference", "must be 1 to 255 characters");
    }
    fits.then(|| text.to_owned())
}

fn customer(query: &Query, problems: &mut Problems) -> Option<CustomerId> {
    let number = query.whole_number("customer_id", problems)?;
    let id = i64::try_from(number).ok().and_then(CustomerId::admitted);
    if id.is_none() {
        problems.add("customer_id", "must be from 1 to 2^53 - 1");
    }
    id
}
