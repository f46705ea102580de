//! Parses the framing of incoming requests (heads and chunk sizes), so that an announced size above the limit is refused
//! before its bytes arrive.
//!
//! The web server does not report the size of a chunk before its bytes have arrived, and does not answer a malformed chunk. So
//! the socket parses along: it reports the announced size of each body, and does not pass malformed chunks to the web server.
//! It passes on everything that it cannot parse; the web server checks that itself.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    rc::Rc,
    task::{Poll, Waker},
};

use super::Conversation;

/// A size that no route takes. Its line is not passed on.
const ABSURD: u64 = u32::MAX as u64;
/// The longest head that is followed, which is more than the web server takes.
const LONGEST_HEAD: usize = 256 * 1024;
/// Lines of a head, as many as the web server takes.
const LINES: usize = 96;

/// What a client has announced so far of a body that comes in chunks.
#[derive(Debug, Default)]
pub(crate) struct Announced {
    bytes: Cell<u64>,
    is_malformed: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// Why the rest of a body is not waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotWaitedFor {
    /// More was announced than is taken.
    TooLarge,
    /// What came is no chunk.
    Malformed,
}

impl Announced {
    /// Completes when the body need not be waited for by somebody who takes so many bytes.
    pub(crate) async fn refusal(&self, at_most: u64) -> NotWaitedFor {
        poll_fn(|context| {
            if self.is_malformed.get() {
                return Poll::Ready(NotWaitedFor::Malformed);
            }
            if self.bytes.get() > at_most {
                return Poll::Ready(NotWaitedFor::TooLarge);
            }
            *self.waker.borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    fn add(&self, bytes: u64) {
        self.bytes.set(self.bytes.get().saturating_add(bytes));
        self.wake();
    }

    fn fail(&self) {
        self.is_malformed.set(true);
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

/// Where in the stream of requests a connection is.
enum State {
    /// Within a head, of which this has come.
    Head(Vec<u8>),
    /// Within a body of which so many bytes are still to come.
    Body(u64),
    Chunks(Chunks),
    /// Where only the web server knows.
    Lost,
}

/// Follows what arrives on one connection.
pub(super) struct Incoming(State);

impl Incoming {
    pub(super) const fn new() -> Self {
        Self(State::Head(Vec::new()))
    }

    /// How many of the bytes that arrived are to be passed on; if not all, nothing after them is either.
    pub(super) fn follow(&mut self, bytes: &[u8], conversation: &Conversation) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match &mut self.0 {
                State::Head(before) => {
                    let (taken, next) = follow_head(before, rest, conversation);
                    at += taken;
                    if let Some(next) = next {
                        self.0 = next;
                    }
                }
                State::Body(left) => {
                    let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    at += taken;
                    *left -= taken as u64;
                    if *left == 0 {
                        self.0 = State::Head(Vec::new());
                    }
                }
                State::Chunks(chunks) => match chunks.follow(rest) {
                    Followed::All => return bytes.len(),
                    Followed::ToTheEnd(taken) => {
                        at += taken;
                        self.0 = State::Head(Vec::new());
                    }
                    Followed::Refused(taken) => return at + taken,
                },
                State::Lost => return bytes.len(),
            }
        }
        bytes.len()
    }
}

/// How many bytes belong to the head, and what comes after it if it is whole.
fn follow_head(before: &mut Vec<u8>, bytes: &[u8], conversation: &Conversation) -> (usize, Option<State>) {
    let known = before.len();
    if known > 0 {
        before.extend_from_slice(bytes);
    }
    let whole = if known > 0 { &before[..] } else { bytes };
    let mut lines = [httparse::EMPTY_HEADER; LINES];
    let mut head = httparse::Request::new(&mut lines);
    match head.parse(whole) {
        Ok(httparse::Status::Complete(length)) => {
            let next = after(&head);
            conversation.announce(match &next {
                State::Chunks(chunks) => Some(Rc::clone(&chunks.announced)),
                _ => None,
            });
            (length - known, Some(next))
        }
        Ok(httparse::Status::Partial) if whole.len() <= LONGEST_HEAD => {
            if known == 0 {
                before.extend_from_slice(bytes);
            }
            (bytes.len(), None)
        }
        _ => (bytes.len(), Some(State::Lost)),
    }
}

/// What follows a head (RFC 9112, section 6.3), where it is beyond doubt.
fn after(head: &httparse::Request<'_, '_>) -> State {
    let mut length = None;
    let mut is_chunked = false;
    for line in head.headers.iter() {
        let value = str::from_utf8(line.value).unwrap_or_default().trim();
        if line.name.eq_ignore_ascii_case("content-length") {
            let (None, Ok(bytes)) = (length, value.parse::<u64>()) else { return State::Lost };
            length = Some(bytes);
        } else if line.name.eq_ignore_ascii_case("transfer-encoding") {
            if is_chunked || head.version != Some(1) || !value.eq_ignore_ascii_case("chunked") {
                return State::Lost;
            }
            is_chunked = true;
        } else if line.name.eq_ignore_ascii_case("upgrade") {
            return State::Lost;
        }
    }
    match (is_chunked, length) {
        _ if head.method == Some("CONNECT") => State::Lost,
        (true, None) => State::Chunks(Chunks::new()),
        (false, Some(bytes)) if bytes > 0 => State::Body(bytes),
        (false, _) => State::Head(Vec::new()),
        (true, Some(_)) => State::Lost,
    }
}

/// Where in a body of chunks (RFC 9112, section 7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    FirstDigit,
    Digits,
    Blank,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// At the beginning of a line after the last chunk.
    Line,
    WithinLine,
    LineLf,
    LastLf,
}

struct Chunks {
    step: Step,
    /// What is announced of the present chunk, or left of it.
    size: u64,
    announced: Rc<Announced>,
}

enum Followed {
    All,
    /// So many bytes, and the next one begins another request.
    ToTheEnd(usize),
    /// So many bytes, and the next one is not to be passed on.
    Refused(usize),
}

impl Chunks {
    fn new() -> Self {
        Self { step: Step::FirstDigit, size: 0, announced: Rc::default() }
    }

    fn follow(&mut self, bytes: &[u8]) -> Followed {
        let mut at = 0;
        while at < bytes.len() {
            if self.step == Step::Data {
                let taken = usize::try_from(self.size).unwrap_or(usize::MAX).min(bytes.len() - at);
                at += taken;
                self.size -= taken as u64;
                if self.size == 0 {
                    self.step = Step::DataCr;
                }
                continue;
            }
            if self.step == Step::LastLf && bytes[at] == b'\n' {
                return Followed::ToTheEnd(at + 1);
            }
            let Some(next) = self.next(bytes[at]) else {
                self.announced.fail();
                return Followed::Refused(at);
            };
            if matches!(next, Step::Digits) && self.size > ABSURD {
                self.announced.add(self.size);
                return Followed::Refused(at);
            }
            self.step = next;
            at += 1;
        }
        Followed::All
    }

    /// The step after this byte; none if it cannot stand here.
    fn next(&mut self, byte: u8) -> Option<Step> {
        let next = match (self.step, byte) {
            (Step::FirstDigit | Step::Digits, _) if byte.is_ascii_hexdigit() => {
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                self.size = self.size.saturating_mul(16).saturating_add(digit.into());
                Step::Digits
            }
            (Step::Digits | Step::Blank, b' ' | b'\t') => Step::Blank,
            (Step::Digits | Step::Blank, b';') | (Step::Extension, b'\t' | b' '..=b'~' | 0x80..) => {
                Step::Extension
            }
            (Step::Digits | Step::Blank | Step::Extension, b'\r') => Step::SizeLf,
            (Step::SizeLf, b'\n') => {
                self.announced.add(self.size);
                if self.size > 0 { Step::Data } else { Step::Line }
            }
            (Step::DataCr, b'\r') => Step::DataLf,
            (Step::DataLf, b'\n') => Step::FirstDigit,
            (Step::Line, b'\r') => Step::LastLf,
            (Step::WithinLine, b'\r') => Step::LineLf,
            (Step::Line | Step::WithinLine, _) if byte != b'\n' => Step::WithinLine,
            (Step::LineLf, b'\n') => Step::Line,
            _ => return None,
        };
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

    /// Follows a text in pieces of some length; answers how much was passed on, and what was announced of each request.
    fn follow(text: &str, piece: usize) -> (usize, Vec<Option<(u64, bool)>>) {
        let (conversation, mut incoming) = (Conversation::new(None), Incoming::new());
        let mut passed = 0;
        for bytes in text.as_bytes().chunks(piece) {
            let some = incoming.follow(bytes, &conversation);
            passed += some;
            if some < bytes.len() {
                break;
            }
        }
        let read = |it: Option<Rc<Announced>>| it.map(|it| (it.bytes.get(), it.is_malformed.get()));
        (passed, conversation.all_announced().into_iter().map(read).collect())
    }

    #[test]
    fn requests_are_told_apart_however_they_are_cut() {
        let text = format!(
            "GET / HTTP/1.1\r\nHost: x\r\n\r\nPOST /y HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello\
             {HEAD}5\r\nhello\r\nA;x=\"y\"\r\n0123456789\r\n0\r\nTrailer: z\r\n\r\n{HEAD}3 \r\n1\r\n\r\n0\r\n\r\n"
        );
        for piece in [1, 2, 3, 7, 64, 10_000] {
            let (passed, announced) = follow(&text, piece);
            assert_eq!(passed, text.len(), "pieces of {piece}");
            assert_eq!(announced, [None, None, Some((15, false)), Some((3, false))], "pieces of {piece}");
        }
    }

    #[test]
    fn what_is_announced_is_known_before_it_comes() {
        for (size, expected) in [("200000", 0x0020_0000), ("FFFFFFFF", 0xFFFF_FFFF)] {
            let (_, announced) = follow(&format!("{HEAD}{size}\r\n"), 1);
            assert_eq!(announced, [Some((expected, false))]);
        }
        for size in ["8000000000000000", "10000000000000000", "fffffffffffffffffffffffff"] {
            let text = format!("{HEAD}{size}\r\nabc");
            let (passed, announced) = follow(&text, 10_000);
            assert!(passed < text.len() - 5, "the web server would stumble over {size}");
            assert!(matches!(announced[..], [Some((bytes, false))] if bytes > ABSURD), "{announced:?}");
        }
    }

    #[test]
    fn what_is_no_chunk_is_not_passed_on() {
        for wrong in
            ["zz\r\n", "\r\n", "-1\r\n", "5\nhello", "1\r\nab", "1\r\na\rx", "0\r\n\n", "1 1\r\n", "1;\u{1}"]
        {
            let text = format!("{HEAD}{wrong}");
            for piece in [1, 10_000] {
                let (passed, announced) = follow(&text, piece);
                assert!(passed < text.len(), "{wrong:?}");
                assert!(matches!(announced[..], [Some((_, true))]), "{wrong:?}: {announced:?}");
            }
        }
    }

    #[test]
    fn what_only_the_web_server_understands_passes() {
        for head in [
            "nonsense\r\n\r\n",
            "POST /x HTTP/1.1\r\nContent-Length: x\r\n\r\n",
            "POST /x HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST /x HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
            "POST /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET /x HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        ] {
            let text = format!("{head}zz\r\n");
            assert_eq!(follow(&text, 10_000).0, text.len(), "{head}");
        }
    }
}
