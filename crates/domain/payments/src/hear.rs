//! Processing the events of rails: each is stored once and applied once, in any order.
//!
//! The sources are the provider that calls back, the worker that asked, and the person who imports a bank's
//! statement. All of them use this use case, so that an event is applied once, whichever source reports it.
//!
//! An event that a rail sends by itself is stored under its name, because the rail may repeat it. An answer
//! to a question has no name that could be repeated: it is judged by the state of the payment, and is stored
//! only if it waits for a person.

use std::sync::Arc;

use quipu_commit::{Changes, Commit, CommitError, Holder, Index, Name, NameChange, Refusal};
use quipu_kernel::{Clock, Entropy, PaymentId, Tenant, Timestamp, base32};
use quipu_merchants::{SIMULATOR_RAIL, StoreUnavailable};

use crate::{
    act::{Decided, act},
    apply::Happening,
    changes::{as_it_stands, put_claimed},
    choice,
    consequence::Consequence,
    error::HearError,
    heard::{Heard, HeardEvent, UNKNOWN_TENANT},
    moves::chain,
    payment::{Due, Payment},
    ports::MoneyReads,
    rail_event::RailEvent,
    receipt::{ParkReason, Receipt},
    status::Status,
};

/// The kind of message that an event is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// A report about money that the rail may repeat.
    Word,
    /// A movement of money: each is a separate amount of money.
    Movement,
    /// The answer to a question.
    Answer,
    /// A payer's choice, which counts only while the payment waits for it.
    Choice,
}

/// An event while it is processed.
#[derive(Clone, Copy)]
struct Telling<'a> {
    rail: &'a str,
    event: &'a RailEvent,
    /// The next thing to do with the payment.
    due: Option<Due>,
    sort: Sort,
    /// Whether an event that the ledger cannot post is parked for a person.
    parks_unbookable: bool,
}

impl<'a> Telling<'a> {
    /// An event that a rail sends by itself.
    fn unasked(rail: &'a str, event: &'a RailEvent) -> Self {
        Self { rail, event, due: None, sort: Sort::Word, parks_unbookable: true }
    }
}

/// The payment that an event names, and related facts.
struct Found {
    payment: Option<Payment>,
    /// Whether the rail has reported this kind of event for the payment before, in a way that counts.
    was_told: bool,
    /// Whether the payer chose on the page that plays a scheme, which no answer of the simulator contradicts.
    is_chosen: bool,
}

/// Why an event was not processed.
enum Unheard {
    Refused(CommitError),
    Undecided(HearError),
}

impl From<CommitError> for Unheard {
    fn from(error: CommitError) -> Self {
        Self::Refused(error)
    }
}

impl From<HearError> for Unheard {
    fn from(error: HearError) -> Self {
        Self::Undecided(error)
    }
}

/// Receives a call whenever something is parked, so that a person is told.
pub trait Attention: Send + Sync {
    /// A receipt was parked and waits for a person.
    fn parked(&self, receipt: &Receipt);
}

/// The use case that processes the events of rails.
pub struct HearRail {
    commit: Arc<dyn Commit>,
    reads: Arc<dyn MoneyReads>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    attention: Option<Arc<dyn Attention>>,
}

impl HearRail {
    /// The use case over these ports.
    pub fn new(
        commit: Arc<dyn Commit>,
        reads: Arc<dyn MoneyReads>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self { commit, reads, clock, entropy, attention: None }
    }

    /// The same use case, which tells `attention` of everything that is parked.
    #[must_use]
    pub fn telling(self, attention: Arc<dyn Attention>) -> Self {
        Self { attention: Some(attention), ..self }
    }

    /// Stores and applies an event of the rail with this name. The event must have been verified. However
    /// often and in whatever order events arrive, each is applied once.
    pub async fn run(&self, rail: &str, event: &RailEvent) -> Result<Heard, HearError> {
        if self.reads.has_heard(rail, &event.id).await? {
            return Ok(Heard::Known);
        }
        self.hear(Telling::unasked(rail, event), None).await
    }

    /// The same for a movement of money on an account. Two movements are two amounts of money, so one that
    /// would only repeat an earlier one is parked.
    pub async fn run_movement(&self, rail: &str, event: &RailEvent) -> Result<Heard, HearError> {
        if self.reads.has_heard(rail, &event.id).await? {
            return Ok(Heard::Known);
        }
        self.hear(Telling { sort: Sort::Movement, ..Telling::unasked(rail, event) }, None).await
    }

