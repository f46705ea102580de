//! Reading an embedded database, on threads of the store's own: SQLite's calls block.

use std::panic::AssertUnwindSafe;

use crossbeam_channel::{Receiver, Sender};
use tokio::sync::oneshot;

use crate::{
    connection::ready,
    error::{Fault, Trouble},
    query::{Query, Reading},
    settings::StoreSettings,
    transaction::{
        custody::{Custody, Origin},
        in_custody,
    },
};

/// The most waiting queries of a kind.
const QUEUE: usize = 4096;
/// The most waiting checks.
const CHECKS: usize = 16;

type ReadTask = Box<dyn FnOnce(&mut Custody, &Origin) + Send>;

/// The threads that read, some for each kind of query, so that a long query delays no short one.
pub(crate) struct Readers {
    short: Sender<ReadTask>,
    payments: Sender<ReadTask>,
    pages: Sender<ReadTask>,
    whole: Sender<ReadTask>,
    seals: Sender<ReadTask>,
}

impl Readers {
    /// Starts the threads.
    pub(crate) fn new(settings: &StoreSettings, origin: &Origin) -> std::io::Result<Self> {
        let start = |kind: &str, count: usize, queue: usize, afterwards: fn(&mut Custody)| {
            let (tasks, waiting) = crossbeam_channel::bounded::<ReadTask>(queue);
            for number in 1..=count {
                let (waiting, origin) = (waiting.clone(), origin.clone());
                let name = format!("quipu-store-{kind}-{number}");
                let reading = move || read_until_closed(&waiting, &origin, afterwards);
                std::thread::Builder::new().name(name).spawn(reading)?;
            }
            Ok::<_, std::io::Error>(tasks)
        };
        let keep = |_: &mut Custody| {};
        // A connection that has checked the index of a search would check the next time what it remembers of
        // it, and not the file.
        let renew = |custody: &mut Custody| *custody = Custody::none();
        Ok(Self {
            short: start("reads", settings.readers.max(1), QUEUE, keep)?,
            payments: start("payments", (settings.readers / 2).max(1), QUEUE, keep)?,
            pages: start("pages", (settings.readers / 2).max(1), QUEUE, keep)?,
            whole: start("checks", 1, CHECKS, renew)?,
            seals: start("seals", 1, 1, keep)?,
        })
    }

    /// Has a query run, unless too many wait. It does not run if its caller has gone away when its turn
    /// comes.
    pub(crate) fn ask<T, E>(
        &self,
        reading: Reading,
        query: impl Query<T, E>,
        reply: oneshot::Sender<Result<T, E>>,
    ) -> Result<(), Fault>
    where
        T: Send + 'static,
        E: From<Fault> + Trouble + Send + 'static,
    {
        let task: ReadTask = Box::new(move |custody, origin| {
            if !reply.is_closed() {
                let _gone = reply.send(ready(in_custody(custody, origin, query)));
            }
        });
        let queue = match reading {
            Reading::Short => &self.short,
            Reading::Payments => &self.payments,
            Reading::Page => &self.pages,
            Reading::Whole => &self.whole,
            Reading::Seals => &self.seals,
        };
        queue.try_send(task).map_err(|_| Fault::Overloaded)
    }

    /// Has a short query run that answers its callers itself.
    pub(crate) fn start(&self, query: impl Query<(), Fault>) -> Result<(), Fault> {
        let task: ReadTask = Box::new(move |custody, origin| {
            let _reported = ready(in_custody(custody, origin, query));
        });
        self.short.try_send(task).map_err(|_| Fault::Overloaded)
    }
}

/// Runs the queries of a channel, and `afterwards` after each on the same connection.
fn read_until_closed(tasks: &Receiver<ReadTask>, origin: &Origin, afterwards: fn(&mut Custody)) {
    let mut custody = Custody::none();
    while let Ok(task) = tasks.recv() {
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| task(&mut custody, origin)));
        if outcome.is_err() {
            tracing::error!("a reading query panicked");
        }
        afterwards(&mut custody);
    }
}
