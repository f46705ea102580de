//! State shared between a socket and the handlers of its requests.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    net::IpAddr,
    rc::Rc,
    time::{Duration, Instant},
};

use super::{
    Announced,
    crowd::{Crowd, Share},
};

/// How long the first head may take from the connection's beginning, which the web server enforces.
pub(crate) const FIRST_HEAD: Duration = Duration::from_secs(10);
/// How long any further head may take from its first byte.
const HEAD: Duration = Duration::from_secs(15);
/// How long a connection is kept without a request.
pub(crate) const IDLE: Duration = Duration::from_secs(75);

/// The phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// After an answer, before the next head.
    Idle,
    /// Within a head, or before the first one.
    Head,
    /// Between a head and the end of its answer.
    Exchange,
}

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct Conversation {
    phase: Cell<Phase>,
    since: Cell<Instant>,
    /// Whether the present request has waited for long at the gate.
    is_late: Cell<bool>,
    /// Whether the client waits for `100 Continue`.
    expects: Cell<bool>,
    /// Whether a handler wants the body that the client holds back.
    wants_body: Cell<bool>,
    /// The announced bodies of the requests whose exchange has not begun; `None` for a body that is not
    /// chunked.
    announced: RefCell<VecDeque<Option<Rc<Announced>>>>,
    /// The announced body of the present request.
    present: RefCell<Option<Rc<Announced>>>,
    /// Whether a head was too large in a way that the web server reports as malformed.
    is_oversized: Cell<bool>,
    /// The crowd in which forwarded clients are counted, if the peer is a trusted proxy.
    clients: Option<Crowd>,
}

impl Conversation {
    /// The state of a new connection. `clients` is given for a proxy, to count its clients.
    pub(super) fn new(clients: Option<Crowd>) -> Self {
        Self {
            phase: Cell::new(Phase::Head),
            since: Cell::new(Instant::now()),
            is_late: Cell::new(false),
            expects: Cell::new(false),
            wants_body: Cell::new(false),
            announced: RefCell::default(),
            present: RefCell::default(),
            is_oversized: Cell::new(false),
            clients,
        }
    }

    fn enter(&self, phase: Phase) {
        self.phase.set(phase);
        self.since.set(Instant::now());
    }

    /// Notes that bytes have arrived.
    pub(super) fn heard(&self) {
        if self.phase.get() == Phase::Idle {
            self.enter(Phase::Head);
        }
    }

    /// Notes that the gate has let a request in, and whether after a long wait.
    pub(super) fn let_in(&self, is_late: bool) {
        self.is_late.set(is_late);
    }

    /// Whether the present request had to wait for long before it began.
    pub(crate) fn is_late(&self) -> bool {
        self.is_late.get()
    }

    /// When the phase must be over. An exchange has no deadline here, since each of its steps has its own.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.phase.get() {
            Phase::Idle => Some(self.since.get() + IDLE),
            Phase::Head => Some(self.since.get() + HEAD),
            Phase::Exchange => None,
        }
    }

    /// Whether a head has begun and did not end in time.
    pub(super) fn has_late_head(&self) -> bool {
        self.phase.get() == Phase::Head && self.since.get() + HEAD <= Instant::now()
    }

    /// Notes that the head of a request has arrived, with the announced size of its body if it is chunked.
    pub(super) fn announce(&self, body: Option<Rc<Announced>>) {
        self.announced.borrow_mut().push_back(body);
    }

    /// Notes that a head is too large, and that the web server will call it malformed.
    pub(super) fn find_oversized(&self) {
        self.is_oversized.set(true);
    }

    pub(super) fn is_oversized(&self) -> bool {
        self.is_oversized.get()
    }

    /// The announced size of the present request's body, if it is chunked.
    pub(crate) fn announced(&self) -> Option<Rc<Announced>> {
        self.present.borrow().clone()
    }

    /// The announced bodies of all requests whose exchange has not begun, which are forgotten.
    pub(super) fn all_announced(&self) -> VecDeque<Option<Rc<Announced>>> {
        self.announced.take()
    }

    /// Whether no request is being answered.
    pub(super) fn is_between_exchanges(&self) -> bool {
        self.phase.get() != Phase::Exchange
    }

    /// Whether all requests whose heads have arrived are answered.
    pub(super) fn is_answered(&self) -> bool {
        self.is_between_exchanges() && self.announced.borrow().is_empty()
    }

    /// Notes that the head of a request asks whether its body is wanted.
    pub(crate) fn expect(&self) {
        self.wants_body.set(false);
        self.expects.set(true);
    }

    pub(super) fn take_expectation(&self) -> bool {
        self.expects.replace(false)
    }

    pub(super) fn wants_body(&self) -> bool {
        self.wants_body.get()
    }

    /// Notes that a handler is about to read the body.
    pub(crate) fn want_body(&self) {
        self.wants_body.set(true);
    }

    /// Begins an exchange. It ends when the turn is dropped, after the last byte of the answer was handed
    /// over.
    pub(crate) fn begin(self: &Rc<Self>) -> Turn {
        self.enter(Phase::Exchange);
        *self.present.borrow_mut() = self.announced.borrow_mut().pop_front().flatten();
        Turn { conversation: Rc::clone(self), share: None }
    }
}

/// One exchange.
#[derive(Debug)]
pub(crate) struct Turn {
    conversation: Rc<Conversation>,
    share: Option<Share>,
}

impl Turn {
    /// Counts the exchange for the client that a proxy forwards. Returns whether there is a place for it.
    pub(crate) fn take_place(&mut self, client: impl FnOnce() -> Option<IpAddr>) -> bool {
        let Some((crowd, client)) = self.conversation.clients.as_ref().zip(client()) else { return true };
        self.share = crowd.share(client);
        self.share.is_some()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.conversation.enter(Phase::Idle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many seconds are left, rounded up; `None` if the phase may last.
    fn left(conversation: &Conversation) -> Option<u64> {
        let left = conversation.deadline()?.duration_since(Instant::now());
        Some(left.as_secs() + u64::from(left.subsec_nanos() > 0))
    }

    #[test]
    fn each_phase_has_its_time_and_an_exchange_has_none() {
        let conversation = Rc::new(Conversation::new(None));
        assert_eq!(left(&conversation), Some(15), "the web server allows the first head less");
        let turn = conversation.begin();
        assert_eq!(left(&conversation), None);
        drop(turn);
        assert_eq!(left(&conversation), Some(75));
        conversation.heard();
        assert_eq!(left(&conversation), Some(15));
        conversation.heard();
        assert!(conversation.is_between_exchanges() && !conversation.has_late_head());
    }
}
