//! Creations whose outcome is not known yet.
//!
//! A repeat, which has the same reference, continues with the same payment: it keeps the identifier that was
//! returned, so that the caller knows of one payment only, however often the answer is lost. An idempotency
//! key does not identify a repeat: it may come with another reference, which is another payment. The store
//! prevents a second payment, because key, reference and identifier are unique there. This type only
//! remembers the identifiers that were returned; it is empty after a restart.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard},
};

use quipu_kernel::{PaymentId, StoreError, Tenant, locked};

use crate::{error::CreateError, request::creation::Creation};

/// The most identifiers that are remembered, one for each answer with an unknown outcome.
const MOST: usize = 10_000;

/// The merchant's name of a payment: tenant and reference.
type Name = (Tenant, String);

/// A creation, identified by the reference of its payment.
pub(crate) struct Subject {
    /// `None` if the request is invalid, so that it creates no payment.
    name: Option<Name>,
    /// The payment that an earlier attempt may have created, if its outcome is unknown.
    pub(crate) earlier: Option<PaymentId>,
}

#[derive(Default)]
struct Remembered {
    ids: HashMap<Name, PaymentId>,
    order: VecDeque<Name>,
}

/// The creations of this node whose outcome is unknown.
#[derive(Default)]
pub(crate) struct UnknownOutcomes(Mutex<Remembered>);

impl UnknownOutcomes {
    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        locked(&self.0)
    }

    /// A creation by its reference, with the payment that an earlier attempt may have created.
    pub(crate) fn subject(&self, creation: &Creation) -> Subject {
        let draft = creation.draft.as_ref().ok();
        let name = draft.map(|draft| (creation.tenant, draft.merchant_reference.clone()));
        let earlier = name.as_ref().and_then(|name| self.remembered().ids.get(name).cloned());
        Subject { name, earlier }
    }

    /// Notes that the earlier attempt is over and its payment has released its reference, so the present
    /// creation is independent of it.
    pub(crate) fn forget_earlier(&self, subject: &mut Subject) {
        if subject.earlier.take().is_some() {
            self.forget(subject);
        }
    }

    /// The outcome as the merchant gets it. While the first attempt's outcome is unknown, a failure of the
    /// store or its provider is an unknown outcome too, of the first attempt's payment.
    pub(crate) fn settle_outcome<T>(
        &self,
        subject: &Subject,
        outcome: Result<T, CreateError>,
    ) -> Result<T, CreateError> {
        let outcome = match (outcome, &subject.earlier) {
            (
                Err(
                    error @ (CreateError::ProviderSilent
                    | CreateError::Store(
                        StoreError::Overloaded | StoreError::Unavailable(_) | StoreError::OutcomeUnknown(_),
                    )),
                ),
                Some(id),
            ) => {
                let cause = format!("an earlier attempt's outcome is unknown, and this one failed: {error}");
                Err(CreateError::OutcomeUnknown { id: id.clone(), cause })
            }
            (outcome, _) => outcome,
        };
        match &outcome {
            Err(CreateError::OutcomeUnknown { id, .. }) => self.remember(subject, id),
            // These errors are about the request, and say nothing about the first attempt.
            Err(
                CreateError::Invalid(_)
                | CreateError::NonceUsed
                | CreateError::IdempotencyKeyInUse
                | CreateError::IdempotencyKeyMismatch
                | CreateError::ProviderSilent
                | CreateError::Store(_),
            ) => {}
            _ if subject.earlier.is_some() => self.forget(subject),
            _ => {}
        }
        outcome
    }

    fn remember(&self, subject: &Subject, id: &PaymentId) {
        let Some(name) = &subject.name else { return };
        let mut remembered = self.remembered();
        if remembered.ids.insert(name.clone(), id.clone()).is_none() {
            remembered.order.push_back(name.clone());
        }
        while remembered.order.len() > MOST {
            if let Some(oldest) = remembered.order.pop_front() {
                remembered.ids.remove(&oldest);
            }
        }
    }

    fn forget(&self, subject: &Subject) {
        let Some(name) = &subject.name else { return };
        let mut remembered = self.remembered();
        if remembered.ids.remove(name).is_some() {
            remembered.order.retain(|known| known != name);
        }
    }
}
