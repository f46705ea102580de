//! Listing tickets.

use quipu_kernel::{Page, Period, Problems};
use quipu_tickets::{SearchText, SummaryRecord, TicketFilter, TicketSort};

use crate::{
    answer::{ApiError, envelope},
    caller::Caller,
    request::{Call, Outcome, Query},
};

pub(crate) async fn handle(call: Call, caller: Caller) -> Outcome {
    let (filter, sort, page) = parse(&call.query()?)?;
    let (tickets, total) =
        call.state.services.ticket_reads.tickets(caller.tenant(), &filter, sort, page).await?;
    envelope::many_counted(tickets.iter().map(SummaryRecord::of).collect(), total, page)
}

fn parse(query: &Query) -> Result<(TicketFilter, TicketSort, Page), ApiError> {
    let mut problems = Problems::new();
    let p = &mut problems;
    let page = query.page(p);
    let filter = TicketFilter {
        statuses: query.parsed_all("status", p),
        categories: query.parsed_all("category", p),
        search: search(query, p),
        payment_id: query.parsed("payment_id", p),
        created: Period {
            from: query.start_time("created_after", p),
            to: query.end_time("created_before", p),
        },
    };
    let sort = TicketSort {
        key: query.parsed("sort_by", p).unwrap_or_default(),
        order: query.parsed("sort_order", p).unwrap_or_default(),
    };
    problems.into_result()?;
    Ok((filter, sort, page))
}

/// The search text, which may be of several lines like the texts that it is searched for in. An empty text matches
/// everything, so it is no filter.
fn search(query: &Query, problems: &mut Problems) -> Option<SearchText> {
    let text = query.long_text("search", problems).filter(|text| !text.is_empty())?;
    text.parse().map_err(|error| problems.add("search", error)).ok()
}
