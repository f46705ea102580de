//! Creating a payment.

pub(crate) mod decide;
pub(crate) mod explain;
pub(crate) mod instruct;
pub(crate) mod keyed;
pub mod methods;
pub(crate) mod recipient;
pub(crate) mod running_keys;
pub(crate) mod unknown;

use std::{sync::Arc, time::Duration};

use quipu_commit::{
    Aggregate, Answer, Changes, Commit, CommitError, Expect, Holder, KeptAnswer, Nonce, Refusal,
};
use quipu_kernel::{Clock, Entropy, IdSource, MerchantId, PaymentId, PaymentIdSource, StoreError, Tenant};
use quipu_ledger::PostingError;
use quipu_merchants::RouteBook;

use crate::{
    create::{
        decide::{Bounds, DecidedCreation, Decider},
        running_keys::RunningKeys,
        unknown::{Subject, UnknownOutcomes},
    },
    error::CreateError,
    payment::{Payment, page_links::PageLinks},
    ports::PaymentReads,
    rail::rails::Rails,
    rail_events::ProcessRailEvent,
    request::{creation::Creation, creation_key::CreationKey},
};

/// Creates payments. All callers share one, since it knows the idempotency keys of the creations in progress.
///
/// The nonce of a request is used up whatever the outcome is: in the payment's own commit if there is one,
/// otherwise in a commit of its own. A nonce that was used before takes precedence over every other refusal,
/// so that a replayed signature reveals nothing.
pub struct CreatePayment {
    pub(crate) commit: Arc<dyn Commit>,
    pub(crate) reads: Arc<dyn PaymentReads>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) running: RunningKeys,
    pub(crate) unknown: UnknownOutcomes,
    pub(crate) rail_events: Option<Arc<ProcessRailEvent>>,
    decider: Decider,
}

/// The outcome of one attempt to create a payment.
pub(crate) enum Attempt {
    /// The payment, and the answer that was kept with it.
    Created(Box<Payment>, Option<Answer>),
    /// A refusal, and the nonce if no commit has used it up yet.
    Refused(CreateError, Option<Nonce>),
    /// An answer has been kept under the key meanwhile. The nonce is used up.
    KeyUsed,
}

/// What a creation works with.
pub struct CreationPorts {
    /// The write path.
    pub commit: Arc<dyn Commit>,
    /// The reads of payments.
    pub reads: Arc<dyn PaymentReads>,
    /// The reads of routes and beneficiaries.
    pub route_book: Arc<dyn RouteBook>,
    /// The rails that this node knows.
    pub rails: Arc<Rails>,
    /// The source of the current time.
    pub clock: Arc<dyn Clock>,
    /// The source of randomness.
    pub entropy: Arc<dyn Entropy>,
}

impl CreatePayment {
    /// The use case over these ports.
    pub fn new(ports: CreationPorts) -> Self {
        let CreationPorts { commit, reads, route_book, rails, clock, entropy } = ports;
        let decider = Decider {
            reads: Arc::clone(&reads),
            route_book,
            rails,
            clock: Arc::clone(&clock),
            entropy,
            payment_ids: PaymentIdSource::default(),
            customer_ids: IdSource::default(),
            redirectpay_cancel_after: Duration::from_hours(24),
            redirectpay_alert_after: Duration::from_hours(6),
            page_links: None,
        };
        let (running, unknown) = (RunningKeys::default(), UnknownOutcomes::default());
        Self { commit, reads, clock, running, unknown, rail_events: None, decider }
    }

    /// The same, with another `redirectpay.alert_after` than 6 hours.
    pub fn with_redirectpay_alert_after(mut self, period: Duration) -> Self {
        self.decider.redirectpay_alert_after = period;
        self
    }

    /// The same, with another `redirectpay.cancel_after` than 24 hours.
    pub fn with_redirectpay_cancel_after(mut self, period: Duration) -> Self {
        self.decider.redirectpay_cancel_after = period;
        self
    }

    /// The same, with pages for the types that have one.
    pub fn with_page_links(mut self, links: Arc<PageLinks>) -> Self {
        self.decider.page_links = Some(links);
        self
    }