    /// The same as [`Self::run`] for a caller that can ask again: an event that the ledger cannot post is
    /// refused and not parked. `due` is the next thing to do with the payment.
    pub(crate) async fn run_then(
        &self,
        rail: &str,
        event: &RailEvent,
        payment: &Payment,
        due: Option<Due>,
    ) -> Result<Heard, HearError> {
        let telling = Telling { due, parks_unbookable: false, ..Telling::unasked(rail, event) };
        self.hear(telling, Some(payment.clone())).await
    }

    /// The same as [`Self::run_then`] for a payer's choice: it is ignored if the payment no longer waits for
    /// it.
    pub(crate) async fn run_choice(
        &self,
        rail: &str,
        choice: &RailEvent,
        payment: &Payment,
    ) -> Result<Heard, HearError> {
        let telling =
            Telling { parks_unbookable: false, sort: Sort::Choice, ..Telling::unasked(rail, choice) };
        self.hear(telling, Some(payment.clone())).await
    }

    /// Applies the answer to a question about `payment`, which may be asked again; an answer that the ledger
    /// cannot post is refused.
    pub(crate) async fn run_answer(
        &self,
        rail: &str,
        answer: &RailEvent,
        payment: &Payment,
    ) -> Result<Heard, HearError> {
        let telling =
            Telling { parks_unbookable: false, sort: Sort::Answer, ..Telling::unasked(rail, answer) };
        self.hear(telling, Some(payment.clone())).await
    }

    async fn hear(&self, telling: Telling<'_>, found: Option<Payment>) -> Result<Heard, HearError> {
        let found = match found {
            Some(payment) => Some(self.look(telling, Some(payment)).await?),
            None => None,
        };
        let heard = match self.apply(telling, found, false).await {
            Err(Unheard::Refused(CommitError::Refused(Refusal::Posting(_)))) if telling.parks_unbookable => {
                self.apply(telling, None, true).await
            }
            heard => heard,
        };
        match heard {
            Ok((heard, parked)) => {
                if let (Some(receipt), Some(attention)) = (parked, &self.attention) {
                    attention.parked(&receipt);
                }
                Ok(heard)
            }
            Err(Unheard::Refused(CommitError::Refused(Refusal::NameTaken { .. }))) => Ok(Heard::Known),
            Err(Unheard::Refused(error)) => Err(error.into()),
            Err(Unheard::Undecided(error)) => Err(error),
        }
    }

    /// Applies the event; answers its outcome, and the receipt if one was parked.
    async fn apply(
        &self,
        telling: Telling<'_>,
        found: Option<Found>,
        unbookable: bool,
    ) -> Result<(Heard, Option<Receipt>), Unheard> {
        let read = || async {
            let payment = self.find(telling.rail, telling.event).await?;
            Ok(self.look(telling, payment).await?)
        };
        let decide = |Found { payment, was_told, is_chosen }: Found| {
            let waits = payment.as_ref().is_some_and(|payment| payment.status() == Status::Processing);
            if telling.sort == Sort::Choice && !waits {
                return Ok(Decided::Stay((Heard::Known, None)));
            }
            let consequence = match &payment {
                None => Consequence::Park(ParkReason::UnknownPayment),
                Some(_) if unbookable => Consequence::Park(ParkReason::Unbookable),
                Some(payment) => match Consequence::of(payment, telling.event) {
                    Consequence::Known if was_told => Consequence::Park(ParkReason::Contradiction),
                    Consequence::Park(_) if is_chosen => Consequence::Known,
                    consequence => consequence,
                },
            };
            if telling.sort == Sort::Answer && consequence == Consequence::Known {
                return Ok(Decided::Stay((Heard::Known, None)));
            }
            let (changes, heard) = self.follow(telling, payment, consequence)?;
            let parked = changes.saved::<Receipt>().cloned();
            Ok(Decided::change(changes, (heard, parked)))
        };
        act(&*self.commit, found, read, decide).await
    }

