//! How the server of the interface ends.

use std::{net::TcpListener, time::Duration};

use quipu_http::Server;
use socket2::SockRef;
use tokio::time::{Instant, sleep};

use crate::stop_signal::StopSignal;

/// How long an accepted connection may take to come to its thread.
const HANDED_OVER: Duration = Duration::from_millis(100);

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
                // What is accepted and has not come to its thread would be dropped.
                handle.pause().await;
                // The system lets nobody else connect, so that whoever comes now tries again and finds the next process,
                // or is refused when the listener is closed. Otherwise they would be connected, and reset then.
                if let Err(error) = SockRef::from(&listener).listen(0) {
                    tracing::debug!(%error, "connections that come while the others end will be reset");
                }
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
