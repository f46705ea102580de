//! Processing the events of rails: each is stored once and applied once, in any order.
//!
//! The sources are the provider that calls back, the worker that asked, the person who imports a bank's
//! statement, and the payer on the page that plays a scheme. All of them use this use case, so that an event
//! is applied once, whichever source reports it.
//!
//! An event that a rail sends by itself is stored under its name, because the rail may repeat it. An answer
//! to a question has no name that could be repeated: it is judged by the state of the payment, and is stored
//! only if it waits for a person.

mod incoming;

use std::sync::Arc;

use quipu_commit::{Changes, Commit, CommitError, Decided, Holder, Index, Name, NameChange, Refusal, act_on};
use quipu_kernel::{Clock, Entropy, PaymentId, StoreError, Timestamp, timed_id};
use quipu_merchants::SIMULATOR_RAIL;

use self::incoming::{Effect, Found, Incoming, Source};
use crate::{
    choice,
    error::RailEventError,
    history::{
        receipt::{ParkReason, Receipt},
        received::{RailEventOutcome, ReceivedEvent, filed_under},
    },
    payment::{
        Due, Payment,
        apply::TransitionContext,
        changes::{as_it_stands, put_claimed, put_named},
        failure::Failure,
        moves::chain,
        status::{Status, Trigger},
    },
    ports::CrossTenantReads,
    rail::event::{RailEvent, RailEventKind},
};

/// Why an event was not processed.
enum NotProcessed {
    Refused(CommitError),
    Undecided(RailEventError),
}

impl From<CommitError> for NotProcessed {
    fn from(error: CommitError) -> Self {
        Self::Refused(error)
    }
}

impl From<RailEventError> for NotProcessed {
    fn from(error: RailEventError) -> Self {
        Self::Undecided(error)
    }
}

/// Receives a call whenever something is parked, so that a person is told.
pub trait Attention: Send + Sync {
    /// A receipt was parked and waits for a person.
    fn parked(&self, receipt: &Receipt);

    /// The rail refused this payment, which was reported as paid or may have been, and nothing of that may be stored.
    fn lost(&self, rail: &str, payment: &PaymentId, error: &RailEventError);
}

/// The use case that processes the events of rails.
pub struct ProcessRailEvent {
    commit: Arc<dyn Commit>,
    reads: Arc<dyn CrossTenantReads>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    attention: Option<Arc<dyn Attention>>,
}

impl ProcessRailEvent {
    /// The use case over these ports.
    pub fn new(
        commit: Arc<dyn Commit>,
        reads: Arc<dyn CrossTenantReads>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self { commit, reads, clock, entropy, attention: None }
    }

    /// The same use case, which tells `attention` of everything that is parked.
    #[must_use]
    pub fn with_attention(self, attention: Arc<dyn Attention>) -> Self {
        Self { attention: Some(attention), ..self }
    }

    /// Stores and applies an event of the rail with this name. The event must have been verified. However
    /// often and in whatever order events arrive, each is applied once.
    pub async fn run(&self, rail: &str, event: &RailEvent) -> Result<RailEventOutcome, RailEventError> {
        self.receive(rail, event, Source::Callback).await
    }

    /// The same for an entry of a bank's statement. Two entries are two amounts of money, so one that would
    /// only repeat an earlier one is parked.
    pub async fn run_statement_entry(
        &self,
        rail: &str,
        event: &RailEvent,
    ) -> Result<RailEventOutcome, RailEventError> {
        self.receive(rail, event, Source::Statement).await
    }

    async fn receive(
        &self,
        rail: &str,
        event: &RailEvent,
        source: Source,
    ) -> Result<RailEventOutcome, RailEventError> {
        if self.reads.has_received(rail, &event.id).await? {
            return Ok(RailEventOutcome::Known);
        }
        self.process(Incoming::new(rail, event, source), None).await
    }

    /// Stores and applies an event that a worker asked the rail for, to `payment` as the worker found it.
    /// Whether the event is stored already is left to the commit. An event that the ledger cannot post is
    /// refused and not parked, since the rail can be asked again. `due` is the next thing to do with the
    /// payment if the event moves it.
    pub(crate) async fn run_polled(
        &self,
        rail: &str,
        event: &RailEvent,
        payment: &Payment,
        due: Option<Due>,
    ) -> Result<RailEventOutcome, RailEventError> {
        let incoming = Incoming { due, ..Incoming::new(rail, event, Source::Poll) };
        self.process(incoming, Some(payment.clone())).await
    }

