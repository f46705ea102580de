//! The engine, which runs all database work: on threads of the store's own (SQLite, and the lanes of
//! PostgreSQL) or on tasks of the runtime that it was given, never in the caller's future. A caller that goes
//! away cancels no change; on a server a long query is stopped once nobody waits for it.

pub(crate) mod other_processes;
mod readers;
mod server;

use std::{hash::BuildHasher as _, sync::Arc, time::Duration};

use quipu_commit::CallWaits;
use quipu_kernel::{MerchantId, StoreError};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, oneshot},
    time::{timeout, timeout_at},
};

use self::{readers::Readers, server::Server};
use crate::{
    call_wait::CallWait,
    commit::{
        aside::Asides,
        lane::{self, Answering, Lane, LoneWrite, Work},
        small_writes::{SmallWrite, Tried},
    },
    connection::{Connection, execute},
    error::{Fault, OpenError, Trouble, file_trouble::FileTrouble},
    hub::Hub,
    postgres::lock_turns::{Patience, Waiter},
    query::{Query, Reading},
    settings::{StoreSettings, Times},
    sqlite::{checkpoint, file::DatabaseFile},
    transaction::{custody::Origin, in_transaction, job_state::JobState},
};

/// How often the database is pinged while it works on a long query.
const LOOK: Duration = Duration::from_secs(2);

/// The workers of one database.
pub(crate) struct Engine {
    kind: Kind,
    times: Times,
}

enum Kind {
    /// One thread that writes, and some that read.
    Sqlite { writer: Lane, readers: Readers, file: Arc<DatabaseFile> },
    /// A few lanes that commit, and tasks for everything else, as many at once as there are connections.
    Postgres { lanes: Vec<Lane>, server: Box<Server> },
}

impl Engine {
    /// Starts the threads of an embedded database.
    pub(crate) fn sqlite(
        settings: &StoreSettings,
        path: &str,
        hub: &Arc<Hub>,
        runtime: &Handle,
    ) -> Result<Self, OpenError> {
        let times = settings.times();
        let unopened = |error: &dyn std::fmt::Display| OpenError::Unreachable(error.to_string());
        let file = Arc::new(DatabaseFile::open(path).map_err(|fault| unopened(&fault))?);
        let origin = Origin::Sqlite(Arc::clone(&file), times);
        let (writer, changes) = Lane::new();
        let after_turn = checkpoint::start(Arc::clone(&file)).map_err(|error| unopened(&error))?;
        let asides = Asides::new(None, Arc::clone(hub));
        let lane = lane::serve(changes, origin.clone(), Answering::new(hub, runtime), asides, after_turn);
        let handle = runtime.clone();
        let name = "quipu-store-writer".to_owned();
        let writing = std::thread::Builder::new().name(name).spawn(move || handle.block_on(lane));
        writing.map_err(|error| unopened(&error))?;
        let readers = Readers::new(settings, &origin).map_err(|error| unopened(&error))?;
        Ok(Self { kind: Kind::Sqlite { writer, readers, file }, times })
    }

    /// Starts the lanes to a server. Each has a thread and a runtime of its own, which carries its connection
    /// too: among several threads a batch would move to another one with every message, and each move costs a
    /// wake-up.
    pub(crate) fn postgres(
        settings: &StoreSettings,
        hub: &Arc<Hub>,
        runtime: &Handle,
    ) -> Result<Self, OpenError> {
        let server = Box::new(Server::new(settings, runtime)?);
        hub.join_others(server.listening(), server.hints().clone(), runtime);
        let start = |origin: &Origin| {
            let (lane, changes) = Lane::new();
            let asides = Asides::new(Some((server.asides.clone(), runtime.clone())), Arc::clone(hub));
            let serving = lane::serve(changes, origin.clone(), Answering::new(hub, runtime), asides, || {});
            let own = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let name = "quipu-store-lane".to_owned();
            std::thread::Builder::new().name(name).spawn(move || own.block_on(serving))?;
            Ok(lane)
        };
        let lanes = server.lanes.iter().map(start).collect::<std::io::Result<_>>();
        let lanes = lanes.map_err(|error| OpenError::Unreachable(error.to_string()))?;
        Ok(Self { kind: Kind::Postgres { lanes, server }, times: settings.times() })
    }

    /// The limits of time.
    pub(crate) const fn times(&self) -> Times {
        self.times
    }

    /// How many changes wait for the next transaction of their lane.
    pub(crate) fn waiting_changes(&self) -> usize {
        match &self.kind {
            Kind::Sqlite { writer, .. } => writer.waiting(),
            Kind::Postgres { lanes, .. } => lanes.iter().map(Lane::waiting).sum(),
        }
    }

    /// The lane of a merchant; all changes of one merchant go through one, so that lanes do not wait for each other.
    pub(crate) fn lane(&self, merchant: MerchantId) -> &Lane {
        match &self.kind {
            Kind::Sqlite { writer, .. } => writer,
            Kind::Postgres { lanes, .. } => {
                let hash =
                    std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default().hash_one(merchant);
                let count = lanes.len() as u64;
                &lanes[usize::try_from(hash % count).unwrap_or(0)]
            }
        }
    }

    /// All lanes.
    pub(crate) fn lanes(&self) -> &[Lane] {
        match &self.kind {
            Kind::Sqlite { writer, .. } => std::slice::from_ref(writer),
            Kind::Postgres { lanes, .. } => lanes,
        }
    }

    /// Runs a short reading query. Refused with [`Fault::Overloaded`] at once if too many wait.
    pub(crate) async fn read<T, E>(&self, query: impl Query<T, E>) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Fault> + Trouble + Send + 'static,
    {
        self.read_as(Reading::Short, query).await
    }

