//! A socket with a time limit for each phase of its connection.

mod farewell;

use std::{
    io,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use actix_web::rt::net::TcpStream;
use quipu_kernel::{Clock, Entropy, Network};
use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep_until},
};

use super::{
    ahead::{Ahead, CONTINUE},
    conversation::Conversation,
    crowd::{Crowd, Place, Standing},
    gate::{Gate, Ticket},
    incoming::Incoming,
    proxies::{is_trusted, subscriber},
    refusal,
    stall::Stall,
};

/// The most unsent bytes of an answer that the system buffers.
const UNSENT: u32 = 128 * 1024;
/// How many bytes are passed on at a time, so that the web server handles what it has before it takes more.
/// Otherwise it buffers several times as much for each client that sends faster than its body is read.
const AT_A_TIME: usize = 32 * 1024;
/// By how much a deadline may be missed, so that the timer need not be set anew for each small change.
const SLACK: Duration = Duration::from_secs(1);

/// What holds for every connection of a listener.
pub(crate) struct Terms {
    /// The proxies whose connections are counted for no address.
    pub(crate) trusted_proxies: Vec<Network>,
    /// How long a client may take nothing of an answer, or too little.
    pub(crate) stall_timeout: Duration,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

/// A socket that ends its connection when a phase takes too long, or when its place is needed.
pub(crate) struct Guarded {
    socket: TcpStream,
    conversation: Rc<Conversation>,
    place: Place,
    gate: Gate,
    /// Its place in the gate's queue, while it waits there.
    ticket: Option<Rc<Ticket>>,
    terms: Arc<Terms>,
    ahead: Option<Ahead>,
    incoming: Incoming,
    /// Whether bytes that have arrived wait until an answer is sent.
    is_held: bool,
    /// Whether the client has to send or take more before a request or its answer can go on.
    is_awaited: bool,
    /// How many bytes were passed on without a pause.
    passed_on: usize,
    /// How long the client keeps the present answer waiting.
    stall: Stall,
    /// Whether all bytes that were handed over have been written.
    is_clean: bool,
    timer: Pin<Box<Sleep>>,
    /// Until when bytes are read and discarded after our side was closed.
    lingers_until: Option<Instant>,
}

impl Guarded {
    /// Guards a new connection; `None` if it gets no place.
    pub(crate) fn new(socket: TcpStream, crowd: &Crowd, gate: Gate, terms: Arc<Terms>) -> Option<Self> {
        let peer = socket.peer_addr().ok().map(|peer| peer.ip().to_canonical());
        let is_proxy = peer.is_some_and(|peer| is_trusted(peer, &terms.trusted_proxies));
        let place = crowd.admit(peer.filter(|_| !is_proxy).map(subscriber))?;
        // If it cannot be set, answers only take longer.
        let _set = socket.set_nodelay(true);
        // Ends the connection of a client whose system takes no bytes. If it cannot be set, the next write
        // notices.
        let system = SockRef::from(&socket);
        let _set = system.set_tcp_user_timeout(Some(terms.stall_timeout));
        // Shows in small steps how much a slow client takes, and bounds what the system buffers for it.
        let _set = system.set_tcp_notsent_lowat(UNSENT);
        let conversation = Rc::new(Conversation::new(is_proxy.then(|| crowd.clone())));
        let first = conversation.deadline().unwrap_or_else(Instant::now);
        Some(Self {
            socket,
            conversation,
            place,
            gate,
            ticket: None,
            terms,
            ahead: None,
            incoming: Incoming::new(),
            is_held: false,
            is_awaited: false,
            passed_on: 0,
            stall: Stall::default(),
            is_clean: true,
            timer: Box::pin(sleep_until(first.into())),
            lingers_until: None,
        })
    }

    /// The state that the socket shares with the handlers.
    pub(crate) fn conversation(&self) -> Rc<Conversation> {
        Rc::clone(&self.conversation)
    }

    /// What the connection does. Between exchanges the web server may still keep the end of the last answer, and the
    /// next request may wait at the gate.
    fn standing(&self) -> Standing {
        let is_busy = !self.is_clean || self.ahead.is_some() || self.ticket.is_some();
        if !is_busy && self.conversation.is_between_exchanges() {
            return Standing::Idle;
        }
        if self.is_awaited { Standing::Awaiting } else { Standing::Busy }
    }

