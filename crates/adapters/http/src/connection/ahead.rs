//! Bytes that are written before what the web server writes.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use actix_web::rt::net::TcpStream;
use tokio::io::AsyncWrite as _;

pub(super) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Bytes that are to be written before anything else.
pub(super) struct Ahead {
    bytes: Vec<u8>,
    written: usize,
    is_continue: bool,
}

impl Ahead {
    /// A `100 Continue`, which is written only when a handler wants the body.
    pub(super) fn go_on() -> Self {
        Self { bytes: CONTINUE.to_vec(), written: 0, is_continue: true }
    }

    /// An answer in place of one of the web server's.
    pub(super) const fn answer(bytes: Vec<u8>) -> Self {
        Self { bytes, written: 0, is_continue: false }
    }

    /// Whether it is a `100 Continue`.
    pub(super) const fn is_continue(&self) -> bool {
        self.is_continue
    }

    /// Ready when all of it is written.
    pub(super) fn poll_write(
        &mut self,
        socket: &mut TcpStream,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while self.written < self.bytes.len() {
            let left = &self.bytes[self.written..];
            self.written += ready!(Pin::new(&mut *socket).poll_write(context, left))?;
        }
        Poll::Ready(Ok(()))
    }
}
