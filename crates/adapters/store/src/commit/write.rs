//! Writes the accepted changes of a batch, in the same order on both databases: nonces and kept answers, new
//! joined rows, changed rows, new rows, balances and counters, and append-only rows; and commits them.
//!
//! A server gets the `COMMIT` together with the statements, without waiting for their answers. So any
//! difference to the judged state must be an error of a statement, which makes the server roll back: counting
//! rows afterwards would come too late.

use std::collections::BTreeMap;

use diesel::{RunQueryDsl as _, SqliteConnection};
use diesel_async::AsyncPgConnection;
use quipu_commit::{Changes, Expect, Position, Queue, WorkChange, Writes};
use quipu_kernel::Tenant;

use super::{
    fan_out::DeliveryRows,
    job::{Job, Prepared},
    load::no_table,
    sending::{Writing, committed, executed, in_order_unless_one_fails, overtaken, written},
};
use crate::{
    connection::Connection,
    error::Fault,
    tables::{
        Line, SavedTable, TABLES,
        balances::{self, BalanceLine},
        counters::{self, CounterLine},
        entries::{self, EntryLine},
        kept_answers::{self, AnswerLine},
        nonces,
        payment_classes::Classed,
        saved_at,
        work::{self, Gone, Later, Taken, WorkLine},
    },
    transaction::Unfinished,
};

/// Writes the changes and their deliveries, and commits.
pub(crate) async fn commit(
    conn: &mut Connection,
    node: &str,
    jobs: &[Job],
    writes: &Writes,
    deliveries: &DeliveryRows<'_>,
) -> Result<(), Unfinished> {
    let plan = Plan::of(node, jobs, writes).map_err(Unfinished::Undone)?;
    match conn {
        Connection::Sqlite(file) => {
            to_file(file, &plan).and_then(|()| deliveries.to_file(file)).map_err(Unfinished::Undone)?;
            conn.commit().await.map_err(Unfinished::at_commit)
        }
        Connection::Postgres(conn) => {
            let conn: &AsyncPgConnection = conn;
            let classed = Classed::by(writes.accepted.iter().map(|index| &jobs[*index].changes));
            let mut sent = to_server(conn, &plan, &classed);
            sent.extend(deliveries.to_server(conn));
            sent.push(committed(conn));
            in_order_unless_one_fails(sent).await
        }
    }
}

/// The rows to be written, table by table.
struct Plan<'a> {
    nonces: Vec<&'a Changes>,
    answers: Vec<AnswerLine<'a>>,
    /// The rows that change, with their table and by its position in [`TABLES`].
    moved: BTreeMap<usize, (&'static dyn SavedTable, Vec<Line<'a>>)>,
    /// For each table, the rows that are new.
    made: Vec<Vec<Line<'a>>>,
    counters: Vec<CounterLine<'a>>,
    /// Balances that have a row, and balances that have none yet.
    balances: (Vec<&'a BalanceLine>, Vec<&'a BalanceLine>),
    entries: Vec<EntryLine<'a>>,
    work: BTreeMap<(Queue, Tenant, &'a str), Option<WorkLine<'a>>>,
    put: Vec<WorkLine<'a>>,
    gone: Vec<Gone<'a>>,
    later: Vec<Later<'a>>,
    /// The earliest time at which any of these changes was decided. A nonce or key that had not expired by
    /// then counts as in use, which fails the batch. If it had expired for the one change that needs it, that
    /// change succeeds when it is tried alone.
    earliest: i64,
}

impl<'a> Plan<'a> {
    /// Fails if the rows of a saved record cannot be written again.
    fn of(node: &'a str, jobs: &'a [Job], writes: &'a Writes) -> Result<Self, Fault> {
        let answers = writes.answers.iter().filter_map(|row| {
            let changes = &jobs[row.change].changes;
            let record = changes.idempotency.as_ref()?;
            Some(AnswerLine { tenant: changes.tenant, record, answer: row.answer.as_ref() })
        });
        let tallies = writes.tallies.iter();
        let mut plan = Self {
            nonces: writes.nonces.iter().map(|index| &jobs[*index].changes).collect(),
            answers: answers.collect(),
            moved: BTreeMap::new(),
            made: TABLES.iter().map(|_| Vec::new()).collect(),
            counters: tallies
                .map(|((tenant, name, keys), by)| CounterLine { tenant: *tenant, name, keys, by: *by })
                .collect(),
            balances: writes.balances.iter().partition(|(.., known)| known.stored),
            entries: Vec::new(),
            work: BTreeMap::new(),
            put: Vec::new(),
            gone: Vec::new(),
            later: Vec::new(),
            earliest: jobs.iter().map(|job| job.changes.at.millis()).min().unwrap_or(i64::MIN),
        };
        for Position { change, place } in &writes.made {
            let job = &jobs[*change];
            let record = &*job.changes.joins[*place].make;
            plan.made[job.joins[*place].table].push(line(job, record, &job.joins[*place]));
        }
        let saved = |Position { change, place }, from| {
            let job: &Job = &jobs[change];
            let new = line(job, &*job.changes.saves[place].record, &job.saves[place]);
            (job.saves[place].table, Line { from, ..new })
        };
        for (position, from) in writes.updated() {
            let (place, line) = saved(position, from);
            let aggregate = jobs[position.change].changes.saves[position.place].aggregate;
            let table = saved_at(place).ok_or_else(|| no_table(aggregate.0))?;
            plan.moved.entry(place).or_insert_with(|| (table, Vec::new())).1.push(line);
        }
        for position in writes.inserted() {
            let (table, line) = saved(position, Expect::ABSENT);
            plan.made[table].push(line);
        }
        for index in &writes.accepted {
            plan.add(node, &jobs[*index]);
        }
        plan.put = plan.split_work();
        Ok(plan)
    }

