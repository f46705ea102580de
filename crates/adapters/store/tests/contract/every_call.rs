//! One call of every kind, to see which are answered while the database is not.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt as _, future::BoxFuture, future::join_all};
use quipu_commit::{Aggregate, Changes, Commit as _, Queue, Save, Tally, UsedKeys as _, WorkQueue};
use quipu_kernel::{EventId, IdSource, MerchantId, Page, Period, SystemClock};
use quipu_ledger::LedgerReads as _;
use quipu_merchants::{
    AuditFilter, CallerBook as _, DirectoryError, MerchantChange, MerchantFilter, Merchants as _,
    Routing as _, Staff as _,
};
use quipu_payments::{CrossTenantReads as _, PaymentFilter, PaymentReads as _, ReceiptFilter, SearchFilter};
use quipu_store::Store;
use quipu_tickets::{
    Desk, QueueFilter, SupportReads as _, TicketDraft, TicketFilter, TicketId, TicketReads as _, TicketSort,
};
use quipu_webhooks::{
    DeliveryLog as _, DeliveryQueue, Endpoint, EndpointChange, EndpointError, EndpointId, Endpoints as _,
    LogFilter, RetrySelection, Source, TargetUrl, Wanted,
};
use tokio::time::timeout;

use crate::{
    directory::{audit, key, merchant},
    sample::{MXN, Random, START, Sample, funding, tenant, unique},
};

/// Longer than any call may take.
pub(crate) const ANSWERED: Duration = Duration::from_secs(15);

/// A call by name, and whether the database did it or refused it.
type Ask<'a> = (&'static str, BoxFuture<'a, bool>);

/// Asks, where anything but a success is a failure of the database.
macro_rules! ask {
    ($name:literal, $call:expr) => {
        ($name, async move { $call.await.is_ok() }.boxed())
    };
    ($name:literal, $error:ident, $call:expr) => {
        ($name, async move { !matches!($call.await, Err($error::Store(_))) }.boxed())
    };
}

/// What merchants and workers ask of payments and money.
fn payments(store: &Store) -> Vec<Ask<'_>> {
    let (one, page) = (tenant(1), Page::default());
    let stranger = Sample::withdrawal(one, 10).payment();
    let mut all: Vec<Ask<'_>> = [1, 2, 3]
        .map(|merchant| {
            let change = Sample::deposit(tenant(merchant), 10).create();
            ask!("a creation", store.commit(change))
        })
        .into();
    all.extend([
        ask!("an adjustment", store.commit(funding(one, 1))),
        ask!("a balance", store.balance(one, MXN)),
        ask!("balances", store.balances(one)),
        ask!("a payment", async move { store.payment(one, stranger.id()).await }),
        ask!("payments", async move { store.payments(one, &PaymentFilter::default(), page).await }),
        ask!("a search", async move { store.search_payments(&SearchFilter::default(), page).await }),
        ask!("receipts", async move { store.receipts(&ReceiptFilter::default(), page).await }),
        ask!("due work", WorkQueue::claim(store, Queue::SETTLEMENT, START, Duration::from_secs(1), 1)),
        ask!("the next work", WorkQueue::next_due(store, Queue::SETTLEMENT)),
        ask!("queues", store.queues(START)),
        ask!("expired keys", store.delete_expired(START, 1)),
        ask!("a heartbeat", store.beat()),
        ask!("the clock", async move { store.clock_ahead(&(Arc::new(SystemClock) as _)).await }),
        ask!("work of dead nodes", store.release_dead()),
        ask!("the check", store.check()),
        ask!("a ping", store.ping()),
    ]);
    all
}

/// Who calls, what staff changes, and what they list. Whoever calls is not remembered.
fn people(store: &Store) -> Vec<Ask<'_>> {
    let (page, ever) = (Page::default(), Period::default());
    let stranger = MerchantId(9_000);
    let change = || MerchantChange { before: merchant(1), after: merchant(1) };
    vec![
        ask!("a key", async move { store.api_key_by_hash(&unique("hash")).await }),
        ask!("a token's key", async move { store.api_key_by_id(&unique("key")).await }),
        ask!("a token's credential", async move { store.credential_by_id(&unique("credential")).await }),
        ask!("a member of staff", async move { store.operator_by_hash(&unique("token")).await }),
        ask!("the use of a key", store.note_api_keys_used(vec![(unique("key"), START)])),
        ask!("beneficiaries", store.beneficiaries(stranger, ever, page)),
        ask!("a merchant", store.merchant(stranger)),
        ask!("merchants", store.merchants(MerchantFilter::default(), page)),
        ask!("keys", store.api_keys(stranger)),
        ask!("staff", store.operators(ever, page)),
        ask!("the audit log", store.audit_log(AuditFilter::default(), page)),
        ask!("a new key", DirectoryError, store.add_api_key(key("k", 9_000), audit("api_key.create"))),
        ask!("a change", DirectoryError, store.update_merchant(change(), audit("merchant.update"))),
        ask!(
            "new routes",
            DirectoryError,
            store.replace_routes(stranger, Vec::new(), audit("routes.replace"))
        ),
    ]
}

