//! The body of an answer, on its way to the client.

use std::{
    convert::Infallible,
    error::Error,
    pin::Pin,
    task::{Context, Poll, ready},
};

use actix_web::{
    body::{BodySize, BoxBody, MessageBody},
    dev::Payload,
    web::Bytes,
};

use crate::{connection::Turn, state::MemoryShare};

/// The most bytes that are passed on at a time.
const PORTION: usize = 16 * 1024;

/// An answer being sent. It holds its connection's turn until it is sent, its room if it is long, and the unread rest
/// of the request's body: while that is held, the server closes the connection after the answer without reading on.
///
/// The web server copies whatever it is given into a buffer of the connection, and keeps that until the
/// client has taken all of it. So it is given a long answer in portions, as the client takes them.
pub(crate) struct Sending {
    answer: BoxBody,
    /// What is left of the present piece of the answer.
    piece: Bytes,
    _turn: Option<Turn>,
    _rest: Option<Payload>,
    _room: Option<MemoryShare>,
}

impl Sending {
    pub(crate) const fn new(
        answer: BoxBody,
        turn: Option<Turn>,
        rest: Option<Payload>,
        room: Option<MemoryShare>,
    ) -> Self {
        Self { answer, piece: Bytes::new(), _turn: turn, _rest: rest, _room: room }
    }
}

impl MessageBody for Sending {
    type Error = Box<dyn Error>;

    fn size(&self) -> BodySize {
        self.answer.size()
    }

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let this = self.get_mut();
        if this.piece.is_empty() {
            match ready!(Pin::new(&mut this.answer).poll_next(context)) {
                Some(Ok(piece)) => this.piece = piece,
                other => return Poll::Ready(other),
            }
        }
        let portion = this.piece.len().min(PORTION);
        Poll::Ready(Some(Ok(this.piece.split_to(portion))))
    }
}

/// The body of an answer to `HEAD`: the size of what `GET` would send, and none of it.
pub(crate) struct Withheld(pub(crate) BodySize);

impl MessageBody for Withheld {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        self.0
    }

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Infallible>>> {
        Poll::Ready(None)
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, pin::pin};

    use actix_web::body::BodyStream;
    use futures_util::stream;

    use super::*;

    async fn portions(answer: BoxBody) -> Vec<Bytes> {
        let mut sending = pin!(Sending::new(answer, None, None, None));
        let mut portions = Vec::new();
        while let Some(portion) = poll_fn(|context| sending.as_mut().poll_next(context)).await {
            portions.push(portion.expect("no error"));
        }
        portions
    }

    #[actix_web::test]
    async fn a_long_answer_is_passed_on_in_portions_of_the_same_bytes() {
        let whole: Vec<u8> = (0..=u8::MAX).cycle().take(3 * PORTION + 1).collect();
        let pieces =
            whole.chunks(2 * PORTION).map(|piece| Ok::<_, Box<dyn Error>>(Bytes::copy_from_slice(piece)));
        let streamed = BodyStream::new(stream::iter(pieces.collect::<Vec<_>>()));
        for answer in [BoxBody::new(whole.clone()), BoxBody::new(streamed)] {
            let portions = portions(answer).await;
            let lengths: Vec<_> = portions.iter().map(Bytes::len).collect();
            assert_eq!(lengths, [PORTION, PORTION, PORTION, 1]);
            assert!(portions.concat() == whole);
        }
    }

    #[test]
    fn an_answer_in_portions_keeps_its_length() {
        let sending = Sending::new(BoxBody::new(vec![0; 3 * PORTION]), None, None, None);
        assert_eq!(sending.size(), BodySize::Sized(3 * PORTION as u64));
    }
}
