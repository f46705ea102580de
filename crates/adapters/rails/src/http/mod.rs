//! The rail of external providers: any system that speaks the protocol of `docs/RAIL-PROTOCOL.md`.

mod breaker;
mod callback;
mod client;
mod connect;
mod places;
mod wire;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use hyper::Method;
use quipu_kernel::{Clock, Unrecognised};
use quipu_merchants::{Direction, Route};
use quipu_payments::{
    CallbackHeaders, Capacity, Due, DueAction, Instructed, IssuedInstructions, NotVerified, Payment, Rail,
    RailStatus, Reservation, Reserved, Submission,
};
use quipu_signing::WebhookSecret;

use self::{
    client::{Caller, FOR_A_PAYER, NoReply, ProviderClient, Question, Reply, ReservedCall, WHOLE},
    wire::Order,
};

pub use self::wire::read_answer;

/// The prefix of a provider's name in a route.
const PREFIX: &str = "http:";

/// A provider reached by signed JSON. It issues instructions remotely, after the payment's own commit.
pub struct HttpRail {
    /// The name in routes: `http:<name>`.
    name: String,
    secret: WebhookSecret,
    questions: Vec<Duration>,
    client: Arc<ProviderClient>,
    clock: Arc<dyn Clock>,
}

impl HttpRail {
    /// The most calls to the provider that are open at once.
    pub const MOST_CALLS: usize = places::ALL;

    /// The provider `name` at `url`. `secret` signs in both directions (`whsec_` and base64 of 24 to 64
    /// bytes). `questions` are the gaps between questions about an open outcome; the last gap repeats.
    pub fn new(
        name: &str,
        url: &str,
        secret: &str,
        questions: Vec<Duration>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Unrecognised> {
        let secret = WebhookSecret::parse(secret)?;
        let client = Arc::new(ProviderClient::new(name, url, secret.clone(), Arc::clone(&clock)));
        Ok(Self { name: format!("{PREFIX}{name}"), secret, questions, client, clock })
    }
}

#[async_trait]
impl Rail for HttpRail {
    fn name(&self) -> &str {
        &self.name
    }

    /// A withdrawal is due at once. A deposit is due for a question as if its instructions had been lost,
    /// which they are if the gateway dies before they arrive.
    fn issue(&self, payment: &Payment, _route: &Route) -> IssuedInstructions {
        let now = payment.state().updated_at;
        match payment.terms().kind.direction() {
            Direction::Deposit => {
                // Not while the call for its instructions may still be running.
                let gap = self.questions.first().map(|gap| *gap + FOR_A_PAYER + WHOLE);
                let due = gap.map(|gap| Due { at: now.plus(gap), action: DueAction::Ask });
                IssuedInstructions { due, must_be_requested: true, ..IssuedInstructions::default() }
            }
            Direction::Withdrawal => IssuedInstructions {
                due: Some(Due { at: now, action: DueAction::Submit }),
                ..IssuedInstructions::default()
            },
        }
    }

    async fn reserve(&self, direction: Direction) -> Capacity {
        match self.client.reserve(direction).await {
            Ok(call) => Capacity::Reserved(Reservation::Kept(Box::new(call))),
            Err(NoReply::Busy) => Capacity::Busy,
            Err(NoReply::CircuitOpen | NoReply::Silence) => Capacity::CircuitOpen,
        }
    }

    fn questions(&self) -> &[Duration] {
        &self.questions
    }

    async fn instruct(&self, payment: &Payment) -> Instructed {
        let Some(question) = order("/instructions", payment) else { return Instructed::Unknown };
        self.client.ask(&question, Caller::Payer, instructed(payment)).await.unwrap_or(Instructed::Unknown)
    }

    async fn submit(&self, payment: &Payment) -> Submission {
        match self.client.reserve(Direction::Withdrawal).await {
            Ok(call) => Box::new(call).submit(payment).await,
            Err(_) => Submission::NotSent,
        }
    }

    async fn ask(&self, payment: &Payment) -> RailStatus {
        let reference = payment.id().as_str();
        let question = Question {
            method: Method::GET,
            path: format!("/payments/{reference}"),
            id: format!("status_{reference}_{}", self.clock.now().millis()),
            body: Vec::new(),
        };
        match self.client.ask(&question, Caller::Inquirer, wire::standing).await {
            Ok(status) => status,
            Err(NoReply::Silence) => RailStatus::Silent,
            Err(NoReply::Busy) => RailStatus::Busy,
            Err(NoReply::CircuitOpen) => RailStatus::CircuitOpen,
        }
    }

