//! Lists have connections of their own on a server, so that nothing else waits behind a long one.

use diesel_async::{AsyncConnection as _, AsyncPgConnection, SimpleAsyncConnection as _};
use futures_util::future::BoxFuture;
use quipu_commit::WorkQueue as _;
use quipu_kernel::{Page, Period, StoreError};
use quipu_merchants::Staff as _;
use quipu_payments::{CrossTenantReads as _, ReceiptFilter, SearchFilter};
use quipu_store::{Store, StoreSettings};
use quipu_tickets::{QueueFilter, SupportReads as _, TicketFilter, TicketId, TicketReads as _, TicketSort};
use quipu_webhooks::{DeliveryLog as _, EndpointId, Endpoints as _, LogFilter, Source};

use crate::{
    fixture::{self, Engine, Fixture, until},
    sample::{Random, START, tenant},
};

/// A list, and the table that it reads.
type List<'a> = (&'static str, BoxFuture<'a, Result<(), StoreError>>);

/// Begins to read a list, without what it finds.
macro_rules! list {
    ($table:literal, $read:expr) => {
        ($table, Box::pin(async move { $read.await.map(drop) }))
    };
}

fn lists(store: &Store) -> Vec<List<'_>> {
    let (tenant, page, ever) = (tenant(1), Page::default(), Period::default());
    let (ticket, endpoint) = (|| TicketId::new(START, &Random), || EndpointId::new(START, &Random));
    let log = LogFilter { status: None, created: ever };
    vec![
        list!("tickets", store.tickets(tenant, &TicketFilter::default(), TicketSort::default(), page)),
        list!("ticket_comments", store.comments(tenant, &ticket(), page)),
        list!("tickets", store.queue(&QueueFilter::default(), page)),
        list!("ticket_notes", store.conversation(tenant, &ticket(), ever, page)),
        list!("payments", store.search_payments(&SearchFilter::default(), page)),
        list!("receipts", store.receipts(&ReceiptFilter::default(), page)),
        list!("webhook_endpoints", store.endpoints(tenant, Source::Admin, ever, page)),
        list!("counters", store.logged(tenant, &endpoint(), log, page)),
        list!("operators", store.operators(ever, page)),
    ]
}

#[test]
fn a_node_beats_while_a_list_is_read() {
    fixture::run(Engine::Postgres, |fixture: Fixture| async move {
        let settings = StoreSettings { readers: 1, ..StoreSettings::new(&fixture.url) };
        let store = Store::open(settings, fixture::handle()).await.expect("the store opens");
        // A division by zero as long as nobody waits.
        let one_waits = "SELECT 1 / COUNT(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
            WHERE NOT granted AND datname = current_database()";
        let mut session = AsyncPgConnection::establish(&fixture.url).await.expect("a session");
        for (table, list) in lists(&store) {
            let lock = format!("BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE");
            session.batch_execute(&lock).await.expect("locked");
            let beat = async {
                until(async || fixture.sql(one_waits).await.is_ok()).await;
                store.beat().await.expect("beaten");
            };
            tokio::select! {
                () = beat => {}
                read = list => panic!("nothing beat until the list of {table} was read: {read:?}"),
            }
            session.batch_execute("ROLLBACK").await.expect("unlocked");
        }
    });
}