    /// Runs a reading query of some class, on connections that other classes do not use.
    pub(crate) async fn read_as<T, E>(&self, reading: Reading, query: impl Query<T, E>) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Fault> + Trouble + Send + 'static,
    {
        let wait = (!matches!(reading, Reading::Whole | Reading::Seals)).then(|| CallWait::begin(self.times));
        let deadline = wait.as_ref().map(|wait| wait.deadline);
        let (reply, outcome) = oneshot::channel();
        match &self.kind {
            Kind::Sqlite { readers, .. } => readers.ask(reading, query, reply)?,
            Kind::Postgres { server, .. } => server.ask(reading, query, reply, deadline)?,
        }
        match deadline {
            Some(deadline) => {
                let answered = timeout_at(deadline, outcome).await.map_err(|_| Fault::Silent)?;
                answered.map_err(|_| Fault::Abandoned)?
            }
            None => self.while_alive(outcome).await,
        }
    }

    /// Waits for an answer for as long as the database answers pings. The pings do not count as waiting of
    /// the call.
    async fn while_alive<T, E: From<Fault>>(
        &self,
        mut outcome: oneshot::Receiver<Result<T, E>>,
    ) -> Result<T, E> {
        loop {
            match timeout(LOOK, &mut outcome).await {
                Ok(answered) => return answered.map_err(|_| Fault::Abandoned)?,
                Err(_) => Box::pin(Arc::<CallWaits>::default().around(self.ping())).await?,
            }
        }
    }

    /// Checks that the file of an embedded database is still where it was opened, and whole.
    pub(crate) fn require_intact(&self) -> Result<(), FileTrouble> {
        match &self.kind {
            Kind::Sqlite { file, .. } => file.require_intact(),
            Kind::Postgres { .. } => Ok(()),
        }
    }

    /// Whether the database answers.
    pub(crate) async fn ping(&self) -> Result<(), Fault> {
        let answer = self.read(|conn: &mut Connection| {
            Box::pin(async move {
                let _none = execute!(conn, diesel::sql_query("SELECT 1"))?;
                Ok::<_, Fault>(())
            })
        });
        answer.await
    }

    /// Runs a writing query, whole or not at all: an error undoes it. On a server it has a transaction of its
    /// own; in a file it shares one with others that wait. If its turn does not come in time, nothing of it
    /// happens.
    pub(crate) async fn write<T, E>(&self, query: impl Query<T, E> + Clone) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Fault> + From<StoreError> + Trouble + Send + 'static,
    {
        self.write_for(None, query).await
    }

    /// The same for a query that may find rows which somebody else has locked: on a server it waits for them only in
    /// its turn. Until then it may be run, and undone, several times.
    pub(crate) async fn write_for<T, E>(
        &self,
        waiter: Option<Waiter>,
        query: impl Query<T, E> + Clone,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Fault> + From<StoreError> + Trouble + Send + 'static,
    {
        let (reply, outcome) = oneshot::channel();
        let wait = CallWait::begin(self.times);
        let job_state = Arc::new(JobState::until(wait.deadline));
        let begun = Arc::clone(&job_state);
        match &self.kind {
            Kind::Sqlite { writer, .. } => {
                let write: SmallWrite = Box::new(move |conn| {
                    Box::pin(async move {
                        if !begun.begin() {
                            return Tried::Undone;
                        }
                        let outcome = match conn {
                            Ok(conn) => query(conn).await,
                            Err(fault) => Err(fault.into()),
                        };
                        match outcome {
                            Ok(value) => Tried::Done(Box::new(move |committed: Result<(), Fault>| {
                                let _gone = reply.send(committed.map(|()| value).map_err(E::from));
                            })),
                            Err(error) => {
                                let _gone = reply.send(Err(error));
                                Tried::Undone
                            }
                        }
                    })
                });
                writer.put(Work::SmallWrite(write))?;
            }
            Kind::Postgres { server, .. } => server.write(query, waiter, begun, reply)?,
        }
        job_state.outcome(outcome, self.times).await
    }

    /// Runs a writing query on a lane's connection to a server, in a transaction of its own. It does not run
    /// if its caller has gone away when its turn comes.
    pub(crate) async fn write_alone(&self, lane: &Lane, query: impl Query<(), Fault>) -> Result<(), Fault> {
        let (reply, outcome) = oneshot::channel();
        let wait = CallWait::begin(self.times);
        let job_state = Arc::new(JobState::until(wait.deadline));
        let begun = Arc::clone(&job_state);
        let write: LoneWrite = Box::new(move |custody, origin| {
            Box::pin(async move {
                if !reply.is_closed() {
                    let _gone =
                        reply.send(in_transaction(custody, origin, &begun, Patience::Full, query).await);
                }
            })
        });
        lane.put(Work::Alone(write))?;
        job_state.outcome(outcome, self.times).await
    }

    /// Starts a reading query that answers its callers itself. On a server it first waits for one of
    /// `places`.
    pub(crate) fn start(&self, places: &Arc<Semaphore>, query: impl Query<(), Fault>) -> Result<(), Fault> {
        match &self.kind {
            Kind::Sqlite { readers, .. } => readers.start(query),
            Kind::Postgres { server, .. } => {
                server.start(places, query);
                Ok(())
            }
        }
    }

    /// Finishes the waiting work of the lanes, which take no more afterwards.
    pub(crate) async fn close(&self) {
        for lane in self.lanes() {
            lane.close().await;
        }
    }
}
