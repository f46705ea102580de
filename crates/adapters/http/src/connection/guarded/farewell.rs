//! The end of a connection whose client may still be sending.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

use super::Guarded;

/// How long bytes are still read and discarded after our side was closed.
const LINGER: Duration = Duration::from_secs(1);

impl Guarded {
    /// Whether our answer in place of the web server's refusal is on its way. The web server drops the socket as soon as
    /// its own bytes are written.
    pub(super) fn is_refusing(&self) -> bool {
        self.lingers_until.is_some() || self.ahead.as_ref().is_some_and(|ahead| !ahead.is_continue())
    }

    /// Writes what is ahead, closes our side, and reads on for a moment: unread bytes would cause a reset, which may
    /// destroy the last answer before the client has read it.
    pub(super) fn poll_farewell(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingers_until.is_none() {
            ready!(self.poll_ahead(context))?;
            ready!(Pin::new(&mut self.socket).poll_shutdown(context))?;
            let until = Instant::now() + LINGER;
            self.lingers_until = Some(until);
            self.timer.as_mut().reset(until.into());
        }
        if self.timer.as_mut().poll(context).is_ready() {
            return Poll::Ready(Ok(()));
        }
        let mut thrown_away = [0; 16 * 1024];
        loop {
            let mut buffer = ReadBuf::new(&mut thrown_away);
            match ready!(Pin::new(&mut self.socket).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {}
                _ => return Poll::Ready(Ok(())),
            }
        }
    }
}