    /// Adds the rows and the work of a job.
    fn add(&mut self, node: &'a str, job: &'a Job) {
        let changes = &job.changes;
        for (record, prepared) in changes.rows.iter().zip(&job.rows) {
            self.made[prepared.table].push(line(job, &**record, prepared));
        }
        for (transaction, id) in changes.transactions.iter().zip(&job.transaction_ids) {
            self.entries.extend((1..).zip(transaction.entries()).map(|(number, entry)| EntryLine {
                tenant: changes.tenant,
                at: changes.at,
                payment_id: changes.payment_id.as_ref(),
                transaction,
                transaction_id: id,
                number,
                entry: *entry,
            }));
        }
        for change in &changes.work {
            self.add_work(changes.tenant, Taken { at: changes.at, node }, change);
        }
    }

    fn add_work(&mut self, tenant: Tenant, taken: Taken<'a>, change: &'a WorkChange) {
        match change {
            // Of several in one batch the last counts: it is what there is to do afterwards.
            WorkChange::Put(work) => {
                let line = WorkLine { tenant, work, taken: None };
                self.work.insert((work.queue, tenant, &work.subject), Some(line));
            }
            WorkChange::Take(work) => {
                let line = WorkLine { tenant, work, taken: Some(taken) };
                self.work.insert((work.queue, tenant, &work.subject), Some(line));
            }
            WorkChange::Drop { queue, subject } => {
                self.work.insert((*queue, tenant, subject), None);
            }
            WorkChange::PutOff { claim, due, action } => {
                let due = due.millis();
                self.later.push(Later { claim, due, since: due, action });
            }
            WorkChange::HoldUp { claim, due } => {
                let (due, since) = (due.millis(), claim.due.millis());
                self.later.push(Later { claim, due, since, action: &claim.action });
            }
            WorkChange::Done(claim) => {
                let (queue, tenant, subject) = (claim.queue, claim.tenant, claim.subject.as_str());
                // What an earlier change of the batch has put in its place stays.
                if self.work.contains_key(&(queue, tenant, subject)) {
                    return;
                }
                self.gone.push(Gone { queue, tenant, subject, turn: Some(claim.turn) });
            }
        }
    }

    /// Splits the work: returns what is to be added, and moves what is to be removed to `gone`.
    fn split_work(&mut self) -> Vec<WorkLine<'a>> {
        let mut put = Vec::with_capacity(self.work.len());
        for ((queue, tenant, subject), work) in std::mem::take(&mut self.work) {
            match work {
                Some(line) => put.push(line),
                None => self.gone.push(Gone { queue, tenant, subject, turn: None }),
            }
        }
        put
    }
}

fn line<'a>(job: &'a Job, record: &'a dyn quipu_commit::Record, prepared: &'a Prepared) -> Line<'a> {
    let Changes { tenant, at, .. } = &job.changes;
    Line { tenant: *tenant, at: *at, record, prepared: &prepared.text, from: Expect::ABSENT }
}

