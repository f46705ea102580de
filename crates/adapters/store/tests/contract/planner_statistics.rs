//! Young tables of a server, of which the planner is told before the server looks at them by itself.

use diesel_async::{AsyncConnection as _, AsyncPgConnection, RunQueryDsl as _};
use quipu_payments::PaymentReads as _;
use quipu_store::Store;

use crate::{
    fixture::{Engine, Fixture, run},
    sample::{Sample, tenant},
};

#[derive(diesel::QueryableByName, Debug, PartialEq, Eq)]
struct Known {
    /// How often a session has analysed the table.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    analyses: i64,
    /// How many rows the planner takes it to have.
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    rows: i64,
}

async fn known(fixture: &Fixture) -> Known {
    let mut conn = AsyncPgConnection::establish(&fixture.url).await.expect("the database answers");
    let query = "SELECT pg_stat_get_analyze_count(oid) AS analyses, CAST(reltuples AS BIGINT) AS rows
        FROM pg_class WHERE oid = to_regclass('customers')";
    diesel::sql_query(query).get_result(&mut conn).await.expect("a table")
}

/// So many look-ups by key, one after the other, that each session looks after its tables at least once more.
async fn look_up(store: &Store, times: usize) {
    let nowhere = Sample::deposit(tenant(1), 5).payment();
    for _ in 0..times {
        store.payment(tenant(1), nowhere.id()).await.expect("read");
    }
}

#[test]
fn a_young_table_is_analysed_when_its_file_has_grown_and_not_otherwise() {
    run(Engine::Postgres, async |fixture| {
        // The server's own analyses come when they like.
        fixture.sql("ALTER TABLE customers SET (autovacuum_enabled = false)").await.expect("altered");
        let store = fixture.open().await;
        look_up(&store, 32).await;
        let empty = known(&fixture).await;
        assert_eq!(empty.rows, 0);
        look_up(&store, 64).await;
        assert_eq!(known(&fixture).await, empty);
        let insert = "INSERT INTO customers (merchant_id, environment, id, email, email_key, created_at)
            SELECT 1, 'test', n, n || '@example.com', n || '@example.com', 0 FROM generate_series(1, 500) n";
        fixture.sql(insert).await.expect("inserted");
        look_up(&store, 128).await;
        let grown = known(&fixture).await;
        assert_eq!(grown, Known { analyses: empty.analyses + 1, rows: 500 });
    });
}
