//! Where the work is done: on threads of the store's own (SQLite) or on tasks of the runtime it was given
//! (PostgreSQL), never in the caller's future. A caller that goes away cancels nothing.

use std::{hash::BuildHasher as _, panic::AssertUnwindSafe, sync::Arc};

use futures_util::future::BoxFuture;
use quipu_kernel::MerchantId;
use tokio::{
    runtime::Handle,
    sync::{Semaphore, mpsc, oneshot},
};

use crate::{
    checkpoint,
    commit::lane::{self, Work},
    connection::{Connection, ready},
    error::Fault,
    hub::Hub,
    lease::{Lease, Origin},
    settings::StoreSettings,
};

/// How much may wait in the queue of a lane, and for a reader.
const QUEUE: usize = 4096;

/// A query, as a function of a connection.
pub(crate) trait Query<T, E>:
    for<'c> FnOnce(&'c mut Connection) -> BoxFuture<'c, Result<T, E>> + Send + 'static
{
}

impl<F, T, E> Query<T, E> for F where
    F: for<'c> FnOnce(&'c mut Connection) -> BoxFuture<'c, Result<T, E>> + Send + 'static
{
}

type ReadTask = Box<dyn FnOnce(&mut Lease, &Origin) + Send>;

/// The workers of one database.
pub(crate) enum Engine {
    /// One thread that writes, and some that read.
    Sqlite { writer: mpsc::Sender<Work>, readers: crossbeam_channel::Sender<ReadTask> },
    /// A few lanes that commit, and tasks for everything else, as many at once as there are connections.
    Postgres {
        lanes: Vec<mpsc::Sender<Work>>,
        points: Origin,
        origin: Origin,
        places: Arc<Semaphore>,
        runtime: Handle,
    },
}

impl Engine {
    /// Starts the threads of an embedded database.
    pub(crate) fn sqlite(
        settings: &StoreSettings,
        path: &str,
        hub: &Arc<Hub>,
        runtime: &Handle,
    ) -> std::io::Result<Self> {
        let origin = Origin::Sqlite(path.to_owned());
        let (writer, queue) = mpsc::channel(QUEUE);
        let after_turn = checkpoint::start(path.to_owned())?;
        let lane = lane::serve(queue, origin.clone(), Arc::clone(hub), after_turn);
        let handle = runtime.clone();
        let name = "quipu-store-writer".to_owned();
        std::thread::Builder::new().name(name).spawn(move || handle.block_on(lane))?;
        let (readers, tasks) = crossbeam_channel::bounded::<ReadTask>(QUEUE);
        for number in 1..=settings.readers.max(1) {
            let (tasks, origin) = (tasks.clone(), origin.clone());
            let name = format!("quipu-store-reader-{number}");
            std::thread::Builder::new().name(name).spawn(move || read_until_closed(&tasks, &origin))?;
        }
        Ok(Self::Sqlite { writer, readers })
    }

    /// Starts the lanes to a server.
    pub(crate) fn postgres(
        settings: &StoreSettings,
        lane_origin: &Origin,
        origin: Origin,
        hub: &Arc<Hub>,
        runtime: &Handle,
    ) -> Self {
        let start = |_| {
            let (lane, queue) = mpsc::channel(QUEUE);
            runtime.spawn(lane::serve(queue, lane_origin.clone(), Arc::clone(hub), || {}));
            lane
        };
        let lanes = (0..settings.lanes.max(1)).map(start).collect();
        let (points, places) = (lane_origin.clone(), Arc::new(Semaphore::new(QUEUE)));
        Self::Postgres { lanes, points, origin, places, runtime: runtime.clone() }
    }

    /// The lane of a merchant; all changes of one merchant go through one, so that lanes do not wait for each other.
    pub(crate) fn lane(&self, merchant: MerchantId) -> &mpsc::Sender<Work> {
        match self {
            Self::Sqlite { writer, .. } => writer,
            Self::Postgres { lanes, .. } => {
                let hash =
                    std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default().hash_one(merchant);
                let count = lanes.len() as u64;
                &lanes[usize::try_from(hash % count).unwrap_or(0)]
            }
        }
    }