    /// Fails when the place is needed and nobody waits for an answer, or its client has been waited for too long.
    fn give_way(&self, context: &Context<'_>) -> io::Result<()> {
        if self.lingers_until.is_some() {
            return Ok(());
        }
        self.place.note(self.standing());
        let must_go = self.place.must_go(context.waker());
        if must_go { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }

    /// Notes that the system has no more bytes of the client, or takes no more bytes for it.
    fn wait<T>(&mut self, context: &Context<'_>) -> Poll<io::Result<T>> {
        self.is_awaited = true;
        self.give_way(context)?;
        Poll::Pending
    }

    /// Whether more of a body has to come. One that was not asked for yet is not waited for.
    fn lacks_body(&self) -> bool {
        !self.conversation.is_between_exchanges() && self.incoming.is_within_body() && self.ahead.is_none()
    }

    /// Fails when the time is up.
    fn judge(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if self.lingers_until.is_some() {
            // Closing has its own deadline.
            return Ok(());
        }
        let stalled = self.stall.deadline(self.terms.stall_timeout);
        let Some(deadline) = [self.conversation.deadline(), stalled].into_iter().flatten().min() else {
            return Ok(());
        };
        if deadline <= Instant::now() && !self.keeps_taking() {
            self.refuse_late_head();
            return Err(io::ErrorKind::TimedOut.into());
        }
        if self.timer.is_elapsed() || self.timer.deadline().into_std() > deadline + SLACK {
            self.timer.as_mut().reset(deadline.max(Instant::now() + SLACK).into());
        }
        while self.timer.as_mut().poll(context).is_ready() {
            self.timer.as_mut().reset((Instant::now() + SLACK).into());
        }
        Ok(())
    }

    /// Answers a head that takes too long, if the client takes the answer at once. The web server does so only
    /// for the first head of a connection.
    fn refuse_late_head(&self) {
        if self.is_clean && self.conversation.has_late_head() {
            let answer = refusal::too_slow(self.terms.clock.as_ref(), self.terms.entropy.as_ref());
            // The connection ends in any case.
            let _written = self.socket.try_write(&answer);
        }
    }

    /// Whether the client has read enough of the answer since the last deadline to get a new one.
    fn keeps_taking(&mut self) -> bool {
        let now = Instant::now();
        if self.conversation.deadline().is_some_and(|deadline| deadline <= now) {
            return false;
        }
        self.stall.renew(now, self.terms.stall_timeout)
    }

    /// Whether the next request may begin: the answers to all before it are out.
    fn is_free(&self) -> bool {
        self.is_clean && self.conversation.is_answered()
    }

    /// Ready when there may be bytes to pass on. The gate has let in any request that begins.
    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let begins = self.incoming.is_behind() && self.is_free();
        if self.incoming.is_ahead() {
            if !begins {
                return self.hold();
            }
            ready!(self.poll_gate(context));
            self.conversation.heard();
        } else if !self.incoming.has_free() && self.conversation.is_answered() {
            ready!(self.socket.poll_read_ready(context))?;
            ready!(self.poll_gate(context));
        }
        if begins {
            self.incoming.go_on(&self.conversation);
        }
        Poll::Ready(Ok(()))
    }

    /// Ready when the gate lets a request in.
    fn poll_gate(&mut self, context: &Context<'_>) -> Poll<()> {
        let turn = self.gate.poll_enter(&mut self.ticket, context);
        if turn.is_pending() {
            self.is_awaited = false;
            self.place.note(self.standing());
        }
        turn.map(|is_late| self.conversation.let_in(is_late))
    }

    /// Stops reading until the answer is sent; for good after the last request, whose answer ends the connection.
    fn hold<T>(&mut self) -> Poll<T> {
        self.is_held = self.incoming.is_behind();
        Poll::Pending
    }

