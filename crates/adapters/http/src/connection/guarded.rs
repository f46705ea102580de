//! A socket whose phases end.

use std::{
    io,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use actix_web::rt::net::TcpStream;
use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep_until},
};

use super::{
    conversation::Conversation,
    crowd::{Crowd, Place},
    gate::{Gate, Ticket},
    incoming::Incoming,
    refusal,
};
use crate::{
    proxies::{is_trusted, subscriber},
    settings::least_within,
    state::AppState,
};

/// What the system may hold of an answer that it cannot send yet.
const UNSENT: u32 = 128 * 1024;
/// How much is passed on at a time, so that the web server looks at what it has before it takes more. By itself it gathers
/// several times as much for each client who sends faster than somebody reads.
const AT_A_TIME: usize = 32 * 1024;
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// How long is read on, and thrown away, after our side was closed.
const LINGER: Duration = Duration::from_secs(1);
/// How much later than armed a deadline may be noticed without the timer being armed anew.
const SLACK: Duration = Duration::from_secs(1);

/// Bytes that are to be written before anything else.
struct Ahead {
    bytes: Vec<u8>,
    written: usize,
    /// Whether they are a `100 Continue`, which is written only when somebody wants the body.
    is_continue: bool,
}

/// A socket that ends its connection when a phase takes too long, or when others need the place.
pub(crate) struct Guarded {
    socket: TcpStream,
    conversation: Rc<Conversation>,
    place: Place,
    gate: Gate,
    /// Its place at the gate, while it waits there.
    ticket: Option<Rc<Ticket>>,
    state: Arc<AppState>,
    ahead: Option<Ahead>,
    incoming: Incoming,
    /// Whether what has arrived waits for an answer to be out.
    is_held: bool,
    /// How much was passed on without a pause.
    passed_on: usize,
    /// Since when bytes wait to be taken, and how many were taken since.
    blocked: Option<(Instant, u64)>,
    /// Whether all that was handed over has been written.
    is_clean: bool,
    timer: Pin<Box<Sleep>>,
    /// Until when is read on after our side was closed.
    lingers_until: Option<Instant>,
}

impl Guarded {
    /// Guards a new connection; `None` if there is no place for it.
    pub(crate) fn new(socket: TcpStream, crowd: &Crowd, gate: Gate, state: Arc<AppState>) -> Option<Self> {
        let peer = socket.peer_addr().ok().map(|peer| peer.ip().to_canonical());
        let is_proxy = peer.is_some_and(|peer| is_trusted(peer, &state.settings.trusted_proxies));
        let place = crowd.admit(peer.filter(|_| !is_proxy).map(subscriber))?;
        // Where it cannot be set, answers are only later.
        let _set = socket.set_nodelay(true);
        // What the system holds for a client that takes nothing, not even into its own buffers, ends with the connection.
        // Where that cannot be set, whoever writes more will notice.
        let system = SockRef::from(&socket);
        let _set = system.set_tcp_user_timeout(Some(state.settings.stall_timeout));
        // So that how much a slow client takes is seen in small steps, and little is held for it.
        let _set = system.set_tcp_notsent_lowat(UNSENT);
        let conversation = Rc::new(Conversation::new(is_proxy.then(|| crowd.clone())));
        let first = conversation.deadline().unwrap_or_else(Instant::now);
        Some(Self {
            socket,
            conversation,
            place,
            gate,
            ticket: None,
            state,
            ahead: None,
            incoming: Incoming::new(),
            is_held: false,
            passed_on: 0,
            blocked: None,
            is_clean: true,
            timer: Box::pin(sleep_until(first.into())),
            lingers_until: None,
        })
    }

    /// The state that those who answer share with it.
    pub(crate) fn conversation(&self) -> Rc<Conversation> {
        Rc::clone(&self.conversation)
    }

