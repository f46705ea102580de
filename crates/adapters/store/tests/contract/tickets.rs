//! What merchants and support find among tickets, compared with a filter over all of them.

use std::{cmp::Ordering, sync::Arc};

use futures_util::future::join_all;
use quipu_commit::Commit as _;
use quipu_kernel::{Environment, MerchantId, Page, PaymentId, Period, Tenant, fold};
use quipu_merchants::{Merchants as _, Route};
use quipu_store::Store;
use quipu_tickets::{
    Category, Priority, QueueFilter, QueueItem, SortKey, SortOrder, Status, SupportReads as _, Ticket,
    TicketFilter, TicketReads as _, TicketSort, TicketSummary, queue_rank,
};
use serde_json::json;

use crate::{
    desk::{TestDesk, staff},
    directory::{audit, merchant},
    fixture::{Fixture, on_both_databases},
    sample::{Sample, after, tenant},
};

on_both_databases! {
    a_ticket_is_read_as_it_was_written_by_its_tenant_alone,
    a_merchant_finds_exactly_what_matches,
    what_was_counted_before_a_change_on_another_node_is_counted_anew,
    support_finds_exactly_what_matches,
}

fn first_page() -> Page {
    Page::new(100, 0).expect("a page")
}

fn tenants() -> [Tenant; 4] {
    let live = |merchant| Tenant::new(MerchantId(merchant), Environment::Live);
    [tenant(1), live(1), tenant(2), live(2)]
}

/// Tickets of two merchants in both environments, three of them opened in the same millisecond, in every status.
async fn tickets(store: &Arc<Store>) -> Vec<Ticket> {
    use Status::{Canceled, Closed, InProgress, OnHold, Resolved, WaitingCustomer};
    for id in 1..=2 {
        store
            .add_merchant(merchant(id), Route::of_new_merchant(), audit("merchant.create"))
            .await
            .expect("added");
    }
    let desk = TestDesk::at(store);
    let mut all = Vec::new();
    for number in 0..72_usize {
        let time = i64::try_from(number / 3 * 10).expect("small");
        let tenant = tenants()[number % 4];
        let mut body = json!({
            "title": format!("{} ({number})", ["Where is it", "¿DÓNDE está", "Refund"][number % 3]),
            "category": Category::ALL[number / 4 % Category::ALL.len()],
            "requires_refund": number % 3 == 2,
        });
        if number % 5 == 0 {
            body["description"] = json!(format!("It is 100%_sure, says customer {}", number % 7));
        }
        if number % 5 == 2 {
            let payment = Sample::deposit(tenant, 100);
            let made = store.commit(payment.create()).await.expect("created");
            let made = made.into_saved::<quipu_payments::Payment>().expect("a payment");
            body["payment_id"] = json!(made.id().as_str());
        }
        desk.wait_until(time);
        let opened = desk.open(tenant, &body).await;
        desk.wait_until(5_000 + time * 7 % 110);
        let through: &[Status] = match number / 4 % 7 {
            0 => &[],
            1 => &[InProgress],
            2 => &[InProgress, WaitingCustomer],
            3 => &[InProgress, OnHold],
            4 => &[InProgress, Resolved],
            5 => &[InProgress, Resolved, Closed],
            _ => &[Canceled],
        };
        desk.moved(opened.id(), through).await;
        if number % 3 == 0 && number / 4 % 7 < 5 {
            // What was answered last is not what was moved last.
            desk.wait_until(6_000 + time * 13 % 170);
            desk.say(opened.id(), "We look into it", false).await;
        }
        let assignee = ["Ana", "Bo", "Cy"][number % 3].to_owned();
        let outcome =
            desk.office.assign(opened.id(), (number % 8 < 6).then_some(assignee), &staff("Ana")).await;
        all.push(outcome.expect("assigned"));
    }
    all
}

fn summary_of(ticket: &Ticket) -> TicketSummary {
    let (terms, state) = (ticket.terms(), ticket.state());
    TicketSummary {
        id: terms.id.clone(),
        title: terms.title.clone(),
        status: state.status,
        category: terms.category,
        payment_id: terms.payment_id.clone(),
        requires_refund: terms.requires_refund,
        created_at: terms.created_at,
        updated_at: state.updated_at,
        last_activity_at: state.last_activity_at,
    }
}

fn is_in<T: PartialEq>(wanted: &[T], one: &T) -> bool {
    wanted.is_empty() || wanted.contains(one)
}

fn is_wanted(ticket: &Ticket, filter: &TicketFilter) -> bool {
    let terms = ticket.terms();
    let texts = [Some(&terms.title), terms.description.as_ref()];
    let says = |text: &str| texts.iter().flatten().any(|one| fold(one).contains(text));
    is_in(&filter.statuses, &ticket.status())
        && is_in(&filter.categories, &terms.category)
        && filter.search.as_ref().is_none_or(|search| says(search.folded()))
        && filter.payment_id.as_ref().is_none_or(|payment| terms.payment_id.as_ref() == Some(payment))
        && filter.created.contains(terms.created_at)
}

