//! The decision about each change of a batch: a pure function over the state so far.

use std::collections::{BTreeMap, HashMap};

use quipu_kernel::{Currency, Tenant};
use quipu_ledger::{Balance, PostingError};

use crate::{
    answer::{Answer, AnswerKey, KeptAnswer},
    changes::Changes,
    join::Join,
    name::{Holder, Name, NameChange},
    ports::Refusal,
    record::Expect,
    state::{AggregateKey, KnownAnswer, KnownBalance, State},
    tally::{CounterKey, Tally},
};

/// The verdict about a change: accepted, perhaps with a kept answer, or refused.
pub type Verdict = Result<Option<Answer>, Refusal>;

/// How the row of an aggregate is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    /// It is inserted.
    Insert,
    /// It is updated.
    Update {
        /// The revision that it had before the batch.
        from: i64,
    },
}

/// The position of a save or of a join in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The index of its change in the batch.
    pub change: usize,
    /// Its index among the saves, or among the joins, of that change.
    pub place: usize,
}

/// The write of an aggregate that changes of the batch save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingSave {
    /// How its row is written.
    pub kind: WriteKind,
    /// The last save of it. Only this one is written.
    pub last: Position,
}

/// An answer to be kept, of the change with this index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerToWrite {
    /// The index of the change in the batch.
    pub change: usize,
    /// The answer; `None` if a later commit brings it.
    pub answer: Option<Answer>,
    /// Whether the key already has a row, which waits for this answer.
    pub awaited: bool,
}

/// Everything to be written. It says where in the batch each row is found, so that nothing is copied.
#[derive(Debug, Default)]
pub struct Writes {
    /// The indexes of the changes whose nonces are used up.
    pub nonces: Vec<usize>,
    /// The indexes of the changes whose rows, entries and work are written.
    pub accepted: Vec<usize>,
    /// Joins that make something new.
    pub made: Vec<Position>,
    /// Answers to be kept.
    pub answers: Vec<AnswerToWrite>,
    /// The writes of aggregates.
    pub saves: HashMap<AggregateKey, PendingSave>,
    /// The sum by which each counter changes.
    pub tallies: BTreeMap<CounterKey, i64>,
    /// The balances that changed, with their values after the batch.
    pub balances: Vec<(Tenant, Currency, KnownBalance)>,
}

impl Writes {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.nonces.is_empty() && self.accepted.is_empty()
    }

    /// The saves of new aggregates, in the order of their changes.
    pub fn inserted(&self) -> Vec<Position> {
        let new = self.saves.values().filter(|save| save.kind == WriteKind::Insert);
        let mut positions: Vec<_> = new.map(|save| save.last).collect();
        positions.sort_unstable();
        positions
    }

    /// The saves of aggregates that existed before, in the order in which rows are locked, each with the
    /// revision before the batch.
    pub fn updated(&self) -> Vec<(Position, i64)> {
        let old = self.saves.iter().filter_map(|(key, save)| match save.kind {
            WriteKind::Insert => None,
            WriteKind::Update { from } => Some((key, (save.last, from))),
        });
        let mut saves: Vec<_> = old.collect();
        saves.sort_unstable_by_key(|(key, _)| *key);
        saves.into_iter().map(|(_, save)| save).collect()
    }

    fn count(&mut self, tenant: Tenant, tally: &Tally) {
        *self.tallies.entry((tenant, tally.name.clone(), tally.keys.clone())).or_default() += tally.by;
    }
}

/// What came of judging a batch.
#[derive(Debug)]
pub struct Judged {
    /// The verdict about each change.
    pub verdicts: Vec<Verdict>,
    /// What is to be written for the accepted ones.
    pub writes: Writes,
}

