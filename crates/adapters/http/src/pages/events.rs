//! The stream of a page's changes (server-sent events, as the HTML standard has them).

use std::{sync::Arc, time::Duration};

use actix_web::web::Bytes;
use futures_util::{Stream, stream};
use quipu_kernel::Clock;
use quipu_pages::{PageDetails, is_live};
use quipu_payments::Status;
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

/// How often something is sent, so that nobody between us and the browser takes the stream for dead.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How long one stream lasts. The browser then opens another, and whoever is no longer there does not.
const LONGEST: Duration = Duration::from_mins(30);
/// How long a browser waits before it opens another stream.
const RETRY_MILLIS: u32 = 2000;

/// `GET /payment-pages/{token}/events`
pub(crate) async fn handle(call: Call) -> Outcome {
    let mut visit = Visit::of(&call).await?;
    let (tenant, id) = (visit.payment.terms().tenant, visit.payment.id().clone());
    let seat = call.state.services.pages.viewers.enter(tenant, &id).ok_or(ApiError::Overloaded)?;
    // Read again from the seat, so that no change falls between.
    visit.payment = payment_of(&call.state, tenant, &id).await?;
    let watching = Watching::new(seat, visit, Arc::clone(&call.state.services.clock));
    Ok(reply::stream(&call, "text/event-stream", watching.pieces()))
}

/// One who watches.
struct Watching {
    seat: Seat,
    visit: Visit,
    clock: Arc<dyn Clock>,
    /// The revision of what was sent last; none before the first.
    sent: Option<i64>,
    /// Whether nothing more will change.
    over: bool,
    heartbeat: Interval,
    until: Instant,
}

impl Watching {
    fn new(seat: Seat, visit: Visit, clock: Arc<dyn Clock>) -> Self {
        let now = Instant::now();
        let mut heartbeat = interval_at(now + HEARTBEAT, HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { seat, visit, clock, sent: None, over: false, heartbeat, until: now + LONGEST }
    }

    /// What is sent: how it stands, then each change, and something between them now and then.
    fn pieces(self) -> impl Stream<Item = Bytes> {
        stream::unfold(self, |mut watching| async move {
            let piece = watching.next().await?;
            Some((piece, watching))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        if self.sent.is_none() {
            return Some(self.first());
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

    /// How it stands, told to whoever has just come.
    fn first(&mut self) -> Bytes {
        self.note(self.visit.payment.state().revision, self.visit.payment.status());
        let details = PageDetails::new(self.visit.view(self.clock.now(), None));
        written(&details, format_args!("retry: {RETRY_MILLIS}\n"))
    }

    /// The latest state, unless it was sent already.
    fn changed(&mut self) -> Option<Bytes> {
        let snapshot = self.seat.latest.borrow_and_update().clone()?;
        let revision = snapshot.payment.state().revision;
        if self.sent.is_some_and(|sent| sent >= revision) {
            return None;
        }
        self.note(revision, snapshot.payment.status());
        Some(snapshot.written(self.visit.words.language(), || {
            let view = self.visit.view_of(&snapshot.payment, self.clock.now());
            written(&PageDetails::new(view), format_args!(""))
        }))
    }

    fn note(&mut self, revision: i64, status: Status) {
        self.sent = Some(revision);
        self.over = !is_live(status);
    }
}

/// One event: JSON has no line breaks of its own.
fn written(details: &PageDetails<'_>, before: std::fmt::Arguments<'_>) -> Bytes {
    let json = serde_json::to_string(details).unwrap_or_default();
    Bytes::from(format!("{before}id: {}\ndata: {json}\n\n", details.status_version()))
}