/// A new ticket.
fn opening() -> Changes {
    let draft = TicketDraft::parse(&serde_json::json!({ "title": "Where is it?" })).expect("a draft");
    let desk = Desk { at: START, entropy: &Random, comment_ids: &IdSource::default() };
    let ticket = desk.open(tenant(1), draft).ticket;
    let mut changes = Changes::new(tenant(1), START);
    let keys = [ticket.status().as_str(), ticket.terms().category.as_str(), "", ""].map(Into::into);
    changes.tallies.push(Tally { name: "tickets".into(), keys, by: 1 });
    changes.saves.push(Save {
        aggregate: Aggregate::TICKET,
        id: ticket.id().as_str().to_owned(),
        from: None,
        to: ticket.state().version,
        record: Box::new(ticket),
    });
    changes
}

fn tickets(store: &Store) -> Vec<Ask<'_>> {
    let (one, page, ever) = (tenant(1), Page::default(), Period::default());
    let id = || TicketId::new(START, &Random);
    vec![
        ask!("a new ticket", store.commit(opening())),
        ask!("a ticket", async move { store.ticket(one, &id()).await }),
        ask!("any ticket", async move { store.any_ticket(&id()).await }),
        ask!("tickets", async move {
            store.tickets(one, &TicketFilter::default(), TicketSort::default(), page).await
        }),
        ask!("comments", async move { store.comments(one, &id(), page).await }),
        ask!("the queue", async move { store.queue(&QueueFilter::default(), page).await }),
        ask!("a conversation", async move { store.conversation(one, &id(), ever, page).await }),
    ]
}

fn webhooks(store: &Store) -> Vec<Ask<'_>> {
    let (one, page, ever) = (tenant(1), Page::default(), Period::default());
    let id = || EndpointId::new(START, &Random);
    let url = TargetUrl::restore("https://shop.example".to_owned());
    let endpoint = Endpoint::named(id(), tenant(9_000), url, Vec::new(), START);
    let wanted = Wanted { tenant: one, endpoint: id(), most: 1, bytes: 1 };
    let nothing = RetrySelection { events: Some(vec![EventId::restore(unique("evt"))]), created: ever };
    vec![
        ask!("a new endpoint", EndpointError, store.add(endpoint, None)),
        ask!("an endpoint", async move { store.endpoint(one, &id()).await }),
        ask!("endpoints", store.endpoints(one, Source::Admin, ever, page)),
        ask!("another endpoint", EndpointError, async move {
            store.change(one, &id(), EndpointChange::Disable, START).await
        }),
        ask!("no endpoint", EndpointError, async move { store.remove(one, &id(), START).await }),
        ask!("the log", async move { store.logged(one, &id(), LogFilter::default(), page).await }),
        ask!("a retry", async move { store.retry(one, &id(), nothing, START).await }),
        ask!("who is owed", store.waiting(START, None)),
        ask!("what is due", store.due(START)),
        ask!("deliveries", DeliveryQueue::claim(store, START, vec![wanted])),
        ask!("endpoints as they are", store.endpoints_now(vec![id()])),
        ask!("the next delivery", DeliveryQueue::next_due(store, START)),
        ask!("the backlog", store.backlog()),
        ask!("what is old", store.prune(START, Duration::ZERO, 1)),
    ]
}

/// Asks for one thing of every kind; each must be answered in time. Which could be done, and which not.
pub(crate) async fn ask_everything(store: &Store) -> (Vec<&'static str>, Vec<&'static str>) {
    let all = payments(store).into_iter().chain(people(store)).chain(tickets(store)).chain(webhooks(store));
    let (names, asking): (Vec<_>, Vec<_>) = all.unzip();
    let answering = names.iter().zip(asking).map(async |(name, asking)| {
        let answer = timeout(ANSWERED, asking).await;
        answer.unwrap_or_else(|_| panic!("{name}: not answered in time"))
    });
    let answers = join_all(answering).await;
    let (done, failed): (Vec<_>, Vec<_>) = names.into_iter().zip(answers).partition(|(_, done)| *done);
    let names = |asked: Vec<(&'static str, bool)>| asked.into_iter().map(|(name, _)| name).collect();
    (names(done), names(failed))
}
