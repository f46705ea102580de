#![doc = include_str!("../README.md")]

mod act;
mod answer;
mod changes;
mod join;
mod judge;
mod memory;
mod name;
mod news;
mod ports;
mod record;
mod state;
mod tally;
mod waits;
mod work;

pub use act::{Decided, act, act_again_if_overtaken, act_on};
pub use answer::{Answer, AnswerKey, IdempotencyKey, IdempotencyRecord, KeptAnswer, KeyOwner};
pub use changes::{Changes, Committed, Nonce};
pub use join::Join;
pub use judge::{AnswerToWrite, Judged, PendingSave, Position, Verdict, WriteKind, Writes, judge};
pub use memory::{Contents, Kept, Memory, Posted};
pub use name::{Holder, Index, Name, NameChange};
pub use news::{Listener, News, NewsDesk, NewsItem};
pub use ports::{Commit, CommitError, MAX_CLOCK_SKEW, Refusal, UsedKeys, WorkQueue};
pub use record::{Aggregate, Duplicate, Expect, Record, Save};
pub use state::{AggregateKey, KnownAnswer, KnownBalance, State, StateKeys};
pub use tally::{CounterKey, Tally};
pub use waits::CallWaits;
pub use work::{DueWork, LONGEST_HOLD_UP, Queue, QueueState, Work, WorkChange, WorkInHand};
