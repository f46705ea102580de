//! Connections to a server, and the sessions they begin with.

use std::time::Duration;

use diesel::ConnectionError;
use diesel_async::{
    AsyncConnection as _, AsyncPgConnection, SimpleAsyncConnection as _,
    pooled_connection::{
        AsyncDieselConnectionManager, ManagerConfig, PoolError, RecyclingMethod,
        deadpool::{Hook, HookError, Pool},
    },
};
use futures_util::FutureExt as _;

use crate::{error::OpenError, lease::Origin};

/// A commit is on disk when it returns, and nothing waits forever.
const SESSION: &str = "SET synchronous_commit = on; SET lock_timeout = '10s';
    SET idle_in_transaction_session_timeout = '30s'; SET client_min_messages = warning;";

/// How long a server may take to let a connection in. Everybody who has a change waits for as long.
const PATIENCE: Duration = Duration::from_secs(5);

/// Statements that find rows by their keys and by nothing else: an index is always right, and a plan is made once and
/// not for every call.
const KEYS: &str = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
    SET plan_cache_mode = force_generic_plan; SET jit = off;";

/// Without statistics the planner takes every index that begins with merchant and environment for as good as the right
/// one, and reads through a merchant's whole history to find one row. The server analyses a table by itself only after
/// a minute or so; until then this does.
const ANALYSE_WHILE_YOUNG: &str = "DO $$
    BEGIN
        IF (SELECT reltuples < 10000 FROM pg_class WHERE oid = to_regclass('payments')) THEN
            ANALYZE (SKIP_LOCKED) payments, customers, kept_answers, nonces;
        END IF;
    END $$";

/// A pool for lanes and look-ups.
pub(crate) fn for_keys(url: &str, size: usize) -> Result<Origin, OpenError> {
    pool(url, size, format!("{SESSION} {KEYS}"))
}

/// A pool for every other query.
pub(crate) fn for_queries(url: &str, size: usize) -> Result<Origin, OpenError> {
    pool(url, size, SESSION.to_owned())
}

fn pool(url: &str, size: usize, session: String) -> Result<Origin, OpenError> {
    let mut config = ManagerConfig::<AsyncPgConnection>::default();
    config.recycling_method = RecyclingMethod::Fast;
    config.custom_setup = Box::new(move |url| {
        let (url, session) = (url.to_owned(), session.clone());
        async move {
            let connect = async {
                let mut conn = AsyncPgConnection::establish(&url).await?;
                conn.batch_execute(&session).await.map_err(ConnectionError::CouldntSetupConfiguration)?;
                Ok(conn)
            };
            let slow = |_| ConnectionError::BadConnection("the server does not answer".to_owned());
            tokio::time::timeout(PATIENCE, connect).await.map_err(slow)?
        }
        .boxed()
    });
    let manager = AsyncDieselConnectionManager::new_with_config(url, config);
    let look_after = Hook::async_fn(|conn: &mut AsyncPgConnection, metrics| {
        async move {
            // After 1, 2, 4, 8, … uses: often while everything is new, and hardly ever later.
            if !metrics.recycle_count.is_power_of_two() {
                return Ok(());
            }
            let analysed = conn.batch_execute(ANALYSE_WHILE_YOUNG).await;
            analysed.map_err(|error| HookError::Backend(PoolError::QueryError(error)))
        }
        .boxed()
    });
    let pool = Pool::builder(manager).max_size(size).post_recycle(look_after).build();
    Ok(Origin::Postgres(pool.map_err(|error| OpenError::Unreachable(error.to_string()))?))
}
