//! Statements on their way to a server, followed by the `COMMIT`.
//!
//! The `COMMIT` is sent without waiting for the answers of the statements before it. If a statement fails,
//! the server rolls back; if one could not be sent, nothing is committed.

use std::{future::poll_fn, task::Poll};

use diesel::{
    QueryResult,
    pg::Pg,
    query_builder::{QueryFragment, QueryId},
    result::{DatabaseErrorKind, Error},
};
use diesel_async::{AsyncPgConnection, RunQueryDsl as _};
use futures_util::future::BoxFuture;

use crate::{error::Fault, statement::statement, transaction::Unfinished};

statement! {
    /// `COMMIT` as a prepared statement. It is sent after the statements that were asked for before it, since
    /// each waits until the one before is prepared. A simple query would overtake them.
    Commit on Pg { ; "COMMIT" }
}

/// A statement to be sent. It is sent when it is first polled.
pub(crate) type Writing<'c> = BoxFuture<'c, Result<(), Unfinished>>;

/// Sends a statement.
pub(crate) fn executed<'c, S>(conn: &'c AsyncPgConnection, statement: S) -> Writing<'c>
where
    S: QueryFragment<Pg> + QueryId + Send + 'c,
{
    written(Box::pin(async move { statement.execute(&mut &*conn).await.map(drop) }))
}

pub(crate) fn written(writing: BoxFuture<'_, QueryResult<()>>) -> Writing<'_> {
    Box::pin(async move { writing.await.map_err(|error| Unfinished::at_statement(overtaken(error))) })
}

/// Sends a `COMMIT`.
pub(crate) fn committed(conn: &AsyncPgConnection) -> Writing<'_> {
    Box::pin(async move { Commit.execute(&mut &*conn).await.map(drop).map_err(Unfinished::at_commit) })
}

/// Turns the errors of a lost race into a fault. If another node has just used a nonce or key, the row would
/// have no time of expiry. If another node has just changed a row, fewer rows have the expected revision than
/// were to be written.
pub(crate) fn overtaken(error: Error) -> Fault {
    match error {
        Error::DatabaseError(DatabaseErrorKind::CheckViolation, said)
            if said.constraint_name() == Some("cardinal_number_domain_check") =>
        {
            Fault::Moved
        }
        Error::DatabaseError(DatabaseErrorKind::NotNullViolation, said)
            if matches!(said.table_name(), None | Some("nonces" | "kept_answers")) =>
        {
            Fault::Overtaken
        }
        other => other.into(),
    }
}

/// Drives all futures, each first polled after the ones before it, until one fails. The futures after a
/// failed one are not polled any more: a statement that was not sent by then is never sent.
pub(crate) async fn in_order_unless_one_fails<E>(
    futures: Vec<BoxFuture<'_, Result<(), E>>>,
) -> Result<(), E> {
    let mut running: Vec<_> = futures.into_iter().map(Some).collect();
    poll_fn(|context| {
        let mut is_waiting = false;
        for place in &mut running {
            let Some(future) = place else { continue };
            match future.as_mut().poll(context) {
                Poll::Ready(Ok(())) => *place = None,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => is_waiting = true,
            }
        }
        if is_waiting { Poll::Pending } else { Poll::Ready(Ok(())) }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    type Said = Mutex<Vec<&'static str>>;

    /// Notes when it is polled, and waits for a number of polls before it ends.
    fn step<'c>(
        said: &'c Said,
        name: &'static str,
        waits: usize,
        outcome: Result<(), &'static str>,
    ) -> BoxFuture<'c, Result<(), &'static str>> {
        Box::pin(async move {
            for _ in 0..waits {
                said.lock().expect("no panic").push(name);
                tokio::task::yield_now().await;
            }
            said.lock().expect("no panic").push(name);
            outcome
        })
    }

    #[tokio::test]
    async fn each_is_begun_behind_the_one_before_without_waiting_for_it() {
        let said = Said::default();
        let all =
            vec![step(&said, "a", 1, Ok(())), step(&said, "b", 0, Ok(())), step(&said, "last", 2, Ok(()))];
        assert_eq!(in_order_unless_one_fails(all).await, Ok(()));
        assert_eq!(*said.lock().expect("no panic"), ["a", "b", "last", "a", "last", "last"]);
    }

    #[tokio::test]
    async fn nothing_behind_a_failure_is_polled() {
        let said = Said::default();
        let all =
            vec![step(&said, "a", 1, Ok(())), step(&said, "b", 0, Err("b")), step(&said, "last", 0, Ok(()))];
        assert_eq!(in_order_unless_one_fails(all).await, Err("b"));
        assert_eq!(*said.lock().expect("no panic"), ["a", "b"]);
        said.lock().expect("no panic").clear();
        let all =
            vec![step(&said, "a", 1, Err("a")), step(&said, "b", 0, Ok(())), step(&said, "last", 1, Ok(()))];
        assert_eq!(in_order_unless_one_fails(all).await, Err("a"));
        assert_eq!(*said.lock().expect("no panic"), ["a", "b", "last", "a"]);
    }
}
