//! Reads from a server, on tasks of the runtime that the store was given.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::{Instant, sleep_until},
};

use crate::{
    commit::aside::Connections,
    connection::Connection,
    error::{Fault, OpenError, Trouble},
    postgres::{
        health::Health,
        lock_turns::{LockTurns, Patience, Turns, TurnsOfWrite, Waiter},
        pool::{Pool, Purpose},
        session::{self, Address},
    },
    query::{Query, Reading},
    settings::StoreSettings,
    transaction::{
        custody::{Custody, Origin},
        in_custody, in_transaction,
        job_state::JobState,
    },
};

/// The most waiting queries of a kind.
const QUEUE: usize = 4096;
/// The most look-ups by key at a time.
const BATCHED_READS: usize = 4;
/// The most merchants whose changes wait for locks at a time, and the most that look whether theirs is gone.
const ASIDES: (usize, usize) = (5, 1);
/// One check at a time: it reads whole tables, and a second one would find the same.
const CHECKS: usize = 1;

/// The connections to a server, by purpose, so that a long query delays no short one.
pub(crate) struct Server {
    /// One pool for each lane, so that a connection stays on the thread that made it.
    pub(crate) lanes: Vec<Origin>,
    pub(crate) asides: Connections,
    batched: Origin,
    short: Kind,
    payments: Kind,
    pages: Kind,
    whole: Kind,
    seals: Kind,
    turns: LockTurns,
    address: Address,
    runtime: Handle,
}

/// The connections for a kind of queries, and the places of those that wait or run.
struct Kind {
    origin: Origin,
    places: Arc<Semaphore>,
}

impl Kind {
    fn over(origin: Origin) -> Self {
        Self { origin, places: Arc::new(Semaphore::new(QUEUE)) }
    }

    /// A place for a query, and the connections that it uses; refused if too many wait.
    fn admit(&self) -> Result<(OwnedSemaphorePermit, Origin), Fault> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| Fault::Overloaded)?;
        Ok((place, self.origin.clone()))
    }
}

impl Server {
    /// The first use of each connection makes it; nothing is connected here.
    pub(crate) fn new(settings: &StoreSettings, runtime: &Handle) -> Result<Self, OpenError> {
        let health = Arc::new(Health::default());
        let pool = |purpose, size| -> Result<Origin, OpenError> {
            Ok(Origin::Postgres(Pool::new(settings, &health, purpose, size)?))
        };
        Ok(Self {
            lanes: (0..settings.lanes.max(1)).map(|_| pool(Purpose::Lanes, 1)).collect::<Result<_, _>>()?,
            asides: Connections {
                full: pool(Purpose::Asides, ASIDES.0)?,
                brief: pool(Purpose::Lanes, ASIDES.1)?,
                turns: Turns::new(ASIDES.0, ASIDES.1),
            },
            batched: pool(Purpose::BatchedReads, BATCHED_READS)?,
            short: Kind::over(pool(Purpose::Queries, settings.readers.max(1))?),
            payments: Kind::over(pool(Purpose::Payments, (settings.readers / 2).max(1))?),
            pages: Kind::over(pool(Purpose::Lists, (settings.readers / 2).max(1))?),
            whole: Kind::over(pool(Purpose::Checks, CHECKS)?),
            seals: Kind::over(pool(Purpose::Checks, 1)?),
            turns: LockTurns::over(settings.readers),
            address: session::configured(&settings.url, settings.times().connect, settings.call)
                .map_err(|fault| OpenError::Unreachable(fault.to_string()))?,
            runtime: runtime.clone(),
        })
    }

    /// The address to listen on for the hints of other nodes.
    pub(crate) fn listening(&self) -> Address {
        self.address.clone()
    }

    /// The connections for sending hints.
    pub(crate) const fn hints(&self) -> &Origin {
        &self.short.origin
    }

    /// Has a query run, unless too many wait. It is stopped when its time is over, and a long one as soon as
    /// its caller has gone away.
    pub(crate) fn ask<T, E>(
        &self,
        reading: Reading,
        query: impl Query<T, E>,
        reply: oneshot::Sender<Result<T, E>>,
        deadline: Option<Instant>,
    ) -> Result<(), Fault>
    where
        T: Send + 'static,
        E: From<Fault> + Trouble + Send + 'static,
    {
        let kind = match reading {
            Reading::Short => &self.short,
            Reading::Payments => &self.payments,
            Reading::Page => &self.pages,
            Reading::Whole => &self.whole,
            Reading::Seals => &self.seals,
        };
        let (place, origin) = kind.admit()?;
        self.spawn(Box::pin(async move {
            let _place = place;
            run(origin, reading, query, reply, deadline).await;
        }));
        Ok(())
    }

