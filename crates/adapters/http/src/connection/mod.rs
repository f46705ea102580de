//! Connections, below HTTP: no client can hold one for ever.
//!
//! The web server limits the time of a connection's first head and of nothing else. So it reads and writes
//! through a [`Guarded`] socket. The socket shares a [`Conversation`] with the handlers, which records the
//! phase of the connection: before a head, within a head, or in an exchange. Each phase has a time limit. The
//! [`Crowd`] of all connections makes room for a new one by closing the one that has been idle for longest,
//! and the [`Gate`] keeps a flood of requests from delaying answers. [`Incoming`](incoming::Incoming) parses
//! the arriving bytes, so that the reader of a body knows its announced size, and passes requests on one by
//! one.

mod ahead;
mod chunks;
mod conversation;
mod crowd;
mod framing;
mod gate;
mod guarded;
mod head;
mod incoming;
pub(crate) mod proxies;
mod refusal;
mod stall;

pub(crate) use chunks::{Announced, NotWaitedFor};
pub(crate) use conversation::{Conversation, FIRST_HEAD, IDLE, Turn};
pub(crate) use crowd::Crowd;
pub use framing::{Framing, read_framing};
pub(crate) use gate::Gate;
pub(crate) use guarded::{Guarded, Terms};