    /// The same, reporting a rail's refusal of a payment that it had completed.
    pub fn with_reports_to(mut self, rail_events: Arc<ProcessRailEvent>) -> Self {
        self.rail_events = Some(rail_events);
        self
    }

    /// Whether a creation should be refused at once ([`Commit::is_pressed`]), before its request is read.
    pub fn is_pressed(&self, merchant: MerchantId) -> bool {
        self.commit.is_pressed(merchant)
    }

    pub(crate) fn rails(&self) -> &Rails {
        &self.decider.rails
    }

    pub(crate) fn entropy(&self) -> &Arc<dyn Entropy> {
        &self.decider.entropy
    }

    /// Creates a payment and returns it as it was committed. The nonce is used up whatever the outcome is,
    /// unless the store was overloaded or unreachable: then nothing happened at all, and the same call may be
    /// sent again.
    pub async fn run(&self, creation: Creation) -> Result<Payment, CreateError> {
        let tenant = creation.tenant;
        let mut subject = self.unknown.subject(&creation);
        let outcome = match self.attempt(creation, None, &mut subject).await {
            Attempt::Created(payment, _) => Ok(*payment),
            Attempt::Refused(error, nonce) => self.burn_after(tenant, &subject, nonce, error).await,
            Attempt::KeyUsed => {
                Err(broken(format!("a creation of {tenant} without a key was refused for its key")))
            }
        };
        self.unknown.settle_outcome(&subject, outcome)
    }

    /// Uses up the nonce of a call that ends without a commit of its own; `NonceUsed` if it was used before.
    pub async fn burn(&self, tenant: Tenant, nonce: Nonce) -> Result<(), CreateError> {
        let mut changes = Changes::new(tenant, self.clock.now());
        changes.nonce = Some(nonce);
        match self.commit.commit(changes).await {
            Ok(_) => Ok(()),
            Err(CommitError::Refused(Refusal::NonceUsed)) => Err(CreateError::NonceUsed),
            Err(CommitError::Store(error)) => Err(error.into()),
            Err(CommitError::Refused(refusal)) => {
                Err(broken(format!("a nonce alone was refused for something else: {refusal} ({tenant})")))
            }
        }
    }

    pub(crate) async fn burn_left(&self, tenant: Tenant, nonce: Option<Nonce>) -> Result<(), CreateError> {
        match nonce {
            Some(nonce) => self.burn(tenant, nonce).await,
            None => Ok(()),
        }
    }

    /// Uses up the nonce of a refused call, unless the answer says that the same call may be sent again. It does not say so
    /// while the outcome of an earlier attempt is unknown.
    pub(crate) async fn burn_after<T>(
        &self,
        tenant: Tenant,
        subject: &Subject,
        nonce: Option<Nonce>,
        error: CreateError,
    ) -> Result<T, CreateError> {
        if subject.earlier.is_some() || !error.invites_repeat() {
            self.burn_left(tenant, nonce).await?;
        }
        Err(error)
    }