fn in_order(sort: TicketSort, one: &Ticket, other: &Ticket) -> Ordering {
    let key = |ticket: &Ticket| match sort.key {
        SortKey::CreatedAt => ticket.terms().created_at.millis(),
        SortKey::UpdatedAt => ticket.state().updated_at.millis(),
        SortKey::LastActivityAt => ticket.state().last_activity_at.millis(),
        SortKey::Status => ticket.status().rank().into(),
    };
    let ascending = key(one).cmp(&key(other)).then_with(|| one.id().cmp(other.id()));
    match sort.order {
        SortOrder::Ascending => ascending,
        SortOrder::Descending => ascending.reverse(),
    }
}

/// The whole list that a merchant should get.
fn expected(all: &[Ticket], tenant: Tenant, filter: &TicketFilter, sort: TicketSort) -> Vec<TicketSummary> {
    let own = all.iter().filter(|ticket| ticket.terms().tenant == tenant);
    let mut found: Vec<_> = own.filter(|ticket| is_wanted(ticket, filter)).collect();
    found.sort_by(|one, other| in_order(sort, one, other));
    found.into_iter().map(summary_of).collect()
}

fn sorts() -> Vec<TicketSort> {
    SortKey::ALL
        .into_iter()
        .flat_map(|key| [SortOrder::Descending, SortOrder::Ascending].map(|order| TicketSort { key, order }))
        .collect()
}

/// Filters that narrow by everything, alone and together.
fn filters(payment: &PaymentId) -> Vec<TicketFilter> {
    let mut all = vec![TicketFilter { payment_id: Some(payment.clone()), ..TicketFilter::default() }];
    let statuses = [vec![], vec![Status::InProgress], vec![Status::Resolved, Status::Open, Status::Canceled]];
    let categories =
        [vec![], vec![Category::PaymentIssue], vec![Category::Other, Category::Question, Category::Bug]];
    let searches = [None, Some("dónde"), Some("100%_SURE"), Some("%"), Some("whe"), Some("nowhere")];
    let narrow = Period { from: Some(after(50)), to: Some(after(300)) };
    for statuses in &statuses {
        for categories in &categories {
            for search in searches {
                for created in [Period::default(), narrow] {
                    all.push(TicketFilter {
                        statuses: statuses.clone(),
                        categories: categories.clone(),
                        search: search.map(|text| text.parse().expect("a text")),
                        payment_id: None,
                        created,
                    });
                }
            }
        }
    }
    all
}

async fn a_ticket_is_read_as_it_was_written_by_its_tenant_alone(fixture: Fixture) {
    let store = Arc::new(fixture.open().await);
    let all = tickets(&store).await;
    for ticket in &all {
        assert_eq!(store.any_ticket(ticket.id()).await.expect("read").as_ref(), Some(ticket));
        for tenant in tenants() {
            let own = (ticket.terms().tenant == tenant).then_some(ticket);
            assert_eq!(store.ticket(tenant, ticket.id()).await.expect("read").as_ref(), own);
            if let Some(payment) = &ticket.terms().payment_id {
                assert_eq!(store.has_payment(tenant, payment).await.expect("read"), own.is_some());
            }
        }
    }
}

/// Every filter, each with two of the orders: which two changes from filter to filter.
async fn compare(store: &Store, all: &[Ticket], tenant: Tenant) {
    let mut of_one = all.iter().filter(|ticket| ticket.terms().tenant == tenant);
    let payment = of_one.find_map(|ticket| ticket.terms().payment_id.as_ref()).expect("about a payment");
    let (filters, sorts) = (filters(payment), sorts());
    let asked: Vec<_> = (0..).zip(&filters).flat_map(|(n, filter)| [(filter, n), (filter, n + 3)]).collect();
    // All at once, those that wait longest for a connection could be refused.
    for asked in asked.chunks(20) {
        let answers = asked
            .iter()
            .map(|(filter, n)| store.tickets(tenant, filter, sorts[n % sorts.len()], first_page()));
        for (answer, (filter, n)) in join_all(answers).await.into_iter().zip(asked) {
            let sort = sorts[n % sorts.len()];
            let expected = expected(all, tenant, filter, sort);
            let (found, total) = answer.expect("read");
            assert_eq!(total, expected.len() as u64, "{filter:?}");
            assert_eq!(found, expected, "{filter:?} {sort:?}");
        }
    }
}

async fn a_merchant_finds_exactly_what_matches(fixture: Fixture) {
    let store = Arc::new(fixture.open().await);
    let all = tickets(&store).await;
    for tenant in [tenant(1), tenants()[3]] {
        compare(&store, &all, tenant).await;
    }
    for sort in sorts() {
        let expected = expected(&all, tenant(2), &TicketFilter::default(), sort);
        for limit in [1, 7] {
            let mut seen = Vec::new();
            loop {
                let page = Page::new(limit, seen.len() as u64).expect("a page");
                let (found, total) =
                    store.tickets(tenant(2), &TicketFilter::default(), sort, page).await.expect("read");
                assert_eq!(total, expected.len() as u64);
                if found.is_empty() {
                    break;
                }
                seen.extend(found);
            }
            assert_eq!(seen, expected, "{sort:?}");
        }
    }
}