    /// The same as [`Self::run_polled`] for a payer's choice: it is ignored if the payment no longer waits for
    /// it.
    pub(crate) async fn run_choice(
        &self,
        rail: &str,
        choice: &RailEvent,
        payment: &Payment,
    ) -> Result<RailEventOutcome, RailEventError> {
        self.process(Incoming::new(rail, choice, Source::Choice), Some(payment.clone())).await
    }

    /// Applies the answer to a question about `payment`, which may be asked again; an answer that the ledger
    /// cannot post is refused.
    pub(crate) async fn run_answer(
        &self,
        rail: &str,
        answer: &RailEvent,
        payment: &Payment,
    ) -> Result<RailEventOutcome, RailEventError> {
        self.process(Incoming::new(rail, answer, Source::Answer), Some(payment.clone())).await
    }

    /// The same for a refusal of a payment that was reported as paid, or may have been. The rail is not asked again:
    /// if the refusal cannot be processed, a person is told of it.
    pub(crate) async fn run_refusal(&self, rail: &str, payment: &Payment, failure: &Failure) {
        let refusal = RailEvent::refusal(payment, failure.clone());
        if let Err(error) = self.run_answer(rail, &refusal, payment).await
            && let Some(attention) = &self.attention
        {
            attention.lost(rail, payment.id(), &error);
        }
    }

    async fn process(
        &self,
        incoming: Incoming<'_>,
        found: Option<Payment>,
    ) -> Result<RailEventOutcome, RailEventError> {
        let found = match found {
            Some(payment) => Some(self.read_facts(incoming, Some(payment)).await?),
            None => None,
        };
        let outcome = match self.apply(incoming, found).await {
            Err(NotProcessed::Refused(CommitError::Refused(Refusal::Posting(_))))
                if incoming.source.is_parked_if_unbookable() =>
            {
                self.apply(Incoming { is_unbookable: true, ..incoming }, None).await
            }
            outcome => outcome,
        };
        match outcome {
            Ok((outcome, parked)) => {
                if let (Some(receipt), Some(attention)) = (parked, &self.attention) {
                    attention.parked(&receipt);
                }
                Ok(outcome)
            }
            Err(NotProcessed::Refused(CommitError::Refused(Refusal::NameTaken { .. }))) => {
                Ok(RailEventOutcome::Known)
            }
            Err(NotProcessed::Refused(error)) => Err(error.into()),
            Err(NotProcessed::Undecided(error)) => Err(error),
        }
    }

    /// Applies the event; answers its outcome, and the receipt if one was parked.
    async fn apply(
        &self,
        incoming: Incoming<'_>,
        found: Option<Found>,
    ) -> Result<(RailEventOutcome, Option<Receipt>), NotProcessed> {
        let read = || async {
            let payment = self.find(incoming.rail, incoming.event).await?;
            Ok(self.read_facts(incoming, payment).await?)
        };
        let decide = |found: Found| {
            let waits = found.payment.as_ref().is_some_and(|payment| payment.status() == Status::Processing);
            if incoming.source == Source::Choice && !waits {
                return Ok(Decided::Stay((RailEventOutcome::Known, None)));
            }
            let effect = Effect::of(incoming, found);
            if incoming.source == Source::Answer && matches!(effect, Effect::Known(_)) {
                return Ok(Decided::Stay((RailEventOutcome::Known, None)));
            }
            let (changes, outcome) = self.follow(incoming, effect)?;
            let parked = changes.saved::<Receipt>().cloned();
            Ok(Decided::change(changes, (outcome, parked)))
        };
        let found = match found {
            Some(found) => found,
            None => read().await?,
        };
        act_on(&*self.commit, found, read, decide).await
    }

    /// Reads the facts about a payment that its own row does not have.
    async fn read_facts(
        &self,
        incoming: Incoming<'_>,
        payment: Option<Payment>,
    ) -> Result<Found, RailEventError> {
        let (mut was_reported, mut is_chosen) = (false, false);
        if let Some(payment) = &payment {
            if incoming.source == Source::Statement {
                was_reported = self.reads.timeline(payment).await?.tells_of(incoming.event.kind);
            }
            let is_made_up = incoming.rail == SIMULATOR_RAIL && !incoming.source.is_from_outside();
            if is_made_up && payment.status() != Status::Processing {
                is_chosen = choice::is_chosen(&*self.reads, payment).await?;
            }
        }
        Ok(Found { payment, was_reported, is_chosen })
    }