/// Judges `changes` in order. Each is judged against `state`, which every accepted change then updates. A
/// refused change leaves nothing behind but its nonce.
pub fn judge<'c>(state: &mut State, changes: impl Iterator<Item = &'c mut Changes>) -> Judged {
    let mut writes = Writes::default();
    let verdicts = changes
        .enumerate()
        .map(|(index, changes)| Judging { state: &mut *state, writes: &mut writes, index }.judge(changes))
        .collect();
    for ((tenant, currency), known) in state.balances.iter_mut().filter(|(_, known)| known.touched) {
        writes.balances.push((*tenant, *currency, *known));
        (known.stored, known.touched) = (true, false);
    }
    writes.balances.sort_unstable_by_key(|(tenant, currency, _)| (*tenant, *currency));
    writes.tallies.retain(|_, by| *by != 0);
    Judged { verdicts, writes }
}

/// One change being judged.
struct Judging<'a> {
    state: &'a mut State,
    writes: &'a mut Writes,
    /// The index of the change in the batch.
    index: usize,
}

impl Judging<'_> {
    /// Judges the change with this index in the batch. The checks come first and change nothing but the nonce;
    /// once all have passed, the change is entered into the state and the writes.
    fn judge(mut self, changes: &mut Changes) -> Verdict {
        self.burn_nonce(changes)?;
        let key = check_key(self.state, changes)?;
        check_revisions(self.state, changes)?;
        check_names(self.state, changes)?;
        let balances = post(self.state, changes)?;

        // Nothing refuses from here on.
        for known in balances {
            self.state.balances.insert((changes.tenant, known.balance.currency), known);
        }
        self.resolve_joins(changes);
        self.move_names(changes);
        self.place_saves(changes);
        for tally in &changes.tallies {
            self.writes.count(changes.tenant, tally);
        }
        let answer = self.keep_answer(changes, key);
        self.writes.accepted.push(self.index);
        Ok(answer)
    }

    fn burn_nonce(&mut self, changes: &Changes) -> Result<(), Refusal> {
        let Some(nonce) = &changes.nonce else { return Ok(()) };
        let key = (changes.tenant.merchant(), nonce.value.clone());
        if self.state.nonces.get(&key).is_some_and(|expires_at| *expires_at > changes.at) {
            return Err(Refusal::NonceUsed);
        }
        self.state.nonces.insert(key, nonce.expires_at);
        self.writes.nonces.push(self.index);
        Ok(())
    }

    /// Finds or makes what the change joins, and tells every record its identifier.
    fn resolve_joins(&mut self, changes: &mut Changes) {
        let tenant = changes.tenant;
        for place in 0..changes.joins.len() {
            let join = &changes.joins[place];
            let known =
                join.by.as_ref().and_then(|name| self.state.names.get(&(tenant, name.clone()))).cloned();
            if known.is_none() {
                self.take_names(tenant, join);
                self.writes.made.push(Position { change: self.index, place });
            }
            let (told, holder) = (join.index, known.unwrap_or_else(|| join.fresh.clone()));
            let Changes { saves, joins, rows, .. } = changes;
            for save in saves {
                save.record.resolve_join(told, &holder);
            }
            joins[place].make.resolve_join(told, &holder);
            for record in rows {
                record.resolve_join(told, &holder);
            }
        }
    }

    fn take_names(&mut self, tenant: Tenant, join: &Join) {
        for name in join.by.iter().chain(&join.also) {
            self.state.names.entry((tenant, name.clone())).or_insert_with(|| join.fresh.clone());
        }
    }

    fn move_names(&mut self, changes: &Changes) {
        for change in &changes.names {
            match change {
                NameChange::Take(name, holder) => {
                    self.state.names.insert((changes.tenant, name.clone()), holder.clone());
                }
                NameChange::Release(name, holder) => release(self.state, changes.tenant, name, holder),
            }
        }
    }

    fn place_saves(&mut self, changes: &Changes) {
        for (place, save) in changes.saves.iter().enumerate() {
            let key = (save.aggregate, changes.tenant, save.id.clone());
            self.state.aggregates.insert(key.clone(), save.to);
            let last = Position { change: self.index, place };
            let kind = save.from.map_or(WriteKind::Insert, |from| WriteKind::Update { from });
            // What this batch makes is inserted once, as its last change leaves it.
            self.writes.saves.entry(key).or_insert(PendingSave { kind, last }).last = last;
        }
    }

    fn keep_answer(&mut self, changes: &Changes, key: Option<AnswerKey>) -> Option<Answer> {
        let (record, key) = changes.idempotency.as_ref().zip(key)?;
        let awaited = self.state.answers.get(&key).is_some_and(|kept| kept.awaited);
        let answer = match &record.answer {
            KeptAnswer::Given(answer) | KeptAnswer::Brought(answer) => Some(answer.clone()),
            KeptAnswer::OfSaved => changes.saves.iter().find_map(|save| save.record.answer()),
            KeptAnswer::Later => None,
        };
        let known = KnownAnswer {
            expires_at: record.expires_at,
            payment_id: record.payment_id.clone(),
            awaited: answer.is_none(),
        };
        self.state.answers.insert(key, known);
        let brought = matches!(record.answer, KeptAnswer::Brought(_));
        self.writes.answers.push(AnswerToWrite {
            change: self.index,
            answer: answer.clone(),
            awaited: awaited && brought,
        });
        answer
    }
}

