//! Acting on a payment: what was decided on it as it stood is committed, and decided anew where it moved meanwhile.

use quipu_commit::{Changes, Commit, CommitError, Refusal};
use quipu_merchants::StoreUnavailable;

/// How often something is decided anew. Of many who act on one payment at the same time, one gets through at each try.
const TRIES: u8 = 64;

/// What follows from a look at a payment.
pub(crate) enum Decided<T> {
    /// These changes, and what is to be told once they are committed.
    Change(Changes, T),
    /// Nothing changes, and this is to be told.
    Stay(T),
}

/// Has `decide` read and decide, and commits what it decided; all over again where something it read has changed before
/// the commit. `decide` tells by its error why nothing may be done.
pub(crate) async fn act<T, E: From<CommitError>>(
    commit: &dyn Commit,
    decide: impl AsyncFnMut() -> Result<Decided<T>, E>,
) -> Result<T, E> {
    act_unless_overtaken(commit, |refusal| matches!(refusal, Refusal::Stale), decide).await
}

/// The same, where `is_overtaken` says which refusals mean that it is to be decided anew.
pub(crate) async fn act_unless_overtaken<T, E: From<CommitError>>(
    commit: &dyn Commit,
    is_overtaken: impl Fn(&Refusal) -> bool,
    mut decide: impl AsyncFnMut() -> Result<Decided<T>, E>,
) -> Result<T, E> {
    for _ in 0..TRIES {
        let (changes, told) = match decide().await? {
            Decided::Change(changes, told) => (changes, told),
            Decided::Stay(told) => return Ok(told),
        };
        match commit.commit(changes).await {
            Ok(_) => return Ok(told),
            Err(CommitError::Refused(refusal)) if is_overtaken(&refusal) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(CommitError::Store(StoreUnavailable::Overloaded).into())
}