    fn callback_name(&self) -> Option<&str> {
        self.name.strip_prefix(PREFIX)
    }

    fn verify_callback(&self, headers: CallbackHeaders<'_>, body: &[u8]) -> Result<(), NotVerified> {
        callback::verify(&self.secret, headers, body, self.clock.now())
    }
}

#[async_trait]
impl Reserved for ReservedCall {
    async fn instruct(self: Box<Self>, payment: &Payment) -> Instructed {
        let Some(question) = order("/instructions", payment) else { return Instructed::Unknown };
        self.ask(&question, instructed(payment)).await.unwrap_or(Instructed::Unknown)
    }

    async fn submit(self: Box<Self>, payment: &Payment) -> Submission {
        let Some(question) = order("/payouts", payment) else { return Submission::Unknown };
        self.ask(&question, wire::submitted).await.unwrap_or(Submission::Unknown)
    }
}

/// Reads the reply to the order of this deposit.
fn instructed(payment: &Payment) -> impl Fn(&Reply) -> Option<Instructed> {
    let (amount, currency) = (payment.terms().amount, payment.terms().currency);
    move |reply| wire::instructed(reply, amount, currency)
}

fn order(path: &str, payment: &Payment) -> Option<Question> {
    let reference = payment.id().as_str();
    Some(Question {
        method: Method::POST,
        path: path.to_owned(),
        id: format!("{}_{reference}", path.trim_start_matches('/')),
        body: serde_json::to_vec(&Order::of(payment)).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use futures_util::{FutureExt as _, future::join_all};
    use quipu_kernel::{Currency, Timestamp};
    use quipu_merchants::Method;
    use quipu_payments::PaymentType;

    use super::*;
    use crate::samples::Sample;

    /// A clock that moves only when it is set.
    #[derive(Default)]
    struct HandClock(AtomicI64);

    impl Clock for HandClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(self.0.load(Ordering::Relaxed))
        }
    }

    fn deposit() -> Payment {
        Sample::new(PaymentType::Deposit, Method::Spei, Currency::MXN).payment()
    }

    fn withdrawal() -> Payment {
        Sample::new(PaymentType::Withdrawal, Method::Spei, Currency::MXN).payment()
    }

    fn to(url: &str, clock: &Arc<HandClock>) -> HttpRail {
        asking(url, clock, Vec::new())
    }

    fn asking(url: &str, clock: &Arc<HandClock>, questions: Vec<Duration>) -> HttpRail {
        let secret = format!("whsec_{}=", "A".repeat(43));
        let rail = HttpRail::new("any", url, &secret, questions, clock.clone());
        rail.expect("a secret of the right form")
    }

    /// The rail of a provider that cannot be reached.
    fn to_nowhere(clock: &Arc<HandClock>) -> HttpRail {
        to("http://127.0.0.1:1", clock)
    }

    /// What this many deposits at once reserve.
    async fn reserved_of(deposits: usize, rail: &HttpRail) -> Vec<Reservation> {
        let all = join_all((0..deposits).map(|_| rail.reserve(Direction::Deposit))).await;
        let reserved = all.into_iter().filter_map(|capacity| match capacity {
            Capacity::Reserved(reserved) => Some(reserved),
            Capacity::Busy | Capacity::CircuitOpen => None,
        });
        reserved.collect()
    }

    async fn until_circuit_opens(rail: &HttpRail) {
        let payment = deposit();
        for status in join_all((0..5).map(|_| rail.ask(&payment))).await {
            assert_eq!(status, RailStatus::Silent);
        }
    }

    #[test]
    fn what_is_due_first_is_due_by_the_time_of_the_commit_and_not_by_that_of_the_identifier() {
        const GAP: Duration = Duration::from_mins(1);
        let rail = asking("http://127.0.0.1:1", &Arc::default(), vec![GAP]);
        let due = |kind| {
            let sample = Sample::new(kind, Method::Spei, Currency::MXN);
            rail.issue(&sample.payment(), &sample.route("http:any")).due
        };
        let question = Due { at: Sample::ISSUED_AT.plus(GAP + FOR_A_PAYER + WHOLE), action: DueAction::Ask };
        assert_eq!(due(PaymentType::Deposit), Some(question));
        let submission = Due { at: Sample::ISSUED_AT, action: DueAction::Submit };
        assert_eq!(due(PaymentType::Withdrawal), Some(submission));
    }

    #[tokio::test]
    async fn a_question_to_a_provider_that_is_left_alone_was_not_asked() {
        let rail = to_nowhere(&Arc::default());
        until_circuit_opens(&rail).await;
        assert_eq!(rail.ask(&deposit()).await, RailStatus::CircuitOpen);
    }

    #[tokio::test]
    async fn the_probe_is_kept_for_one_deposit_until_that_is_committed_or_not() {
        let clock = Arc::new(HandClock::default());
        let rail = to_nowhere(&clock);
        assert_eq!(reserved_of(12, &rail).await.len(), 12);
        until_circuit_opens(&rail).await;
        assert!(matches!(rail.reserve(Direction::Deposit).await, Capacity::CircuitOpen));
        clock.0.fetch_add(15_000, Ordering::Relaxed);
        let reserved = reserved_of(12, &rail).await;
        assert_eq!(reserved.len(), 1);
        assert_eq!(rail.ask(&deposit()).await, RailStatus::CircuitOpen, "nobody else gets through");
        drop(reserved);
        let reserved = rail.reserve(Direction::Deposit).await;
        let Capacity::Reserved(Reservation::Kept(call)) = reserved else {
            panic!("the probe was given back")
        };
        assert_eq!(call.instruct(&deposit()).await, Instructed::Unknown);
        let capacity = rail.reserve(Direction::Deposit).await;
        assert!(matches!(capacity, Capacity::CircuitOpen), "the probe failed");
    }

    #[tokio::test]
    async fn a_deposit_that_has_a_place_keeps_it_while_it_is_committed() {
        let rail = to_nowhere(&Arc::default());
        let mut reserved = reserved_of(64, &rail).await;
        assert_eq!(reserved.len(), 64);
        assert!(matches!(rail.reserve(Direction::Deposit).await, Capacity::Busy), "all places are taken");
        reserved.pop();
        assert!(matches!(rail.reserve(Direction::Deposit).await, Capacity::Reserved(_)));
    }

    #[tokio::test]
    async fn a_payout_whose_call_was_reserved_is_sent_though_the_circuit_opens_meanwhile() {
        let clock = Arc::new(HandClock::default());
        let rail = to_nowhere(&clock);
        let reserved = rail.reserve(Direction::Withdrawal).await;
        let Capacity::Reserved(Reservation::Kept(call)) = reserved else { panic!("it is closed") };
        until_circuit_opens(&rail).await;
        assert!(matches!(rail.reserve(Direction::Withdrawal).await, Capacity::CircuitOpen));
        assert_eq!(rail.submit(&withdrawal()).await, Submission::NotSent, "nothing was reserved");
        assert_eq!(call.submit(&withdrawal()).await, Submission::Unknown, "it was sent");
        clock.0.fetch_add(15_000, Ordering::Relaxed);
        let probe = rail.reserve(Direction::Withdrawal).await;
        assert!(matches!(probe, Capacity::Reserved(_)), "the probe");
        let second = rail.reserve(Direction::Withdrawal).await;
        assert!(matches!(second, Capacity::CircuitOpen), "it is kept for the first");
        drop(probe);
        let third = rail.reserve(Direction::Withdrawal).await;
        assert!(matches!(third, Capacity::Reserved(_)), "it was given back");
    }

    #[tokio::test]
    async fn few_questions_wait_for_a_provider_that_is_slow_and_the_next_come_again() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", silent.local_addr().expect("bound"));
        let (rail, payment) = (to(&url, &Arc::default()), deposit());
        let mut waiting = Vec::new();
        let turned_away = loop {
            let mut question = rail.ask(&payment);
            match (&mut question).now_or_never() {
                Some(status) => break status,
                None => waiting.push(question),
            }
            assert!(waiting.len() < 400, "a worker has other rails to attend to");
            tokio::task::yield_now().await;
        };
        assert_eq!(turned_away, RailStatus::Busy);
        assert!(
            rail.reserve(Direction::Withdrawal).now_or_never().is_none(),
            "payouts have a line of their own"
        );
    }
}