    /// Runs a reading query. Refused with [`Fault::Overloaded`] at once if too many wait.
    pub(crate) async fn read<T, E>(&self, query: impl Query<T, E>) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Fault> + Send + 'static,
    {
        match self {
            Self::Sqlite { readers, .. } => {
                let (reply, outcome) = oneshot::channel();
                let task: ReadTask = Box::new(move |lease, origin| {
                    let _gone = reply.send(ready(on_lease(lease, origin, query)));
                });
                readers.try_send(task).map_err(|_| Fault::Overloaded)?;
                outcome.await.map_err(|_| Fault::Abandoned)?
            }
            Self::Postgres { .. } => self.on_server(query).await,
        }
    }

    /// Runs a query that writes, in a transaction of its own, which an error undoes.
    pub(crate) async fn write<T, E>(&self, query: impl Query<T, E>) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Fault> + Send + 'static,
    {
        let query = in_transaction(query);
        match self {
            Self::Sqlite { writer, .. } => {
                let (reply, outcome) = oneshot::channel();
                let task: lane::Task = Box::new(move |lease, origin| {
                    Box::pin(async move {
                        let _gone = reply.send(on_lease(lease, origin, query).await);
                    })
                });
                writer.try_send(Work::Task(task)).map_err(|_| Fault::Overloaded)?;
                outcome.await.map_err(|_| Fault::Abandoned)?
            }
            Self::Postgres { .. } => self.on_server(query).await,
        }
    }

    /// Runs a query on a task of its own.
    async fn on_server<T, E>(&self, query: impl Query<T, E>) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Fault> + Send + 'static,
    {
        let Self::Postgres { origin, places, runtime, .. } = self else {
            return Err(Fault::Abandoned.into());
        };
        let place = Arc::clone(places).try_acquire_owned().map_err(|_| Fault::Overloaded)?;
        let origin = origin.clone();
        let task = runtime.spawn(async move {
            let _place = place;
            on_lease(&mut Lease::none(), &origin, query).await
        });
        task.await.map_err(|_| Fault::Abandoned)?
    }

    /// Starts a reading query that answers whom it serves by itself. On a server it waits for one of `places` first.
    pub(crate) fn start(&self, places: &Arc<Semaphore>, query: impl Query<(), Fault>) -> Result<(), Fault> {
        match self {
            Self::Sqlite { readers, .. } => {
                let task: ReadTask = Box::new(move |lease, origin| {
                    let _reported = ready(on_lease(lease, origin, query));
                });
                readers.try_send(task).map_err(|_| Fault::Overloaded)
            }
            Self::Postgres { points, runtime, .. } => {
                let (origin, places) = (points.clone(), Arc::clone(places));
                runtime.spawn(async move {
                    let _place = places.acquire_owned().await;
                    on_lease(&mut Lease::none(), &origin, query).await
                });
                Ok(())
            }
        }
    }

    /// Finishes what waits in the lanes, which take nothing more afterwards.
    pub(crate) async fn close(&self) {
        let lanes = match self {
            Self::Sqlite { writer, .. } => std::slice::from_ref(writer),
            Self::Postgres { lanes, .. } => lanes.as_slice(),
        };
        for lane in lanes {
            let (done, closed) = oneshot::channel();
            // An error means that the lane has stopped already, which is what is wanted.
            if lane.send(Work::Close(done)).await.is_ok() {
                let _stopped = closed.await;
            }
        }
    }
}

/// The query between `BEGIN` and `COMMIT`. Whoever holds the connection rolls back if it fails.
fn in_transaction<T, E>(query: impl Query<T, E>) -> impl Query<T, E>
where
    T: Send + 'static,
    E: From<Fault> + Send + 'static,
{
    move |conn: &mut Connection| -> BoxFuture<'_, Result<T, E>> {
        Box::pin(async move {
            conn.begin_writing().await.map_err(Fault::from)?;
            let value = query(conn).await?;
            conn.commit().await.map_err(Fault::of_commit)?;
            Ok(value)
        })
    }
}

async fn on_lease<T, E>(lease: &mut Lease, origin: &Origin, query: impl Query<T, E>) -> Result<T, E>
where
    E: From<Fault>,
{
    let outcome = query(lease.connection(origin).await?).await;
    match &outcome {
        Ok(_) => lease.done(),
        Err(_) => lease.undo().await,
    }
    outcome
}

fn read_until_closed(tasks: &crossbeam_channel::Receiver<ReadTask>, origin: &Origin) {
    let mut lease = Lease::none();
    while let Ok(task) = tasks.recv() {
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| task(&mut lease, origin)));
        if outcome.is_err() {
            tracing::error!("a reading query panicked");
        }
    }
}
