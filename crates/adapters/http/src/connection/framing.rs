//! What becomes of the bytes of one connection, for fuzz tests.

use super::{conversation::Conversation, incoming::Incoming};

/// What was read in the bytes that arrived on one connection.
#[derive(Debug, PartialEq, Eq)]
pub struct Framing {
    /// The bytes that were passed on to the web server.
    pub passed_on: Vec<u8>,
    /// One entry for each request. If its body is chunked: the size that was announced, and whether the chunks
    /// are malformed.
    pub bodies: Vec<Option<(u64, bool)>>,
}

/// Reads bytes that arrive in pieces of these lengths, each request being answered as soon as all of it was
/// passed on.
pub fn read_framing(bytes: &[u8], mut piece: impl FnMut() -> usize) -> Framing {
    let (conversation, mut incoming) = (Conversation::new(None), Incoming::new());
    let (mut passed_on, mut announced) = (Vec::new(), Vec::new());
    let mut rest = bytes;
    while !rest.is_empty() {
        let (arrived, later) = rest.split_at(piece().clamp(1, rest.len()));
        rest = later;
        let mut arrived = arrived.to_vec();
        let some = incoming.take(&mut arrived, &conversation);
        passed_on.extend_from_slice(&arrived[..some]);
        loop {
            while incoming.has_free() {
                incoming.give(7, |bytes| passed_on.extend_from_slice(bytes));
            }
            if !incoming.is_behind() {
                break;
            }
            announced.extend(conversation.all_announced());
            incoming.go_on(&conversation);
        }
    }
    announced.extend(conversation.all_announced());
    Framing { passed_on, bodies: announced.into_iter().map(|it| it.map(|it| it.seen())).collect() }
}