    /// Reads the facts about a payment that its own row does not have.
    async fn look(&self, telling: Telling<'_>, payment: Option<Payment>) -> Result<Found, HearError> {
        let (mut was_told, mut is_chosen) = (false, false);
        if let Some(payment) = &payment {
            if telling.sort == Sort::Movement {
                was_told = self.reads.timeline(payment).await?.tells_of(telling.event.kind);
            }
            let is_made_up = telling.rail == SIMULATOR_RAIL && !telling.parks_unbookable;
            if is_made_up && payment.status() != Status::Processing {
                is_chosen = choice::is_chosen(&*self.reads, payment).await?;
            }
        }
        Ok(Found { payment, was_told, is_chosen })
    }

    /// The payment that the event names, if it is a payment of this rail.
    async fn find(&self, rail: &str, event: &RailEvent) -> Result<Option<Payment>, HearError> {
        let Ok(id) = event.rail_reference.parse::<PaymentId>() else { return Ok(None) };
        let found = self.reads.find_payment(&id).await?;
        Ok(found.filter(|payment| payment.terms().rail == rail))
    }

    /// The changes that follow from an event.
    fn follow(
        &self,
        telling: Telling<'_>,
        payment: Option<Payment>,
        consequence: Consequence,
    ) -> Result<(Changes, Heard), HearError> {
        let Telling { rail, event, due, .. } = telling;
        let at = self.clock.now();
        let payment_id = payment.as_ref().map(|payment| payment.id().clone());
        let (mut changes, heard) = match (consequence, payment) {
            (Consequence::Move(triggers), Some(payment)) => {
                let failure = Some(event.failure());
                let happening = Happening { failure, due, ..Happening::new(at, &*self.entropy) };
                let moved = chain(payment, triggers, &happening);
                (moved.map_err(|error| failed(&error.to_string()))?.changes, Heard::Applied)
            }
            (Consequence::Park(reason), payment) => {
                let tenant = payment.as_ref().map(|payment| payment.terms().tenant);
                let mut changes = Changes::new(tenant.unwrap_or(UNKNOWN_TENANT), at);
                // It contradicts the payment only as the payment stands.
                changes.expects.extend(payment.as_ref().map(as_it_stands));
                changes.saves.push(Receipt::parked(self.receipt(
                    rail,
                    event,
                    tenant,
                    payment_id.as_ref(),
                    reason,
                    at,
                )));
                (changes, Heard::Parked(reason))
            }
            (_, payment) => {
                let tenant = payment.as_ref().map_or(UNKNOWN_TENANT, |payment| payment.terms().tenant);
                let mut changes = Changes::new(tenant, at);
                match payment {
                    // The money of this payment. The next movement is further money, even if it comes at the same time.
                    Some(payment) if telling.sort == Sort::Movement => put_claimed(&mut changes, payment),
                    // That it is known is true only as the payment stands.
                    payment => changes.expects.extend(payment.as_ref().map(as_it_stands)),
                }
                (changes, Heard::Known)
            }
        };
        if telling.sort == Sort::Answer && heard == Heard::Applied {
            return Ok((changes, heard));
        }
        let name = Name::new(Index::RAIL_EVENT, HeardEvent::name_of(rail, &event.id));
        let id = format!("hrd_{:013}_{}", at.millis(), base32(&*self.entropy, 16));
        changes.names.push(NameChange::Take(name, Holder::Text(id.clone())));
        changes.add(HeardEvent {
            id,
            rail: rail.to_owned(),
            event: event.clone(),
            payment_id,
            outcome: heard.as_str(),
            at,
        });
        Ok((changes, heard))
    }

    fn receipt(
        &self,
        rail: &str,
        event: &RailEvent,
        tenant: Option<Tenant>,
        payment_id: Option<&PaymentId>,
        reason: ParkReason,
        at: Timestamp,
    ) -> Receipt {
        Receipt {
            receipt_id: format!("rcp_{:013}_{}", at.millis(), base32(&*self.entropy, 16)),
            tenant,
            payment_id: payment_id.cloned(),
            rail: rail.to_owned(),
            event_id: event.id.clone(),
            kind: event.kind,
            rail_reference: event.rail_reference.clone(),
            amount: event.amount,
            currency: event.currency,
            reason,
            created_at: at,
            resolution: None,
            resolved_at: None,
        }
    }
}

fn failed(what: &str) -> HearError {
    HearError::Store(StoreUnavailable::Failed(what.to_owned()))
}
