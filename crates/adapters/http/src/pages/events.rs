//! The stream of a page's changes (server-sent events, as the HTML standard has them).

use std::{sync::Arc, time::Duration};

use actix_web::web::Bytes;
use futures_util::{Stream, stream};
use quipu_kernel::{Clock, json_text};
use quipu_pages::{PageDetails, Words, is_live};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::visit::{Visit, payment_of};
use crate::{
    answer::{ApiError, reply},
    request::{Call, Outcome},
    viewing::viewers::Seat,
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
    let json = json_text(details);
    Bytes::from(format!("{before}id: {}\ndata: {json}\n\n", details.status_version()))
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;
    use quipu_kernel::{
        Amount, Currency, CustomerId, Environment, MerchantId, SystemClock, Tenant, Timestamp,
    };
    use quipu_merchants::{Method, ReturnUrls};
    use quipu_pages::Language;
    use quipu_payments::{Customer, Payment, PaymentType, State, Terms};

    use super::*;
    use crate::viewing::{
        about::About,
        viewers::{ViewerLimits, Viewers},
    };

    /// A deposit that nobody has paid yet.
    fn unpaid() -> Payment {
        let made = Timestamp::from_millis(1_763_683_200_000);
        let terms = Terms {
            id: "pay_1763683200000_abcdefghjkmn".parse().expect("an identifier"),
            tenant: Tenant::new(MerchantId(1), Environment::Test),
            kind: PaymentType::DepositPp,
            method: Method::Spei,
            currency: Currency::MXN,
            amount: Amount::new(1_000).expect("in range"),
            merchant_reference: "order-1".to_owned(),
            customer: Customer { id: CustomerId(1), email: None, phone: None, name: Some("Ana".to_owned()) },
            rail: "simulator".to_owned(),
            created_at: made,
            expires_at: None,
            description: None,
            note: None,
            external_id: None,
            traffic_type: None,
            webhook: None,
            return_urls: ReturnUrls::default(),
            redirect_scheme: None,
        };
        Payment::restore(terms, State::first(PaymentType::DepositPp, made))
    }

    #[tokio::test(start_paused = true)]
    async fn while_nothing_changes_a_stream_beats_every_15_seconds() {
        let (payment, about) = (unpaid(), Arc::new(About::plain()));
        let viewers = Arc::new(Viewers::new(ViewerLimits::among(1_000)));
        let seat = viewers.enter(payment.terms().tenant, payment.id(), &about).expect("a seat");
        let words = Words::of(Language::English);
        let visit = Visit { payment, is_suspended: false, about, words, token: String::new() };
        let mut pieces = Box::pin(Watching::new(seat, &visit, Arc::new(SystemClock)).pieces());
        let first = pieces.next().await.expect("the present state");
        assert!(first.starts_with(b"retry: 2000\nid: 1\ndata: {"), "{first:?}");
        let begun = Instant::now();
        for beat in 1..=3 {
            assert_eq!(pieces.next().await.as_deref(), Some(&b":\n\n"[..]));
            assert_eq!(begun.elapsed().as_secs(), 15 * beat);
        }
    }
}