    /// Fails when time is up or the place is needed.
    fn judge(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if self.lingers_until.is_some() {
            // The end has its own time.
            return Ok(());
        }
        let is_idle = self.conversation.is_between_exchanges();
        self.place.note(is_idle);
        if self.place.must_go(context.waker()) && is_idle {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let stalled = self.blocked.map(|(since, _)| since + self.state.settings.stall_timeout);
        let Some(deadline) = [self.conversation.deadline(), stalled].into_iter().flatten().min() else {
            return Ok(());
        };
        if deadline <= Instant::now() && !self.keeps_taking() {
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

    /// Whether the client has read enough of the answer since the last deadline to get a new one.
    fn keeps_taking(&mut self) -> bool {
        let now = Instant::now();
        if self.conversation.deadline().is_some_and(|deadline| deadline <= now) {
            return false;
        }
        match self.blocked {
            Some((_, taken)) if taken >= least_within(self.state.settings.stall_timeout) => {
                self.blocked = Some((now, 0));
                true
            }
            _ => false,
        }
    }

    /// Whether the next request may begin: the answers to all before it are out.
    fn is_free(&self) -> bool {
        self.is_clean && self.conversation.is_answered()
    }

    /// Ready when there may be something to pass on. A request that begins has been let in by the gate.
    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let begins = self.incoming.is_behind() && self.is_free();
        if self.incoming.is_ahead() {
            if !begins {
                return self.hold();
            }
            ready!(self.gate.poll_enter(&mut self.ticket, context));
            self.conversation.heard();
        } else if !self.incoming.has_free() && self.conversation.is_between_exchanges() {
            ready!(self.socket.poll_read_ready(context))?;
            ready!(self.gate.poll_enter(&mut self.ticket, context));
        }
        if begins {
            self.incoming.go_on(&self.conversation);
        }
        Poll::Ready(Ok(()))
    }

    /// Reads no more until the answer is out. Behind the last request nothing is read at all, as whoever answers it ends the
    /// connection.
    fn hold<T>(&mut self) -> Poll<T> {
        self.is_held = self.incoming.is_behind();
        Poll::Pending
    }

    /// Passes on what may be. How many bytes that was; none if the client has ended.
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

    /// Writes the queued prefix bytes. Ready when they are written, or when they are a `100 Continue` and no handler has
    /// asked for the body yet.
    fn poll_ahead(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(ahead) = &mut self.ahead {
            if ahead.is_continue && !self.conversation.wants_body() {
                break;
            }
            let written = Pin::new(&mut self.socket).poll_write(context, &ahead.bytes[ahead.written..]);
            ahead.written += match written {
                Poll::Ready(written) => written?,
                Poll::Pending => {
                    self.blocked.get_or_insert((Instant::now(), 0));
                    return Poll::Pending;
                }
            };
            if ahead.written == ahead.bytes.len() {
                self.ahead = None;
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Takes bytes that are not to be written as they are. How many of them that is.
    fn take_over(&mut self, bytes: &[u8]) -> Option<usize> {
        if bytes.starts_with(CONTINUE) && self.conversation.take_expectation() {
            self.ahead = Some(Ahead { bytes: CONTINUE.to_vec(), written: 0, is_continue: true });
            return Some(CONTINUE.len());
        }
        if !self.is_clean || !self.conversation.is_between_exchanges() {
            return None;
        }
        let services = &self.state.services;
        let instead = refusal::instead_of(bytes, services.clock.as_ref(), services.entropy.as_ref())?;
        self.ahead = Some(Ahead { bytes: instead, written: 0, is_continue: false });
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
        let before_this = std::mem::take(&mut this.passed_on);
        if before_this >= AT_A_TIME {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        ready!(this.poll_turn(context))?;
        let passed = ready!(this.poll_pass(context, buffer))?;
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
        // An answer that comes before anybody wanted the body says all there is to say.
        if this.ahead.as_ref().is_some_and(|ahead| ahead.is_continue && !this.conversation.wants_body()) {
            this.ahead = None;
        }
        ready!(this.poll_ahead(context))?;
        if let Some(taken) = this.take_over(bytes) {
            return Poll::Ready(Ok(taken));
        }
        this.is_clean = false;
        let written = match Pin::new(&mut this.socket).poll_write(context, bytes) {
            Poll::Ready(written) => written?,
            Poll::Pending => {
                this.blocked.get_or_insert((Instant::now(), 0));
                // The timer must run for it.
                this.judge(context)?;
                return Poll::Pending;
            }
        };
        if let Some((_, taken)) = &mut this.blocked {
            *taken += written as u64;
        }
        Poll::Ready(Ok(written))
    }

    /// Called when all bytes that there are have been handed over.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.judge(context)?;
        ready!(this.poll_ahead(context))?;
        ready!(Pin::new(&mut this.socket).poll_flush(context))?;
        this.blocked = None;
        this.is_clean = true;
        if this.is_held && this.is_free() {
            this.is_held = false;
            context.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    /// Closes our side, and reads on for a moment: a reset, which bytes that nobody read would cause, may destroy the last
    /// answer before the client has read it.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.lingers_until.is_none() {
            ready!(this.poll_ahead(context))?;
            ready!(Pin::new(&mut this.socket).poll_shutdown(context))?;
            let until = Instant::now() + LINGER;
            this.lingers_until = Some(until);
            this.timer.as_mut().reset(until.into());
        }
        if this.timer.as_mut().poll(context).is_ready() {
            return Poll::Ready(Ok(()));
        }
        let mut thrown_away = [0; 16 * 1024];
        loop {
            let mut buffer = ReadBuf::new(&mut thrown_away);
            match ready!(Pin::new(&mut this.socket).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {}
                _ => return Poll::Ready(Ok(())),
            }
        }
    }
}