/// Checks that the idempotency key is not taken. A taken key whose answer is awaited may get that answer
/// once, for the same payment. Answers the key under which the answer is kept.
fn check_key(state: &State, changes: &Changes) -> Result<Option<AnswerKey>, Refusal> {
    let Some(record) = &changes.idempotency else { return Ok(None) };
    let key = record.owner.answer_key(changes.tenant, &record.key);
    let kept = state.answers.get(&key).filter(|kept| kept.expires_at > changes.at);
    let brings = matches!(record.answer, KeptAnswer::Brought(_));
    match kept {
        Some(kept) if brings && kept.awaited && kept.payment_id == record.payment_id => Ok(Some(key)),
        Some(_) => Err(Refusal::IdempotencyKeyUsed),
        None => Ok(Some(key)),
    }
}

fn check_revisions(state: &State, changes: &Changes) -> Result<(), Refusal> {
    let expected = changes.expects.iter().map(|expect| (expect.aggregate, &expect.id, expect.revision));
    let saved = changes.saves.iter().filter_map(|save| Some((save.aggregate, &save.id, save.from?)));
    for (aggregate, id, revision) in expected.chain(saved) {
        let standing = state.aggregates.get(&(aggregate, changes.tenant, id.clone()));
        if *standing.unwrap_or(&Expect::ABSENT) != revision {
            return Err(Refusal::Stale);
        }
    }
    Ok(())
}

fn check_names(state: &State, changes: &Changes) -> Result<(), Refusal> {
    for change in &changes.names {
        if let NameChange::Take(name, holder) = change
            && let Some(other) = state.names.get(&(changes.tenant, name.clone()))
            && other != holder
        {
            return Err(Refusal::NameTaken { name: name.clone(), holder: other.clone() });
        }
    }
    Ok(())
}

/// The balances after the change's transactions; or the reason why they cannot bear them, or the foreseen
/// transaction after them.
fn post(state: &State, changes: &Changes) -> Result<Vec<KnownBalance>, PostingError> {
    let Changes { tenant, transactions, foreseen, .. } = changes;
    let before = |currency| {
        let absent = KnownBalance { balance: Balance::zero(currency), stored: false, touched: false };
        state.balances.get(&(*tenant, currency)).copied().unwrap_or(absent)
    };
    let mut after: Vec<KnownBalance> = Vec::new();
    for transaction in transactions {
        let currency = transaction.currency();
        let position = after.iter().position(|known| known.balance.currency == currency);
        let position = position.unwrap_or_else(|| {
            after.push(before(currency));
            after.len() - 1
        });
        after[position].balance = after[position].balance.after(transaction)?;
        after[position].touched = true;
    }
    if let Some(foreseen) = foreseen {
        let currency = foreseen.currency();
        let posted = after.iter().find(|known| known.balance.currency == currency).copied();
        posted.unwrap_or_else(|| before(currency)).balance.after(foreseen)?;
    }
    Ok(after)
}

fn release(state: &mut State, tenant: Tenant, name: &Name, holder: &Holder) {
    let key = (tenant, name.clone());
    if state.names.get(&key) == Some(holder) {
        state.names.remove(&key);
    }
}
