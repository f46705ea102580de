//! Follows a body that comes in chunks.
//!
//! The web server does not report the size of a chunk before its bytes have arrived, and does not answer a malformed chunk. So
//! the socket reports the announced size of each body, and does not pass malformed chunks to the web server.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    rc::Rc,
    task::{Poll, Waker},
};

/// A size that no route takes. Its line is not passed on.
pub(super) const ABSURD: u64 = u32::MAX as u64;

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

    #[cfg(test)]
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

/// The state of one such body.
pub(super) struct Chunks {
    step: Step,
    /// What is announced of the present chunk, or left of it.
    size: u64,
    announced: Rc<Announced>,
}

/// How far some bytes were followed.
pub(super) enum Followed {
    All,
    /// So many bytes, and the next one begins another request.
    ToTheEnd(usize),
    /// So many bytes, and the next one is not to be passed on.
    Refused(usize),
}

impl Chunks {
    pub(super) fn new() -> Self {
        Self { step: Step::FirstDigit, size: 0, announced: Rc::default() }
    }

    /// What is announced of it from now on.
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

    /// The step after this byte; none if it cannot stand here.
    fn next(&mut self, byte: u8) -> Option<Step> {
        let next = match (self.step, byte) {
            (Step::FirstDigit | Step::Digits, _) if byte.is_ascii_hexdigit() => {
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                self.size = self.size.saturating_mul(16).saturating_add(digit.into());
                Step::Digits
            }
            (Step::Digits | Step::Blank, b' ' | b'\t') => Step::Blank,
            // Readers of a quoted text disagree about where it ends, and no client needs one.
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
