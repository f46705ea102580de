//! Long answers: each is in memory until its client has taken it.

use actix_web::{
    HttpResponse,
    body::{BoxBody, MessageBody as _},
    http::Method,
};

use crate::{
    answer::ApiError,
    request::Outcome,
    state::{AnswerMemory, MemoryShare, Sender},
};

/// Answers up to this length are not counted.
const LONG: usize = 256 * 1024;

/// Takes room for a long answer to an authenticated caller, and refuses it if there is none. Only a call that reads is
/// refused: what another has changed is answered. Files are read as they are sent, and take none.
pub(crate) fn admit(
    outcome: Outcome,
    method: &Method,
    caller: Option<Sender>,
    memory: &AnswerMemory,
) -> (Outcome, Option<MemoryShare>) {
    let Some(caller) = caller.filter(|_| *method == Method::GET) else { return (outcome, None) };
    let (answer, bytes) = match outcome {
        Ok(answer) => measured(answer),
        refused => return (refused, None),
    };
    if bytes <= LONG {
        return (Ok(answer), None);
    }
    match memory.room(caller, bytes) {
        Some(room) => (Ok(answer), Some(room)),
        None => (Err(ApiError::Overloaded), None),
    }
}

/// An answer and the bytes of it that are in memory.
fn measured(answer: HttpResponse) -> (HttpResponse, usize) {
    let mut bytes = 0;
    let answer = answer.map_body(|_, body| match body.try_into_bytes() {
        Ok(whole) => {
            bytes = whole.len();
            BoxBody::new(whole)
        }
        Err(pieces) => pieces,
    });
    (answer, bytes)
}

#[cfg(test)]
mod tests {
    use actix_web::web::Bytes;
    use futures_util::stream;
    use quipu_kernel::MerchantId;

    use super::super::sending::Sending;
    use super::*;

    const MIB: usize = 1024 * 1024;
    const ONE: Option<Sender> = Some(Sender::Merchant(MerchantId(1)));
    const OTHER: Option<Sender> = Some(Sender::Merchant(MerchantId(2)));

    fn answer(bytes: usize) -> HttpResponse {
        HttpResponse::Ok().body(vec![b'x'; bytes])
    }

    #[test]
    fn the_long_answers_of_a_caller_are_bounded_until_they_are_sent() {
        let memory = AnswerMemory::default();
        let ask = |bytes, caller| admit(Ok(answer(bytes)), &Method::GET, caller, &memory);
        let is_refused = |outcome: &Outcome| matches!(outcome, Err(ApiError::Overloaded));
        let mut sent: Vec<_> = (0..8)
            .map(|_| {
                let (outcome, room) = ask(4 * MIB, ONE);
                assert!(room.is_some());
                Sending::new(outcome.expect("admitted").into_body(), None, None, room)
            })
            .collect();
        assert!(is_refused(&ask(LONG + 1, ONE).0));
        for (bytes, caller) in
            [(LONG, ONE), (4 * MIB, OTHER), (4 * MIB, Some(Sender::Staff)), (4 * MIB, None)]
        {
            assert!(!is_refused(&ask(bytes, caller).0), "{bytes} {caller:?}");
        }
        sent.pop();
        assert!(!is_refused(&ask(4 * MIB, ONE).0));
    }

    #[test]
    fn an_answer_that_is_longer_than_the_share_is_sent_alone() {
        let memory = AnswerMemory::default();
        let (outcome, room) = admit(Ok(answer(40 * MIB)), &Method::GET, ONE, &memory);
        assert!(outcome.is_ok() && room.is_some());
        assert!(admit(Ok(answer(MIB)), &Method::GET, ONE, &memory).0.is_err());
        drop(room);
        assert!(admit(Ok(answer(MIB)), &Method::GET, ONE, &memory).0.is_ok());
    }

    #[test]
    fn what_was_changed_is_answered_and_files_take_no_room() {
        let memory = AnswerMemory::default();
        let _all = memory.room(Sender::Merchant(MerchantId(1)), 40 * MIB);
        assert!(admit(Ok(answer(MIB)), &Method::POST, ONE, &memory).0.is_ok());
        let pieces = stream::iter([Ok::<_, std::io::Error>(Bytes::from(vec![0; MIB]))]);
        let (outcome, room) = admit(Ok(HttpResponse::Ok().streaming(pieces)), &Method::GET, ONE, &memory);
        assert!(outcome.is_ok() && room.is_none());
    }
}