    /// Decides and commits once. If an earlier attempt created its payment, that payment is the one
    /// requested.
    pub(crate) async fn attempt(
        &self,
        creation: Creation,
        key: Option<CreationKey>,
        subject: &mut Subject,
    ) -> Attempt {
        let Creation { tenant, draft, default_return_urls, nonce } = creation;
        if let Err(error) = self.require_not_made(tenant, subject).await {
            return Attempt::Refused(error, nonce);
        }
        let earlier = subject.earlier.clone();
        let decided = match draft {
            Ok(draft) => self.decider.decide(tenant, draft, default_return_urls, earlier.clone()).await,
            Err(invalid) => match self.decider.explain(tenant, invalid).await {
                Ok(problems) => Err(CreateError::Invalid(problems)),
                Err(error) => Err(error.into()),
            },
        };
        let DecidedCreation { mut changes, bounds, reserved } = match decided {
            Ok(decision) => decision,
            Err(error) => return Attempt::Refused(error, nonce),
        };
        // If nothing comes of the commit, the call is told of the earlier attempt, and must not be sent again as it is.
        let left = earlier.as_ref().and_then(|_| nonce.clone());
        changes.nonce = nonce;
        // Another repeat may create it at the same moment.
        changes.expects.extend(earlier.as_ref().map(absent));
        let id = changes.payment_id.clone();
        let kept = if reserved.is_some() { KeptAnswer::Later } else { KeptAnswer::OfSaved };
        changes.idempotency = key.clone().map(|key| key.record(id.clone(), kept));
        match self.commit.commit(changes).await {
            Ok(mut committed) => {
                let answer = committed.answer.take();
                match (committed.into_saved::<Payment>(), reserved) {
                    (Some(payment), Some(reserved)) => self.instruct(payment, reserved, key).await,
                    (Some(payment), None) => Attempt::Created(payment, answer),
                    (None, _) => {
                        let what = format!("a creation was committed without its payment {id:?} of {tenant}");
                        Attempt::Refused(broken(what), None)
                    }
                }
            }
            Err(CommitError::Refused(Refusal::IdempotencyKeyUsed)) => Attempt::KeyUsed,
            Err(CommitError::Refused(refusal)) => match (refusal, earlier) {
                (Refusal::Stale, Some(holder)) => {
                    Attempt::Refused(CreateError::DuplicateReference { holder }, None)
                }
                (refusal, _) => Attempt::Refused(bounds.explain(refusal, tenant), None),
            },
            Err(CommitError::Store(error)) => {
                let left = left.filter(|_| !matches!(error, StoreError::OutcomeUnknown(_)));
                Attempt::Refused(unlearnt(error, id), left)
            }
        }
    }
}

impl CreatePayment {
    /// Checks that an earlier attempt created no payment, so that this one may use its identifier. If it did,
    /// that payment holds the reference, unless it has released it since: then the earlier attempt is over.
    async fn require_not_made(&self, tenant: Tenant, subject: &mut Subject) -> Result<(), CreateError> {
        let Some(id) = &subject.earlier else { return Ok(()) };
        match self.reads.payment(tenant, id).await? {
            None => {}
            Some(made) if made.holds_reference() => {
                return Err(CreateError::DuplicateReference { holder: id.clone() });
            }
            Some(_) => self.unknown.forget_earlier(subject),
        }
        Ok(())
    }
}

/// Expects that no payment has this identifier.
fn absent(id: &PaymentId) -> Expect {
    Expect { aggregate: Aggregate::PAYMENT, id: id.as_str().to_owned(), revision: Expect::ABSENT }
}

/// The error for a failed commit of a payment with this identifier.
fn unlearnt(error: StoreError, id: Option<PaymentId>) -> CreateError {
    match (error, id) {
        (StoreError::OutcomeUnknown(cause), Some(id)) => CreateError::OutcomeUnknown { id, cause },
        (error, _) => error.into(),
    }
}

impl Bounds {
    /// The error for a refused commit, as the merchant gets it.
    fn explain(self, refusal: Refusal, tenant: Tenant) -> CreateError {
        match refusal {
            Refusal::NameTaken { holder: Holder::Text(id), .. } => match id.parse() {
                Ok(holder) => CreateError::DuplicateReference { holder },
                Err(_) => broken(format!("a reference of {tenant} is held by what is no payment: {id:?}")),
            },
            Refusal::Posting(PostingError::InsufficientFunds) => CreateError::InsufficientBalance,
            Refusal::Posting(PostingError::OutOfRange) => self.exceeded(),
            Refusal::NonceUsed => CreateError::NonceUsed,
            Refusal::Posting(PostingError::FrozenShort)
            | Refusal::NameTaken { .. }
            | Refusal::Stale
            | Refusal::IdempotencyKeyUsed => {
                broken(format!("a creation of {tenant} was refused for what no creation does: {refusal}"))
            }
        }
    }
}

/// The error for a broken contract, of the store or of this crate.
pub(crate) fn broken(what: String) -> CreateError {
    CreateError::Store(StoreError::Failed(what))
}
