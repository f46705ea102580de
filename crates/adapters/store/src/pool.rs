//! Connections to a server, and the sessions they begin with.

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

/// Statements that find rows by their keys and by nothing else: an index is always right, and a plan is made once and
/// not for every call.
const KEYS: &str = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
    SET plan_cache_mode = force_generic_plan; SET jit = off;";

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
            let mut conn = AsyncPgConnection::establish(&url).await?;
            conn.batch_execute(&session).await.map_err(ConnectionError::CouldntSetupConfiguration)?;
            Ok(conn)
        }
        .boxed()
    });
    let manager = AsyncDieselConnectionManager::new_with_config(url, config);
    let replan = Hook::async_fn(|conn: &mut AsyncPgConnection, metrics| {
        async move {
            if !plans_are_old(metrics.recycle_count) {
                return Ok(());
            }
            let forgotten = conn.batch_execute("DISCARD PLANS").await;
            forgotten.map_err(|error| HookError::Backend(PoolError::QueryError(error)))
        }
        .boxed()
    });
    let pool = Pool::builder(manager).max_size(size).post_recycle(replan).build();
    Ok(Origin::Postgres(pool.map_err(|error| OpenError::Unreachable(error.to_string()))?))
}

/// A plan made while a table was small may use the wrong index, all of which looked alike then, and would be kept
/// however much the table grows. So plans are made anew after 1, 2, 4, 8, … uses, and then every 256.
const fn plans_are_old(uses: usize) -> bool {
    uses.is_power_of_two() || uses.is_multiple_of(256)
}