    /// Has a writing query run, unless too many wait. It does not begin if its caller has gone away by then. One that may
    /// find rows locked waits for them only in its turn.
    pub(crate) fn write<T, E>(
        &self,
        query: impl Query<T, E> + Clone,
        waiter: Option<Waiter>,
        job_state: Arc<JobState>,
        reply: oneshot::Sender<Result<T, E>>,
    ) -> Result<(), Fault>
    where
        T: Send + 'static,
        E: From<Fault> + Trouble + Send + 'static,
    {
        let (place, origin) = self.short.admit()?;
        let turns = waiter.map(|waiter| self.turns.of(waiter));
        self.spawn(Box::pin(async move {
            let _place = place;
            let outcome = match turns {
                Some(turns) => in_turn(turns, query, &origin, &job_state, &reply).await,
                None if reply.is_closed() => None,
                None => Some(once(query, Patience::Full, &origin, &job_state).await),
            };
            if let Some(outcome) = outcome {
                let _gone = reply.send(outcome);
            }
        }));
        Ok(())
    }

    /// Has a look-up by keys run once there is one of `places` for it. It answers its callers and keeps its
    /// time itself.
    pub(crate) fn start(&self, places: &Arc<Semaphore>, query: impl Query<(), Fault>) {
        let (origin, places) = (self.batched.clone(), Arc::clone(places));
        self.spawn(Box::pin(async move {
            let _place = places.acquire_owned().await;
            let _told = in_custody(&mut Custody::none(), &origin, query).await;
        }));
    }

    /// Runs work on a task. All work has the same type, since a task type for each of sixty kinds of query
    /// takes long to compile.
    fn spawn(&self, work: BoxFuture<'static, ()>) {
        self.runtime.spawn(work);
    }
}

/// Runs a writing query when its turn comes, and again in a later turn if rows were locked; `None` if its caller has gone
/// away by then.
async fn in_turn<T, E>(
    turns: TurnsOfWrite,
    query: impl Query<T, E> + Clone,
    origin: &Origin,
    job_state: &JobState,
    reply: &oneshot::Sender<Result<T, E>>,
) -> Option<Result<T, E>>
where
    E: From<Fault> + Trouble,
{
    let _own = match &turns.own {
        Some(own) => own.acquire().await.ok(),
        None => None,
    };
    let mut met_a_lock = false;
    loop {
        let (patience, _turn) = turns.tries.next(met_a_lock).await;
        if reply.is_closed() {
            return None;
        }
        let outcome = once(query.clone(), patience, origin, job_state).await;
        met_a_lock = matches!(&outcome, Err(error) if error.fault().is_some_and(Fault::is_blocked));
        if patience == Patience::Full || !met_a_lock {
            return Some(outcome);
        }
        job_state.wait_again();
    }
}

async fn once<T, E>(
    query: impl Query<T, E>,
    patience: Patience,
    origin: &Origin,
    job_state: &JobState,
) -> Result<T, E>
where
    E: From<Fault> + Trouble,
{
    in_transaction(&mut Custody::none(), origin, job_state, patience, query).await
}

async fn run<T, E>(
    origin: Origin,
    reading: Reading,
    query: impl Query<T, E>,
    mut reply: oneshot::Sender<Result<T, E>>,
    deadline: Option<Instant>,
) where
    E: From<Fault> + Trouble,
{
    let mut custody = Custody::none();
    let conn = tokio::select! {
        conn = custody.connection(&origin) => conn,
        () = unwanted(reading, &mut reply, deadline) => return,
    };
    let conn = match conn {
        Ok(conn) => conn,
        Err(fault) => {
            let _gone = reply.send(Err(fault.into()));
            return;
        }
    };
    let stopper = match &*conn {
        Connection::Postgres(session) => Some(session.stopper()),
        Connection::Sqlite(_) => None,
    };
    let outcome = tokio::select! {
        outcome = query(conn) => Some(outcome),
        () = unwanted(reading, &mut reply, deadline) => None,
    };
    let Some(outcome) = outcome else {
        let in_time = deadline.is_none_or(|deadline| Instant::now() < deadline);
        custody.discard(if in_time { &Fault::Abandoned } else { &Fault::Silent });
        if let Some(stopper) = stopper {
            stopper.stop().await;
        }
        return;
    };
    match &outcome {
        Ok(_) => custody.done(),
        Err(error) => custody.undo(error.fault()).await,
    }
    let _gone = reply.send(outcome);
}

/// Completes when the query is to be stopped. A short query is not stopped before its time is over, since it
/// will soon be finished.
async fn unwanted<T>(reading: Reading, reply: &mut oneshot::Sender<T>, deadline: Option<Instant>) {
    let over = async {
        match deadline {
            Some(deadline) => sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = reply.closed(), if reading != Reading::Short => {}
        () = over => {}
    }
}
