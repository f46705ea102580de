//! One attempt to deliver an event.

use std::time::Duration;

use quipu_kernel::Timestamp;
use serde::{Deserialize, Serialize};

/// Why there is no complete answer. A merchant is told only these words, so that nobody can explore what is
/// behind an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum SendProblem {
    /// The address is not public, or deliveries must not go to addresses of its kind.
    #[error("the address is not allowed")]
    AddressNotAllowed,
    /// The name has no address.
    #[error("the name could not be resolved")]
    NotResolved,
    /// No connection could be made.
    #[error("the connection could not be made")]
    NotConnected,
    /// TLS could not be negotiated, or the certificate is not valid.
    #[error("the TLS connection could not be made")]
    Tls,
    /// The connection or the whole exchange took too long.
    #[error("timed out")]
    TimedOut,
    /// The connection ended too early, or the answer was not HTTP.
    #[error("the answer ended early or was malformed")]
    Broken,
    /// The answer was longer than we read, had more preliminary answers than we accept, or an encoding that
    /// we did not ask for.
    #[error("the answer was too long, compressed, or preceded by too many 1xx answers")]
    TooMuch,
    /// The secret could not be opened, or the address could not be used: an error of this installation.
    #[error("the delivery could not be prepared")]
    Unprepared,
    /// The secret could not be read at the moment, or too many names of the domain were being looked up. Nothing
    /// was sent, so this does not count as an attempt.
    #[error("nothing was sent, since the gateway was busy or its database not available; try again")]
    NothingSent,
}

/// The HTTP response of a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status code.
    pub status: u16,
    /// How long the receiver asks us to wait before the next attempt.
    pub retry_after: Option<Duration>,
    /// The beginning of the body, [`Response::KEPT`] bytes at most.
    pub excerpt: String,
}

impl Response {
    /// The number of bytes of an answer that are stored.
    pub const KEPT: usize = 1024;

    /// An answer whose body began with `body`. Bytes that are not UTF-8 are replaced, as are all control characters but
    /// tabs and line ends: one of the databases cannot store NUL, and the others are six bytes each in JSON. The text
    /// stays within [`Response::KEPT`] bytes.
    pub fn new(status: u16, retry_after: Option<Duration>, body: &[u8]) -> Self {
        Self { status, retry_after, excerpt: Self::excerpt_of(body) }
    }

    /// The stored part of a body that began with these bytes.
    pub fn excerpt_of(body: &[u8]) -> String {
        let is_unwanted = |sign: char| sign.is_control() && !matches!(sign, '\t' | '\r' | '\n');
        let text =
            String::from_utf8_lossy(&body[..body.len().min(Self::KEPT)]).replace(is_unwanted, "\u{fffd}");
        let mut end = text.len().min(Self::KEPT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text[..end].to_owned()
    }

    /// Whether the receiver has accepted the delivery.
    pub const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }
}

/// An answer that began and was not completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// The HTTP status code.
    pub status: u16,
    /// How long the receiver asks us to wait before the next attempt.
    pub retry_after: Option<Duration>,
    /// The beginning of the body, like that of a complete answer, if any of it came.
    pub excerpt: Option<String>,
}

/// An attempt and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempted {
    /// When it began (UTC).
    pub started_at: Timestamp,
    /// How long it took.
    pub duration: Duration,
    /// The complete answer, or the problem; in the latter case also the beginning of an answer, if one began.
    pub result: Result<Response, (SendProblem, Option<Begun>)>,
}

impl Attempted {
    /// Whether the receiver has accepted the event.
    pub fn is_success(&self) -> bool {
        self.result.as_ref().is_ok_and(Response::is_success)
    }

    /// Whether something may have been sent. Otherwise it does not count as an attempt.
    pub const fn was_made(&self) -> bool {
        !matches!(self.result, Err((SendProblem::NothingSent, _)))
    }

    /// Whether the receiver wants no more deliveries, ever (status 410). The status counts even if the body
    /// does not arrive.
    pub const fn is_gone(&self) -> bool {
        matches!(self.result, Ok(Response { status: 410, .. }) | Err((_, Some(Begun { status: 410, .. }))))
    }

    /// How long the receiver asks us to wait before the next attempt.
    pub fn retry_after(&self) -> Option<Duration> {
        match &self.result {
            Ok(answer) => answer.retry_after,
            Err((_, begun)) => begun.as_ref().and_then(|begun| begun.retry_after),
        }
    }
}

/// An attempt as the log stores and shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The number of the attempt, from 1.
    pub number: u32,
    /// When it began (UTC).
    pub started_at: Timestamp,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The HTTP status code, if an answer began.
    pub http_status: Option<u16>,
    /// The problem, if there was no complete answer.
    pub error: Option<String>,
    /// The beginning of the answer's body.
    pub response_excerpt: Option<String>,
    /// When the next attempt is due (UTC), if there is to be one.
    pub next_attempt_at: Option<Timestamp>,
}

impl Attempt {
    /// The bytes of memory that it takes, about.
    pub fn bytes(&self) -> usize {
        let texts = [&self.error, &self.response_excerpt].into_iter().flatten();
        size_of::<Self>() + texts.map(String::len).sum::<usize>()
    }

    /// The record of an attempt.
    pub fn of(number: u32, attempted: &Attempted, next_attempt_at: Option<Timestamp>) -> Self {
        let (http_status, error, response_excerpt) = match &attempted.result {
            Ok(answer) => (Some(answer.status), None, Some(answer.excerpt.clone())),
            Err((problem, begun)) => {
                let (status, excerpt) = match begun {
                    Some(begun) => (Some(begun.status), begun.excerpt.clone()),
                    None => (None, None),
                };
                (status, Some(problem.to_string()), excerpt)
            }
        };
        Self {
            number,
            started_at: attempted.started_at,
            duration_ms: u64::try_from(attempted.duration.as_millis()).unwrap_or(u64::MAX),
            http_status,
            error,
            response_excerpt,
            next_attempt_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_answer_gives_an_excerpt_of_a_kilobyte_at_most(body: Vec<u8>, repeat in 1_usize..200) {
            let excerpt = Response::new(200, None, &body.repeat(repeat)).excerpt;
            prop_assert!(excerpt.len() <= Response::KEPT);
            let shown = serde_json::to_string(&excerpt).expect("JSON");
            prop_assert!(shown.len() <= 2 * Response::KEPT + 2, "{}", shown.len());
        }

        #[test]
        fn a_short_text_is_kept_as_it_is(body in "[\\PC\t\n]{0,200}") {
            prop_assert_eq!(Response::new(200, None, body.as_bytes()).excerpt, body);
        }
    }

    #[test]
    fn control_characters_are_replaced_and_leave_no_room_to_more_bytes() {
        let excerpt = |body: &str| Response::excerpt_of(body.as_bytes());
        assert_eq!(
            excerpt("a\tb\r\nc\0d\u{7f}e\u{85}f\u{1}"),
            "a\tb\r\nc\u{fffd}d\u{fffd}e\u{fffd}f\u{fffd}"
        );
        assert_eq!(excerpt(&"\u{1}".repeat(2_000)), "\u{fffd}".repeat(Response::KEPT / 3));
    }

    #[test]
    fn only_the_two_hundreds_are_successes() {
        for (status, success) in
            [(199, false), (200, true), (204, true), (299, true), (300, false), (410, false)]
        {
            assert_eq!(Response::new(status, None, b"").is_success(), success, "{status}");
        }
    }
}
