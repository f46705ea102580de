//! Reading request bodies: whole, or in pieces as they come.

use std::{cell::RefCell, future::poll_fn, rc::Rc, time::Duration};

use actix_web::{
    HttpRequest,
    dev::Payload,
    http::{Method, header},
    web::{Bytes, BytesMut},
};
use futures_util::{FutureExt as _, StreamExt};
use quipu_kernel::Problems;
use serde_json::Value;
use tokio::time::Instant;

use super::json::{self, Flaw};
use crate::{
    answer::{ApiError, ErrorCode},
    connection::{Announced, Conversation, NotWaitedFor},
    state::{MemoryShare, least_within},
};

/// The most bytes of a JSON body.
pub(crate) const MAX_JSON: usize = 1024 * 1024;
/// The most bytes of a form.
const MAX_FORM: usize = 64 * 1024;
/// The most bytes of an unread body that are skipped to keep its connection open.
const MAX_SKIPPED: usize = 64 * 1024;
/// The longest time for this skipping.
const SKIPPING: Duration = Duration::from_millis(100);

/// How the body of a route's requests is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intake {
    /// Not at all.
    Nothing,
    /// Whole, up to 1 MiB; a body with another declared type than JSON is refused.
    Json,
    /// Whole, up to 64 KiB, as a browser sends a form.
    Form,
    /// Whole, up to this many bytes, of any type.
    Whole(usize),
    /// By the handler, piece by piece, up to this many bytes in all.
    Stream(u64),
}

impl Intake {
    /// How bodies of this method are read unless the route says otherwise.
    pub(crate) const fn of_method(method: &str) -> Self {
        match method.as_bytes() {
            b"GET" => Self::Nothing,
            _ => Self::Json,
        }
    }

    /// The most bytes that are accepted.
    pub(crate) const fn at_most(self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Json => MAX_JSON as u64,
            Self::Form => MAX_FORM as u64,
            Self::Whole(bytes) => bytes as u64,
            Self::Stream(bytes) => bytes,
        }
    }

    /// Refuses a body of another type before it is sent, if the head makes certain that there will be a body.
    pub(crate) fn judge_announced(self, request: &HttpRequest) -> Result<(), ApiError> {
        let is_certain = declared_length(request).is_some_and(|length| length > 0)
            || is_announced(request) && request.headers().contains_key(header::EXPECT);
        if is_certain { self.judge_kind(request) } else { Ok(()) }
    }

    /// Refuses a body of another type. A body without a declared type counts as the right one.
    pub(crate) fn judge_type(self, request: &HttpRequest, body: &[u8]) -> Result<(), ApiError> {
        if body.is_empty() { Ok(()) } else { self.judge_kind(request) }
    }

    fn judge_kind(self, request: &HttpRequest) -> Result<(), ApiError> {
        let expected = match self {
            Self::Json => "application/json",
            Self::Form => "application/x-www-form-urlencoded",
            Self::Nothing | Self::Whole(_) | Self::Stream(_) => return Ok(()),
        };
        let is = |name: header::HeaderName, expected: &str| {
            request.headers().get(name).is_none_or(|value| {
                let value = value.to_str().unwrap_or_default();
                value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(expected)
            })
        };
        if is(header::CONTENT_TYPE, expected) && is(header::CONTENT_ENCODING, "identity") {
            return Ok(());
        }
        let message = format!("send the body with Content-Type {expected} and without Content-Encoding");
        Err(ApiError::refused(ErrorCode::UnsupportedMediaType, message))
    }
}

