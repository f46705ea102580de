//! Connections, below HTTP: nobody holds one for ever.
//!
//! The web server times the first head of a connection and nothing else. So it reads and writes through a [`Guarded`]
//! socket that knows, by the [`Conversation`] it shares with whoever answers, in which phase the connection is: before a
//! head, within a head, or in an exchange. Each phase has its end. The [`Crowd`] of all connections makes room for a new
//! one by ending the one that has been idle for longest, and the [`Gate`] keeps a flood of requests from holding up the answers.
//! What arrives is followed ([`Incoming`](incoming::Incoming)), so that whoever reads a body knows what was announced of it.

mod conversation;
mod crowd;
mod gate;
mod guarded;
mod incoming;
mod refusal;

pub(crate) use conversation::{Conversation, Turn};
pub(crate) use crowd::{Crowd, descriptors};
pub(crate) use gate::Gate;
pub(crate) use guarded::Guarded;
pub(crate) use incoming::{Announced, NotWaitedFor};
