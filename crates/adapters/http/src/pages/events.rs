//! The stream of a page's changes (server-sent events, as the HTML standard has them).

use std::{sync::Arc, time::Duration};

use actix_web::web::Bytes;
use futures_util::{Stream, stream};
use quipu_kernel::Clock;
use quipu_pages::{PageDetails, Words, is_live};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::{
    viewers::Seat,
    visit::{Visit, payment_of},
};
use crate::{
    call::{Call, Outcome},
    error::ApiError,
    reply,
};

/// How often something is sent, so that no proxy before the browser takes the stream for dead.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How long one stream lasts. A browser that is still there then opens another.
const LONGEST: Duration = Duration::from_mins(30);
/// How long a browser waits before it opens another stream.
const RETRY_MILLIS: u32 = 2000;

/// `GET /payment-pages/{token}/events`
pub(crate) async fn handle(call: Call) -> Outcome {
    let mut visit = Visit::of(&call).await?;
    let (tenant, id) = (visit.payment.terms().tenant, visit.payment.id().clone());
    let viewers = &call.state.services.pages.viewers;
    let seat = viewers.enter(tenant, &id, &visit.about).ok_or(ApiError::Overloaded)?;
    // Reads again after taking the seat, so that no change is missed in between.
    visit.payment = payment_of(&call.state, tenant, &id).await?;
    let watching = Watching::new(seat, &visit, Arc::clone(&call.state.services.clock));
    Ok(reply::stream(&call.state.services.stop, "text/event-stream", watching.pieces()))
}

/// One viewer of a page. There are many, so each holds little memory.
struct Watching {
    seat: Seat,
    words: Words,
    clock: Arc<dyn Clock>,
    /// The state of the payment at the start, until it is sent.
    first: Option<Bytes>,
    /// The revision of the state that was sent last.
    sent: i64,
    /// Whether no more changes can follow.
    over: bool,
    heartbeat: Interval,
    until: Instant,
}

impl Watching {
    fn new(seat: Seat, visit: &Visit, clock: Arc<dyn Clock>) -> Self {
        let now = Instant::now();
        let mut heartbeat = interval_at(now + HEARTBEAT, HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let details = PageDetails::new(visit.view(clock.now(), None));
        let first = Some(written(&details, format_args!("retry: {RETRY_MILLIS}\n")));
        Self {
            seat,
            words: visit.words,
            clock,
            first,
            sent: visit.payment.state().revision,
            over: !is_live(visit.payment.status()),
            heartbeat,
            until: now + LONGEST,
        }
    }

    /// The pieces of the stream: the present state, then each change, with heartbeats in between.
    fn pieces(self) -> impl Stream<Item = Bytes> {
        stream::unfold(self, |mut watching| async move {
            let piece = watching.next().await?;
            Some((piece, watching))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        while !self.over {
            tokio::select! {
                changed = self.seat.latest.changed() => {
                    changed.ok()?;
                    if let Some(piece) = self.changed() {
                        return Some(piece);
                    }
                }
                _ = self.heartbeat.tick() => {
                    return (Instant::now() < self.until).then_some(Bytes::from_static(b":\n\n"));
                }
            }
        }
        None
    }

    /// The latest state, unless it was sent already.
    fn changed(&mut self) -> Option<Bytes> {
        let snapshot = self.seat.latest.borrow_and_update().clone()?;
        let revision = snapshot.payment.state().revision;
        if self.sent >= revision {
            return None;
        }
        (self.sent, self.over) = (revision, !is_live(snapshot.payment.status()));
        Some(snapshot.written(self.words.language(), || {
            let view = self.seat.about.view(&snapshot.payment, self.words, self.clock.now());
            written(&PageDetails::new(view), format_args!(""))
        }))
    }
}

/// One event. JSON on one line has no line breaks.
fn written(details: &PageDetails<'_>, before: std::fmt::Arguments<'_>) -> Bytes {
    let json = serde_json::to_string(details).unwrap_or_default();
    Bytes::from(format!("{before}id: {}\ndata: {json}\n\n", details.status_version()))
}