/// Whether the body of a request of this method is read.
pub(crate) fn has_body(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// Reads the whole body, up to `at_most` bytes, if there is `room` for it. Once room is scarce, it is refused
/// unless it arrives within two seconds.
pub(crate) async fn read(
    payload: &mut Payload,
    at_most: usize,
    room: &MemoryShare,
    timeout: Duration,
    announced: Option<&Announced>,
) -> Result<Bytes, ApiError> {
    let whole = async {
        tokio::select! {
            biased;
            whole = collect(payload, at_most, room) => whole,
            () = tokio::time::sleep(timeout) => Err(too_slow()),
            () = room.is_needed() => Err(too_slow()),
        }
    };
    unless_refused(whole, at_most as u64, announced).await
}

/// Asks a client that holds its body back to send it, unless what it has announced is refused in any case. Returns what
/// it announces.
pub(crate) fn wanted(conversation: &Conversation, at_most: u64) -> Option<Rc<Announced>> {
    let announced = conversation.announced();
    let is_refused = announced.as_deref().is_some_and(|it| it.refusal(at_most).now_or_never().is_some());
    if !is_refused {
        conversation.want_body();
    }
    announced
}

/// Reads on, unless the client announces more than is accepted, or sends malformed chunks.
async fn unless_refused<T>(
    reading: impl Future<Output = Result<T, ApiError>>,
    at_most: u64,
    announced: Option<&Announced>,
) -> Result<T, ApiError> {
    let Some(announced) = announced else { return reading.await };
    tokio::select! {
        biased;
        refusal = announced.refusal(at_most) => Err(match refusal {
            NotWaitedFor::TooLarge => too_large(at_most),
            NotWaitedFor::Malformed => ApiError::validation("body", "must come in well-formed chunks"),
        }),
        read = reading => read,
    }
}

async fn collect(payload: &mut Payload, at_most: usize, room: &MemoryShare) -> Result<Bytes, ApiError> {
    let judge = |length| {
        if length > at_most {
            return Err(too_large(at_most as u64));
        }
        if room.grow_to(length) { Ok(()) } else { Err(ApiError::Overloaded) }
    };
    let Some(first) = payload.next().await else { return Ok(Bytes::new()) };
    let first = first.map_err(|_| broken())?;
    judge(first.len())?;
    // Most bodies come in one piece, which is then the body, without a copy.
    let Some(second) = payload.next().await else { return Ok(first) };
    let mut body = BytesMut::from(&first[..]);
    let mut next = Some(second);
    while let Some(chunk) = next {
        let chunk = chunk.map_err(|_| broken())?;
        judge(body.len() + chunk.len())?;
        body.extend_from_slice(&chunk);
        next = payload.next().await;
    }
    Ok(body.freeze())
}

/// A request's body, shared by the handler that may read it and the answer that outlives the handler.
pub(crate) type SharedPayload = Rc<RefCell<Payload>>;

/// A body that its handler reads piece by piece. It never returns more bytes than the route allows.
pub(crate) struct Upload {
    payload: SharedPayload,
    conversation: Option<Rc<Conversation>>,
    at_most: u64,
    taken: u64,
    patience: Duration,
    /// When the present period began, and how many bytes had arrived by then.
    since: (Instant, u64),
    /// When the last piece was handed over, or the call was. What the handler takes for it is not the client's time.
    handed_over: Option<Instant>,
}

impl Upload {
    /// Each piece must arrive within `patience`, and in each such period enough bytes.
    pub(crate) fn new(
        payload: SharedPayload,
        conversation: Option<Rc<Conversation>>,
        at_most: u64,
        patience: Duration,
    ) -> Self {
        let now = Instant::now();
        Self { payload, conversation, at_most, taken: 0, patience, since: (now, 0), handed_over: Some(now) }
    }

    /// The next piece; `None` at the end. Only this call asks a client that holds its body back to send it.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        let announced =
            self.conversation.as_deref().and_then(|conversation| wanted(conversation, self.at_most));
        let (payload, at_most) = (Rc::clone(&self.payload), self.at_most);
        let next = async { Ok(poll_fn(|context| payload.borrow_mut().poll_next_unpin(context)).await) };
        let next = unless_refused(next, at_most, announced.as_deref());
        let next = tokio::time::timeout_at(self.patient_until()?, next).await.map_err(|_| too_slow())?;
        let Some(piece) = next? else { return Ok(None) };
        let piece = piece.map_err(|_| broken())?;
        self.taken += piece.len() as u64;
        if self.taken > self.at_most {
            return Err(too_large(self.at_most));
        }
        self.handed_over = Some(Instant::now());
        Ok(Some(piece))
    }

    /// The deadline for the next piece. It is renewed if the client has sent enough since the last renewal;
    /// otherwise the present deadline stays.
    fn patient_until(&mut self) -> Result<Instant, ApiError> {
        let now = Instant::now();
        if let Some(handed_over) = self.handed_over.take() {
            self.since.0 += now - handed_over;
        }
        let (since, taken) = self.since;
        let has_sent_enough = self.taken - taken >= least_within(self.patience);
        if has_sent_enough {
            self.since = (now, self.taken);
        } else if now >= since + self.patience {
            return Err(too_slow());
        }
        Ok(self.since.0 + self.patience)
    }
}

