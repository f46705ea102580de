//! Follows a body in chunked transfer coding.
//!
//! The web server does not report the size of a chunk before its bytes have arrived, and does not answer a malformed chunk. So
//! the socket reports the announced size of each body, and does not pass malformed chunks to the web server.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    rc::Rc,
    task::{Poll, Waker},
};

/// A larger chunk size is accepted by no route. Its line is not passed on.
pub(super) const ABSURD: u64 = u32::MAX as u64;

/// The bytes that a client has announced so far of a chunked body.
#[derive(Debug, Default)]
pub(crate) struct Announced {
    bytes: Cell<u64>,
    is_malformed: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// Why the rest of a body need not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotWaitedFor {
    /// More bytes were announced than are accepted.
    TooLarge,
    /// The bytes are not a valid chunk.
    Malformed,
}

impl Announced {
    /// Completes when the body has to be refused by a reader that accepts `at_most` bytes.
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

    /// The bytes that were announced so far, and whether the body is malformed.
    pub(super) fn seen(&self) -> (u64, bool) {
        (self.bytes.get(), self.is_malformed.get())
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

/// The position within a chunked body (RFC 9112, section 7.1).
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
    /// At the beginning of a trailer line, or of the empty line that ends the body.
    Line,
    WithinLine,
    LineLf,
    LastLf,
}

/// The state of one chunked body.
pub(super) struct Chunks {
    step: Step,
    /// The size of the present chunk as far as it was read, then the bytes left of it.
    size: u64,
    announced: Rc<Announced>,
}

/// How many of some bytes belong to the body.
pub(super) enum Followed {
    All,
    /// This many bytes; the next one begins another request.
    ToTheEnd(usize),
    /// This many bytes; the next one must not be passed on.
    Refused(usize),
}

impl Chunks {
    pub(super) fn new() -> Self {
        Self { step: Step::FirstDigit, size: 0, announced: Rc::default() }
    }

    /// The announced size of the body, which grows as chunks arrive.
    pub(super) fn announced(&self) -> Rc<Announced> {
        Rc::clone(&self.announced)
    }

    pub(super) fn follow(&mut self, bytes: &[u8]) -> Followed {
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

    /// The next step after this byte; `None` if the byte is not allowed here.
    fn next(&mut self, byte: u8) -> Option<Step> {
        let next = match (self.step, byte) {
            (Step::FirstDigit | Step::Digits, _) if byte.is_ascii_hexdigit() => {
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                self.size = self.size.saturating_mul(16).saturating_add(digit.into());
                Step::Digits
            }
            (Step::Digits | Step::Blank, b' ' | b'\t') => Step::Blank,
            // Parsers disagree about where a quoted text ends, and no client needs one.
            (Step::Extension, b'"' | b'\\') => return None,
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