fn to_file(conn: &mut SqliteConnection, plan: &Plan<'_>) -> Result<(), Fault> {
    // Another process that was first leaves its row standing.
    for changes in &plan.nonces {
        nonces::rows::One::of(changes, changes.at.millis()).execute(conn).map_err(overtaken)?;
    }
    for line in &plan.answers {
        kept_answers::rows::One::of(line, plan.earliest).execute(conn).map_err(overtaken)?;
    }
    for (table, lines) in plan.moved.values() {
        for line in lines {
            table.update_sqlite(conn, line)?;
        }
    }
    for (table, lines) in TABLES.iter().zip(&plan.made) {
        for line in lines {
            table.insert_sqlite(conn, line)?;
        }
    }
    for line in &plan.counters {
        counters::rows::One::of(line).execute(conn)?;
    }
    for line in &plan.balances.0 {
        balances::moves::One::of(line).execute(conn)?;
    }
    for line in &plan.balances.1 {
        balances::rows::One::of(line).execute(conn)?;
    }
    for line in &plan.entries {
        entries::rows::One::of(line).execute(conn)?;
    }
    for gone in &plan.gone {
        gone.one().execute(conn)?;
    }
    for line in &plan.put {
        work::rows::One::of(line).execute(conn)?;
    }
    for later in &plan.later {
        later.one().execute(conn)?;
    }
    Ok(())
}

/// Sends `$statement` unless there are no `$lines`.
macro_rules! send {
    ($to:ident, $conn:ident, $lines:expr, $statement:expr) => {
        if !$lines.is_empty() {
            $to.push(executed($conn, $statement));
        }
    };
}

/// The statements are sent without waiting for the answers, and the server runs them in this order: payments
/// that free their references before those that take them.
fn to_server<'c>(conn: &'c AsyncPgConnection, plan: &'c Plan<'c>, classed: &Classed<'c>) -> Vec<Writing<'c>> {
    let mut sent: Vec<Writing<'c>> = Vec::new();
    let at = plan.earliest;
    send!(sent, conn, plan.nonces, nonces::rows::Many::of(plan.nonces.iter().copied(), at));
    send!(sent, conn, plan.answers, kept_answers::rows::Many::of(plan.answers.iter(), at));
    for (table, lines) in plan.moved.values() {
        sent.push(written(table.update_postgres(conn, lines)));
    }
    for (table, lines) in TABLES.iter().zip(&plan.made).filter(|(_, lines)| !lines.is_empty()) {
        sent.push(written(table.insert_postgres(conn, lines)));
    }
    sent.extend(classed.moved().map(|moved| executed(conn, moved)));
    send!(sent, conn, plan.counters, counters::rows::Many::of(plan.counters.iter()));
    let (moved, made) = &plan.balances;
    send!(sent, conn, moved, balances::moves::Many::of(moved.iter().copied()));
    // A first row is inserted and never merged: should another node have inserted it meanwhile, this batch
    // was judged on a balance that is no longer so.
    send!(sent, conn, made, balances::rows::Many::of(made.iter().copied()));
    send!(sent, conn, plan.entries, entries::rows::Many::of(plan.entries.iter()));
    send!(sent, conn, plan.gone, Gone::many(&plan.gone));
    send!(sent, conn, plan.put, work::rows::Many::of(plan.put.iter()));
    send!(sent, conn, plan.later, Later::many(&plan.later));
    sent
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use quipu_commit::{Aggregate, Judged, Save, State, judge};
    use quipu_kernel::{Environment, MerchantId, Timestamp};
    use quipu_merchants::{Actor, AuditRecord};
    use tokio::{sync::oneshot, time::Instant};

    use super::*;
    use crate::transaction::job_state::JobState;

    #[tokio::test]
    async fn an_update_of_a_record_whose_table_takes_only_new_rows_fails_and_is_not_skipped() {
        let tenant = Tenant::new(MerchantId(7), Environment::Test);
        let line = AuditRecord {
            id: "line".to_owned(),
            at: Timestamp::from_millis(0),
            actor: Actor::shell(),
            action: "test".to_owned(),
            merchant_id: None,
            subject: String::new(),
            before: serde_json::Value::Null,
            after: serde_json::Value::Null,
        };
        let save = Save {
            aggregate: Aggregate::PAYMENT,
            id: line.id.clone(),
            from: Some(1),
            to: 2,
            record: Box::new(line),
        };
        let changes = Changes { saves: vec![save], ..Changes::new(tenant, Timestamp::from_millis(0)) };
        let job_state = Arc::new(JobState::until(Instant::now()));
        let mut job = Job::new(changes, 0, job_state, oneshot::channel().0).expect("it has a table");
        let mut state = State::default();
        state.aggregates.insert((Aggregate::PAYMENT, tenant, "line".to_owned()), 1);
        let Judged { verdicts, writes } = judge(&mut state, std::iter::once(&mut job.changes));
        assert!(verdicts[0].is_ok(), "{verdicts:?}");
        let planned = Plan::of("node", std::slice::from_ref(&job), &writes).map(drop);
        assert_eq!(
            planned.expect_err("no rows to update").to_string(),
            "a mistake in this program: payments has no table"
        );
    }
}