/// Whether the unread rest of a body was short and has arrived, so that the connection can be reused.
pub(crate) async fn is_soon_over(payload: &mut Payload) -> bool {
    let read_on = async {
        let mut skipped = 0;
        while let Some(Ok(chunk)) = payload.next().await {
            skipped += chunk.len();
            if skipped > MAX_SKIPPED {
                return false;
            }
        }
        true
    };
    tokio::time::timeout(SKIPPING, read_on).await.unwrap_or(false)
}

/// Whether the head of the request says that a body follows (RFC 9112, section 6).
pub(crate) fn is_announced(request: &HttpRequest) -> bool {
    request.headers().contains_key(header::TRANSFER_ENCODING)
        || declared_length(request).is_some_and(|length| length > 0)
}

/// The length that the head of the request announces.
pub(crate) fn declared_length(request: &HttpRequest) -> Option<u64> {
    request.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

pub(crate) fn too_large(at_most: u64) -> ApiError {
    const MIB: u64 = 1024 * 1024;
    let bound = if at_most.is_multiple_of(MIB) {
        format!("{} MiB", at_most / MIB)
    } else {
        format!("{at_most} bytes")
    };
    ApiError::refused(ErrorCode::BodyTooLarge, format!("the body must be at most {bound}"))
}

fn too_slow() -> ApiError {
    ApiError::refused(ErrorCode::BodyTimeout, "the body did not arrive in time")
}

fn broken() -> ApiError {
    ApiError::validation("body", "ended before its time")
}

/// Reads a JSON body. Whatever is wrong with its syntax is one problem.
pub fn read_json(body: &[u8]) -> Result<Value, Problems> {
    json::parse(body).map_err(|flaw| match flaw {
        Flaw::Syntax => Problems::of("body", "must be valid JSON"),
        Flaw::TooLarge => Problems::of("body", "must not hold a number above 1.79e308"),
        Flaw::TooDeep => {
            Problems::of("body", format_args!("must not be nested more than {} levels deep", json::DEEPEST))
        }
        Flaw::TooMany => {
            Problems::of("body", format_args!("must not hold more than {} values", json::MOST_VALUES))
        }
        Flaw::Twice(member) => Problems::of(&member, "must be given only once"),
    })
}

/// Like [`read_json`], for an operation whose body may be left out, which is then an empty object.
pub(crate) fn read_optional_json(body: &[u8]) -> Result<Value, Problems> {
    if body.is_empty() { Ok(Value::Object(serde_json::Map::new())) } else { read_json(body) }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use actix_web::error::PayloadError;
    use futures_util::{Stream, stream};
    use tokio::time::sleep;

    use super::*;
    use crate::state::{BodyMemory, Sender};

    const PATIENCE: Duration = Duration::from_secs(30);

    /// The second at which an upload with these pieces fails, each `piece` being its delay in seconds and its
    /// length; `None` if it goes on for five minutes.
    async fn ends(piece: impl Fn(u64) -> (u64, usize) + Copy + 'static) -> Option<u64> {
        ends_beside(Duration::ZERO, piece).await
    }

    /// The same with a handler that works for so long on each piece.
    async fn ends_beside(
        work: Duration,
        piece: impl Fn(u64) -> (u64, usize) + Copy + 'static,
    ) -> Option<u64> {
        let pieces = stream::unfold(0, move |number| async move {
            let (seconds, length) = piece(number);
            sleep(Duration::from_secs(seconds)).await;
            Some((Ok::<_, PayloadError>(Bytes::from(vec![0; length])), number + 1))
        });
        let pieces: Pin<Box<dyn Stream<Item = Result<Bytes, PayloadError>>>> = Box::pin(pieces);
        let payload = Payload::Stream { payload: pieces };
        let mut upload = Upload::new(Rc::new(RefCell::new(payload)), None, u64::MAX, PATIENCE);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_mins(5) {
            sleep(work).await;
            if let Err(error) = upload.next().await {
                assert!(matches!(error.code(), ErrorCode::BodyTimeout), "{error:?}");
                return Some(begun.elapsed().as_secs());
            }
        }
        None
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_is_waited_for_unless_room_is_scarce() {
        let memory = BodyMemory::default();
        let stranger = |last| Sender::Stranger(Some([192, 0, 2, last].into()));
        let others: Vec<_> = (1..=4).map(|last| memory.room(stranger(last))).collect();
        let stalls = async |room: &MemoryShare| {
            let never = stream::pending::<Result<Bytes, PayloadError>>();
            let never: Pin<Box<dyn Stream<Item = _>>> = Box::pin(never);
            let mut payload = Payload::Stream { payload: never };
            let begun = Instant::now();
            let error = read(&mut payload, MAX_JSON, room, PATIENCE, None).await.expect_err("it stalls");
            assert!(matches!(error.code(), ErrorCode::BodyTimeout), "{error:?}");
            begun.elapsed().as_secs()
        };
        let room = memory.room(stranger(0));
        assert!(room.grow_to(MAX_JSON / 2));
        assert_eq!(stalls(&room).await, 30);
        let becomes_scarce = async {
            sleep(Duration::from_secs(9)).await;
            assert!(others.iter().all(|other| other.grow_to(8 * MAX_JSON)));
        };
        assert_eq!(tokio::join!(stalls(&room), becomes_scarce).0, 10, "it has waited before");
        assert_eq!(stalls(&room).await, 2);
        assert_eq!(stalls(&memory.room(stranger(5))).await, 30, "a body that takes nothing of it");
        assert_eq!(stalls(&memory.room(Sender::Staff)).await, 30, "strangers take nothing from staff");
    }

    #[tokio::test(start_paused = true)]
    async fn an_upload_goes_on_as_long_as_enough_of_it_comes() {
        assert_eq!(ends(|_| (1, 16 * 1024)).await, None);
        assert_eq!(ends(|_| (29, 29 * 16 * 1024)).await, None, "in portions");
        assert_eq!(ends(|_| (1, 4 * 1024)).await, Some(30), "it trickles");
        assert_eq!(ends(|_| (1000, 1)).await, Some(30), "it never begins");
        let stalls = |number| if number < 5 { (1, 1024 * 1024) } else { (1000, 1) };
        assert_eq!(ends(stalls).await, Some(35), "it stalls");
        let dwindles = |number| if number < 5 { (1, 1024 * 1024) } else { (1, 10) };
        assert_eq!(ends(dwindles).await, Some(35), "it dwindles");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_is_not_charged_for_the_time_that_its_pieces_take_here() {
        let work = Duration::from_secs(40);
        assert_eq!(ends_beside(work, |_| (0, 1_000)).await, None);
        assert_eq!(ends_beside(work, |_| (10, 1_000)).await, Some(190), "30 seconds of its own");
    }
}
