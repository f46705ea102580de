//! Runs a decision on what is current and commits it; if that has changed in the meantime, decides again.

use crate::{
    changes::Changes,
    ports::{Commit, CommitError, Refusal},
};

/// How often a decision is made. Of several callers that act on one thing at the same time, at least one succeeds in
/// each round.
const TRIES: u8 = 100;

/// The result of a decision.
#[derive(Debug)]
pub enum Decided<T> {
    /// These changes are to be committed, and then this is to be answered.
    Change(Box<Changes>, T),
    /// Nothing changes, and this is to be answered.
    Stay(T),
}

impl<T> Decided<T> {
    /// Changes, and the answer once they are committed.
    pub fn change(changes: Changes, told: T) -> Self {
        Self::Change(Box::new(changes), told)
    }
}

/// Reads, decides and commits. If the commit is [`Refusal::Stale`], it reads and decides anew, and after 100 such
/// commits it answers that refusal. An error of `decide` says why nothing may be done.
pub fn act<Found, Told, E, Reading>(
    commit: &dyn Commit,
    read: impl Fn() -> Reading,
    decide: impl FnMut(Found) -> Result<Decided<Told>, E>,
) -> impl Future<Output = Result<Told, E>>
where
    E: From<CommitError>,
    Reading: Future<Output = Result<Found, E>>,
{
    act_again_if_overtaken(commit, is_stale, None, read, decide)
}

/// Like [`act`], but the first decision is about what was `found` before.
pub fn act_on<Found, Told, E, Reading>(
    commit: &dyn Commit,
    found: Found,
    read: impl Fn() -> Reading,
    decide: impl FnMut(Found) -> Result<Decided<Told>, E>,
) -> impl Future<Output = Result<Told, E>>
where
    E: From<CommitError>,
    Reading: Future<Output = Result<Found, E>>,
{
    act_again_if_overtaken(commit, is_stale, Some(found), read, decide)
}

const fn is_stale(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Stale)
}

/// Like [`act`], but `is_overtaken` tells which refusals require a new decision, and the first decision is about `found`, if
/// that is given. After 100 such commits it answers [`Refusal::Stale`], whatever overtook the last one: the caller may try
/// again in a moment.
pub async fn act_again_if_overtaken<Found, Told, E, Reading>(
    commit: &dyn Commit,
    is_overtaken: impl Fn(&Refusal) -> bool,
    mut found: Option<Found>,
    read: impl Fn() -> Reading,
    mut decide: impl FnMut(Found) -> Result<Decided<Told>, E>,
) -> Result<Told, E>
where
    E: From<CommitError>,
    Reading: Future<Output = Result<Found, E>>,
{
    for _ in 0..TRIES {
        let standing = match found.take() {
            Some(found) => found,
            None => read().await?,
        };
        let (changes, told) = match decide(standing)? {
            Decided::Change(changes, told) => (*changes, told),
            Decided::Stay(told) => return Ok(told),
        };
        match commit.commit(changes).await {
            Ok(_) => return Ok(told),
            Err(CommitError::Refused(refusal)) if is_overtaken(&refusal) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(CommitError::Refused(Refusal::Stale).into())
}