    /// The payment that the event names, if it is a payment of this rail.
    async fn find(&self, rail: &str, event: &RailEvent) -> Result<Option<Payment>, RailEventError> {
        let Ok(id) = event.rail_reference.parse::<PaymentId>() else { return Ok(None) };
        let found = self.reads.find_payment(&id).await?;
        Ok(found.filter(|payment| payment.terms().rail == rail))
    }

    /// The changes that follow from the effect of an event.
    fn follow(
        &self,
        incoming: Incoming<'_>,
        effect: Effect,
    ) -> Result<(Changes, RailEventOutcome), RailEventError> {
        let Incoming { rail, event, source, .. } = incoming;
        let at = self.clock.now();
        let payment_id = effect.payment().map(|payment| payment.id().clone());
        let (mut changes, outcome) = match effect {
            Effect::Move(payment, triggers) => {
                (self.moved(incoming, payment, triggers, at)?, RailEventOutcome::Applied)
            }
            Effect::Park(payment, reason) => {
                let receipt = self.receipt(incoming, payment.as_ref(), reason, at);
                let mut changes = untouched(source, payment, at);
                changes.saves.push(receipt.into_save());
                (changes, RailEventOutcome::Parked(reason))
            }
            // A failure names an attempt that brought no money.
            Effect::Known(payment) if source == Source::Callback && event.kind != RailEventKind::Failed => {
                let mut changes = Changes::new(payment.terms().tenant, at);
                put_named(&mut changes, payment, event.provider_reference.clone());
                (changes, RailEventOutcome::Known)
            }
            Effect::Known(payment) => (untouched(source, Some(payment), at), RailEventOutcome::Known),
        };
        if source != Source::Answer || outcome != RailEventOutcome::Applied {
            let id = timed_id("hrd", at, &*self.entropy, 16);
            let (rail, event, outcome) = (rail.to_owned(), event.clone(), outcome.as_str());
            store(&mut changes, ReceivedEvent { id, rail, event, payment_id, outcome, at });
        }
        Ok((changes, outcome))
    }

    /// The changes of a payment that an event moves.
    fn moved(
        &self,
        incoming: Incoming<'_>,
        payment: Payment,
        triggers: &[Trigger],
        at: Timestamp,
    ) -> Result<Changes, RailEventError> {
        let Incoming { event, due, .. } = incoming;
        let context = TransitionContext {
            failure: Some(event.failure()),
            due,
            provider_reference: event.provider_reference.clone(),
            ..TransitionContext::new(at, &*self.entropy)
        };
        let moved = chain(payment, triggers, &context);
        Ok(moved.map_err(|error| failed(&error.to_string()))?.changes)
    }

    /// The receipt of an event that is parked for `reason`.
    fn receipt(
        &self,
        incoming: Incoming<'_>,
        payment: Option<&Payment>,
        reason: ParkReason,
        at: Timestamp,
    ) -> Receipt {
        let Incoming { rail, event, .. } = incoming;
        Receipt {
            receipt_id: timed_id("rcp", at, &*self.entropy, 16),
            tenant: payment.map(|payment| payment.terms().tenant),
            payment_id: payment.map(|payment| payment.id().clone()),
            rail: rail.to_owned(),
            event_id: event.id.clone(),
            kind: event.kind,
            rail_reference: event.rail_reference.clone(),
            provider_reference: event.provider_reference.clone(),
            amount: event.amount,
            currency: event.currency,
            reason,
            created_at: at,
            resolved: None,
        }
    }
}

/// Changes that leave the payment as it is, if the event names one.
fn untouched(source: Source, payment: Option<Payment>, at: Timestamp) -> Changes {
    let tenant = payment.as_ref().map(|payment| payment.terms().tenant);
    let mut changes = Changes::new(filed_under(tenant), at);
    match payment {
        // The money of this payment. The next entry is further money, even if it comes at the same time.
        Some(payment) if source == Source::Statement => put_claimed(&mut changes, payment),
        // That it is known, or contradicts the payment, is true only as the payment stands.
        payment => changes.expects.extend(payment.as_ref().map(as_it_stands)),
    }
    changes
}

/// Stores an event under its name, once.
fn store(changes: &mut Changes, received: ReceivedEvent) {
    let name = Name::new(Index::RAIL_EVENT, ReceivedEvent::name_of(&received.rail, &received.event.id));
    changes.names.push(NameChange::Take(name, Holder::Text(received.id.clone())));
    changes.add(received);
}

fn failed(what: &str) -> RailEventError {
    RailEventError::Store(StoreError::Failed(what.to_owned()))
}