async fn what_was_counted_before_a_change_on_another_node_is_counted_anew(fixture: Fixture) {
    let (store, other) = (Arc::new(fixture.open().await), Arc::new(fixture.open().await));
    let mut all = tickets(&store).await;
    compare(&store, &all, tenant(1)).await;
    let desk = TestDesk::at(&other);
    desk.wait_until(9_000);
    let open = all
        .iter_mut()
        .find(|ticket| ticket.terms().tenant == tenant(1) && ticket.status() == Status::InProgress);
    let open = open.expect("a ticket under way");
    *open = desk.moved(open.id(), &[Status::WaitingCustomer]).await.expect("moved");
    all.push(desk.open(tenant(1), &json!({ "title": "¿Dónde? 100%_sure", "category": "question" })).await);
    compare(&store, &all, tenant(1)).await;
}

fn is_wanted_by_support(ticket: &Ticket, filter: &QueueFilter) -> bool {
    let of_merchants = TicketFilter {
        statuses: filter.statuses.clone(),
        categories: filter.categories.clone(),
        search: None,
        payment_id: filter.payment_id.clone(),
        created: filter.created,
    };
    let tenant = ticket.terms().tenant;
    is_wanted(ticket, &of_merchants)
        && filter.merchant.is_none_or(|merchant| tenant.merchant() == merchant)
        && filter.environment.is_none_or(|environment| tenant.environment() == environment)
        && filter.priority.is_none_or(|priority| ticket.priority() == priority)
        && filter.assignee.as_ref().is_none_or(|one| ticket.state().assignee.as_ref() == Some(one))
}

/// The whole queue that support should get.
fn expected_queue(all: &[Ticket], filter: &QueueFilter) -> Vec<QueueItem> {
    let mut found: Vec<_> = all.iter().filter(|ticket| is_wanted_by_support(ticket, filter)).collect();
    found.sort_by_key(|ticket| {
        (queue_rank(ticket.status(), ticket.priority()), ticket.terms().created_at, ticket.id().clone())
    });
    let item = |ticket: &Ticket| QueueItem {
        tenant: ticket.terms().tenant,
        summary: summary_of(ticket),
        assignee: ticket.state().assignee.clone(),
    };
    found.into_iter().map(item).collect()
}

fn queue_filters(payment: &PaymentId) -> Vec<QueueFilter> {
    let mut all = vec![QueueFilter { payment_id: Some(payment.clone()), ..QueueFilter::default() }];
    let statuses = [vec![], vec![Status::Open, Status::OnHold], vec![Status::Closed, Status::InProgress]];
    let narrow = Period { from: Some(after(50)), to: Some(after(300)) };
    for merchant in [None, Some(MerchantId(1)), Some(MerchantId(9))] {
        for environment in [None, Some(Environment::Live)] {
            for statuses in &statuses {
                for priority in [None, Some(Priority::High), Some(Priority::Normal)] {
                    for (assignee, categories, created) in [
                        (None, vec![], Period::default()),
                        (Some("Bo"), vec![], Period::default()),
                        (None, vec![Category::RefundRequest, Category::Limits], narrow),
                    ] {
                        all.push(QueueFilter {
                            merchant,
                            environment,
                            statuses: statuses.clone(),
                            categories,
                            priority,
                            assignee: assignee.map(str::to_owned),
                            payment_id: None,
                            created,
                        });
                    }
                }
            }
        }
    }
    all
}

async fn support_finds_exactly_what_matches(fixture: Fixture) {
    let store = Arc::new(fixture.open().await);
    let all = tickets(&store).await;
    let payment = all[7].terms().payment_id.clone().expect("about a payment");
    let filters = queue_filters(&payment);
    for filters in filters.chunks(20) {
        let asked = filters.iter().map(|filter| store.queue(filter, first_page()));
        for (answer, filter) in join_all(asked).await.into_iter().zip(filters) {
            let expected = expected_queue(&all, filter);
            let (found, total) = answer.expect("read");
            assert_eq!(total, expected.len() as u64, "{filter:?}");
            assert_eq!(found, expected[..expected.len().min(100)], "{filter:?}");
        }
    }
    let (everything, mut seen) = (expected_queue(&all, &QueueFilter::default()), Vec::new());
    while seen.len() < everything.len() {
        let page = Page::new(17, seen.len() as u64).expect("a page");
        let (found, total) = store.queue(&QueueFilter::default(), page).await.expect("read");
        assert_eq!(total, everything.len() as u64);
        assert!(!found.is_empty(), "the queue ends too soon");
        seen.extend(found);
    }
    assert_eq!(seen, everything);
}
