//! How the server of the interface ends.

use std::{net::TcpListener, time::Duration};

use quipu_http::Server;
use socket2::{SockFilter, SockRef};
use tokio::time::{Instant, sleep};

use crate::stop_signal::StopSignal;

/// How long the last packet of a handshake may be under way: a round trip, also around the world.
const CONNECTED: Duration = Duration::from_millis(250);
/// How long an accepted connection may take to come to its thread.
const HANDED_OVER: Duration = Duration::from_millis(50);

/// A filter of a listening socket that drops whatever begins a connection, and lets the packets pass that end a handshake
/// under way. It is a program of classic BPF over the TCP header (RFC 9293, section 3.1).
const NOBODY_NEW: [SockFilter; 5] = [
    // The flags, in byte 13; of these ACK and SYN.
    SockFilter::new(0x30, 0, 0, 13),
    SockFilter::new(0x54, 0, 0, ACK | SYN),
    // If it is SYN alone, keep 0 bytes of the packet; otherwise all.
    SockFilter::new(0x15, 0, 1, SYN),
    SockFilter::new(0x06, 0, 0, 0),
    SockFilter::new(0x06, 0, 0, u32::MAX),
];
const SYN: u32 = 0x02;
const ACK: u32 = 0x10;

/// Serves until the server fails or the stop is given, and then lets the calls in progress end. Returns whether some of
/// them were cut off, because they were not over after `patience`.
///
/// `listener` is the server's own, once more.
pub(crate) async fn serve_until(
    mut stop: StopSignal,
    mut serving: Server,
    listener: TcpListener,
    patience: Duration,
) -> bool {
    let handle = serving.handle();
    let mut is_cut_off = false;
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = stop.given() => {
            let stopping = async {
                // The system lets nobody else connect, so that whoever comes now tries again and finds the next process,
                // or is refused when the listener is closed. Otherwise they would be connected, and reset then.
                if let Err(error) = SockRef::from(&listener).attach_filter(&NOBODY_NEW) {
                    tracing::debug!(%error, "connections that come while the others end will be reset");
                }
                // Those who are connected, or take themselves to be, are still accepted.
                sleep(CONNECTED).await;
                // What is accepted and has not come to its thread would be dropped.
                handle.pause().await;
                sleep(HANDED_OVER).await;
                drop(listener);
                let begun = Instant::now();
                handle.stop(true).await;
                begun.elapsed()
            };
            let (ended, took) = tokio::join!(serving, stopping);
            is_cut_off = took >= patience;
            ended
        }
    };
    if let Err(error) = ended {
        tracing::error!(%error, "the server failed");
    }
    is_cut_off
}
