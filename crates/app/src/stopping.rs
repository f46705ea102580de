//! How the server of the interface ends.

use std::{net::TcpListener, time::Duration};

use quipu_http::Server;
use socket2::{SockFilter, SockRef};
use tokio::time::{Instant, sleep};

use crate::stop_signal::StopSignal;

/// How long a connection may take to be accepted, and then to come to its thread.
const HANDED_OVER: Duration = Duration::from_millis(50);

/// The filter of a socket that drops every packet (classic BPF: return 0 bytes of it).
const DROP: SockFilter = SockFilter::new(0x06, 0, 0, 0);

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
                if let Err(error) = SockRef::from(&listener).attach_filter(&[DROP]) {
                    tracing::debug!(%error, "connections that come while the others end will be reset");
                }
                // Those who are connected are still accepted.
                sleep(HANDED_OVER).await;
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