    /// Passes on the bytes that may be passed on. Returns their number; 0 if the client has closed its side.
    fn poll_pass(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<usize>> {
        loop {
            let given = self.incoming.give(buffer.remaining(), |bytes| buffer.put_slice(bytes));
            if given > 0 {
                return Poll::Ready(Ok(given));
            }
            let before = buffer.filled().len();
            ready!(Pin::new(&mut self.socket).poll_read(context, buffer))?;
            let arrived = &mut buffer.filled_mut()[before..];
            if arrived.is_empty() {
                return Poll::Ready(Ok(0));
            }
            if !self.incoming.is_behind() {
                self.conversation.heard();
            }
            let passed = self.incoming.take(arrived, &self.conversation);
            buffer.set_filled(before + passed);
            if passed > 0 {
                return Poll::Ready(Ok(passed));
            }
            if self.incoming.is_ahead() {
                return self.hold();
            }
        }
    }

    /// Writes the bytes in `ahead`. Ready when they are written, or when they are a `100 Continue` and no
    /// handler has asked for the body yet.
    fn poll_ahead(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wants_body = self.conversation.wants_body();
        let Some(ahead) = self.ahead.as_mut().filter(|ahead| !ahead.is_continue() || wants_body) else {
            return Poll::Ready(Ok(()));
        };
        let written = ahead.poll_write(&mut self.socket, context);
        if written.is_pending() {
            self.stall.begin(Instant::now());
        }
        ready!(written)?;
        // After a `100 Continue` the client has to send the body.
        self.is_awaited = ahead.is_continue();
        self.ahead = None;
        Poll::Ready(Ok(()))
    }

    /// Intercepts bytes of the web server that are replaced. Returns how many; `None` if they are written as
    /// they are.
    fn take_over(&mut self, bytes: &[u8]) -> Option<usize> {
        if bytes.starts_with(CONTINUE) && self.conversation.take_expectation() {
            self.ahead = Some(Ahead::go_on());
            return Some(CONTINUE.len());
        }
        if !self.is_clean || !self.conversation.is_between_exchanges() {
            return None;
        }
        let (clock, entropy) = (self.terms.clock.as_ref(), self.terms.entropy.as_ref());
        let instead = refusal::instead_of(bytes, self.conversation.is_oversized(), clock, entropy)?;
        self.ahead = Some(Ahead::answer(instead));
        Some(bytes.len())
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.judge(context)?;
        this.give_way(context)?;
        let before_this = std::mem::take(&mut this.passed_on);
        if before_this >= AT_A_TIME {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        ready!(this.poll_turn(context))?;
        let Poll::Ready(passed) = this.poll_pass(context, buffer)? else {
            return if this.lacks_body() { this.wait(context) } else { Poll::Pending };
        };
        this.is_awaited = false;
        this.passed_on = before_this + passed;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        this.judge(context)?;
        if this.is_refusing() {
            ready!(this.poll_farewell(context))?;
            return Poll::Ready(Ok(bytes.len()));
        }
        // An answer before any handler wanted the body makes `100 Continue` superfluous.
        if this.ahead.as_ref().is_some_and(|ahead| ahead.is_continue() && !this.conversation.wants_body()) {
            this.ahead = None;
        }
        ready!(this.poll_ahead(context))?;
        if let Some(taken) = this.take_over(bytes) {
            if this.is_refusing() {
                ready!(this.poll_farewell(context))?;
            }
            return Poll::Ready(Ok(taken));
        }
        this.is_clean = false;
        let written = match Pin::new(&mut this.socket).poll_write(context, bytes) {
            Poll::Ready(written) => written?,
            Poll::Pending => {
                this.stall.begin(Instant::now());
                // Sets the timer for the stall.
                this.judge(context)?;
                return this.wait(context);
            }
        };
        this.is_awaited = false;
        this.stall.take(written);
        Poll::Ready(Ok(written))
    }

    /// Called when all available bytes have been handed over.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.judge(context)?;
        ready!(this.poll_ahead(context))?;
        ready!(Pin::new(&mut this.socket).poll_flush(context))?;
        if this.conversation.is_between_exchanges() {
            this.stall = Stall::default();
        } else {
            this.stall.pause(Instant::now());
        }
        let was_clean = std::mem::replace(&mut this.is_clean, true);
        let is_next_let_in = this.is_free() && std::mem::take(&mut this.is_held);
        // The next read closes the connection; the web server has noted by then that the answer is written.
        let is_over = this.give_way(context).is_err() && !was_clean;
        if is_next_let_in || is_over {
            context.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_farewell(context)
    }
}

#[cfg(test)]
mod tests;
