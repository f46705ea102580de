//! Decides, by the merchant's routes, what a new payment is, before anything is written.

use std::{sync::Arc, time::Duration};

use quipu_commit::Changes;
use quipu_kernel::{
    Amount, Clock, CustomerId, Entropy, IdSource, Minor, OutOfRange, PaymentId, PaymentIdSource, Problems,
    StoreError, Tenant, Timestamp,
};
use quipu_ledger::Transaction;
use quipu_merchants::{Direction, Method, ReturnUrls, Route, RouteBook, RouteKey};

use crate::{
    alert,
    details::customer::{Customer, NamedCustomer},
    error::CreateError,
    payment::{
        Due, Payment, State, Terms,
        changes::{self, CustomerClaim},
        page_links::PageLinks,
        payload,
    },
    ports::PaymentReads,
    rail::{
        Rail,
        answer::{Capacity, Reservation},
        rails::Rails,
    },
    request::{
        draft::Draft,
        invalid::{judge_webhook, refuse_unknown_customer},
    },
};

/// How long payments wait where their route does not say it (docs/OPERATIONS.md, `expires_in`): a hosted withdrawal
/// for its recipient, a deposit for its money.
const FOR_A_RECIPIENT: Duration = Duration::from_hours(72);
const FOR_CASH: Duration = Duration::from_hours(72);
const FOR_A_TRANSFER: Duration = Duration::from_hours(24);
const FOR_CARD_OR_CRYPTO: Duration = Duration::from_hours(1);

/// The amounts that a route admits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    min: Amount,
    max: Option<Amount>,
}

impl Bounds {
    pub(crate) const fn of(route: &Route) -> Self {
        Self { min: route.min_amount, max: route.max_amount }
    }

    pub(crate) fn admit(self, amount: Amount) -> bool {
        self.min <= amount && self.max.is_none_or(|max| amount <= max)
    }

    pub(crate) const fn exceeded(self) -> CreateError {
        CreateError::AmountOutOfRange { min: self.min, max: self.max }
    }
}

/// A decided creation.
pub(crate) struct DecidedCreation {
    pub(crate) changes: Changes,
    /// The bounds in the message of a refusal that only the commit can give.
    pub(crate) bounds: Bounds,
    /// Room for the request for the rail's instructions, if they still have to be requested.
    pub(crate) reserved: Option<Reservation>,
}

/// Decides about new payments.
pub(crate) struct Decider {
    pub(crate) reads: Arc<dyn PaymentReads>,
    pub(crate) route_book: Arc<dyn RouteBook>,
    pub(crate) rails: Arc<Rails>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) payment_ids: PaymentIdSource,
    pub(crate) customer_ids: IdSource,
    pub(crate) redirectpay_cancel_after: Duration,
    pub(crate) redirectpay_alert_after: Duration,
    pub(crate) page_links: Option<Arc<PageLinks>>,
}

impl Decider {
    /// Decides what is to be committed. Besides the routes only a customer or beneficiary named by the
    /// request is read. A payment that an earlier attempt may have created gets the same identifier.
    pub(crate) async fn decide(
        &self,
        tenant: Tenant,
        mut draft: Draft,
        default_return_urls: ReturnUrls,
        earlier: Option<PaymentId>,
    ) -> Result<DecidedCreation, CreateError> {
        let mut problems = Problems::new();
        judge_webhook(draft.webhook.as_ref(), tenant.environment(), &mut problems);
        let known_customer = self.fill_customer(tenant, &mut draft.customer, &mut problems).await?;
        let routes = self.route_book.routes(tenant.merchant()).await?;
        let route = match choose_route(&routes, draft.route_key(tenant.environment())) {
            Ok(route) => route,
            Err(_) if !problems.is_empty() => return Err(CreateError::Invalid(problems)),
            Err(error) => return Err(error),
        };
        // A beneficiary is looked up only if there is a route for paying it.
        if let Some(payout) = &mut draft.payout {
            payout.look_up(&*self.route_book, tenant, &mut problems).await?;
            payout.judge_by(route, &mut problems);
        }
        problems.into_result().map_err(CreateError::Invalid)?;
        let bounds = Bounds::of(route);
        let fee = bear_fee(draft.amount, route).ok_or_else(|| bounds.exceeded())?;
        let rail = self.rails.require(&route.rail)?;

        let (held, completion) = movements(&draft, fee).map_err(|_| bounds.exceeded())?;
        let now = self.clock.now();
        let (customer_id, claim) = if let Some(id) = known_customer {
            (id, CustomerClaim::Known)
        } else {
            let id = CustomerId(self.customer_ids.next(now, &*self.entropy));
            (id, CustomerClaim::MatchOrCreate(id))
        };
        let id = earlier.unwrap_or_else(|| self.payment_ids.next(now, &*self.entropy));
        let particulars = Particulars { id, tenant, now, customer_id, fee, default_return_urls };
        let direction = draft.kind.direction();
        let (payment, due, must_be_requested) = self.make(draft, particulars, route, rail);
        let reserved = if must_be_requested { Some(reserve(&**rail).await?) } else { None };
        let mut changes = Changes::new(tenant, now);
        for event in payload::events(&payment, None, &*self.entropy) {
            changes.add(event);
        }
        for address in self.page_links.iter().flat_map(|links| links.addresses(&payment)) {
            changes.add(address);
        }
        changes.transactions.extend(held);
        changes.foreseen = Some(completion);
        if direction == Direction::Deposit && payment.terms().method == Method::RedirectPay {
            let at = now.plus(self.redirectpay_alert_after);
            changes.work.push(alert::alert_at(payment.id(), at));
        }
        changes::put_new(&mut changes, payment, claim, due);
        if reserved.is_some() {
            // This node asks the rail at once. If it dies before it has the answer, another one asks.
            changes = changes::taken(changes);
        }
        Ok(DecidedCreation { changes, bounds, reserved })
    }
}

/// The parts of a payment besides its draft.
struct Particulars {
    id: PaymentId,
    tenant: Tenant,
    now: Timestamp,
    customer_id: CustomerId,
    fee: Minor,
    default_return_urls: ReturnUrls,
}

impl Decider {
    /// Completes the customer from the stored one, if the request names one.
    async fn fill_customer(
        &self,
        tenant: Tenant,
        named: &mut NamedCustomer,
        problems: &mut Problems,
    ) -> Result<Option<CustomerId>, CreateError> {
        let Some(id) = named.id else { return Ok(None) };
        match self.reads.customer(tenant, id).await? {
            Some(known) => {
                named.email = named.email.take().or(known.email);
                named.phone = named.phone.take().or(known.phone);
                named.name = named.name.take().or(known.name);
            }
            None => refuse_unknown_customer(problems),
        }
        Ok(Some(id))
    }

    /// The payment with its rail's instructions, what is due next, and whether instructions still have to be
    /// requested.
    fn make(
        &self,
        draft: Draft,
        particulars: Particulars,
        route: &Route,
        rail: &Arc<dyn Rail>,
    ) -> (Payment, Option<Due>, bool) {
        let Particulars { id, tenant, now, customer_id, fee, default_return_urls: defaults } = particulars;
        let expires_at = self.period(&draft, route).map(|period| now.plus(period));
        // A repeat keeps the identifier of its first attempt, and lists find the payment by the time in it.
        let created_at = id.made_at();
        let terms = Terms {
            id,
            tenant,
            kind: draft.kind,
            method: draft.method,
            currency: draft.currency,
            amount: draft.amount,
            merchant_reference: draft.merchant_reference,
            customer: Customer {
                id: customer_id,
                email: draft.customer.email,
                phone: draft.customer.phone,
                name: draft.customer.name,
            },
            rail: route.rail.clone(),
            created_at,
            expires_at,
            description: draft.description,
            note: draft.note,
            external_id: draft.external_id,
            traffic_type: draft.traffic_type,
            webhook: draft.webhook,
            return_urls: ReturnUrls {
                success_url: draft.return_urls.success_url.or(defaults.success_url),
                cancel_url: draft.return_urls.cancel_url.or(defaults.cancel_url),
            },
            redirect_scheme: draft.redirect_scheme,
        };
        let state = State { fee, payout: draft.payout, ..State::first(draft.kind, now) };
        let payment = Payment::new(terms, state);
        let issued = rail.issue(&payment, route);
        let payment = payment.with_issued(issued.instructions, issued.expires_at);
        let due = first_due(&payment, issued.due, issued.must_be_requested);
        (payment, due, issued.must_be_requested)
    }

    /// How long the payment waits: a deposit for its money, a withdrawal without a recipient for its page.
    fn period(&self, draft: &Draft, route: &Route) -> Option<Duration> {
        let of_route = route.expires_in.map(|seconds| Duration::from_secs(seconds.into()));
        if draft.kind.lacks_recipient(draft.payout.is_some()) {
            return Some(of_route.unwrap_or(FOR_A_RECIPIENT));
        }
        let usual = match (draft.kind.direction(), draft.method) {
            (Direction::Withdrawal, _) => return None,
            (Direction::Deposit, Method::RedirectPay) => return Some(self.redirectpay_cancel_after),
            (Direction::Deposit, Method::Cash | Method::CashStore) => FOR_CASH,
            (Direction::Deposit, Method::Card | Method::Crypto) => FOR_CARD_OR_CRYPTO,
            (Direction::Deposit, Method::BankTransfer | Method::Spei | Method::PayId) => FOR_A_TRANSFER,
        };
        Some(of_route.unwrap_or(usual))
    }
}

/// What is due next for a new payment, for which its rail wants `wanted` to be done first.
fn first_due(payment: &Payment, wanted: Option<Due>, must_be_requested: bool) -> Option<Due> {
    let expiry = payment.terms().expiry();
    match wanted {
        _ if payment.waits_for_recipient() => expiry,
        // Even if it expires before: only a question finds out what became of the instructions.
        Some(question) if must_be_requested => {
            Due::earlier(Some(question), expiry).map(|due| Due { at: due.at, ..question })
        }
        wanted => Due::earlier(wanted, expiry),
    }
}

/// Reserves the rail call that follows the commit of a deposit.
async fn reserve(rail: &dyn Rail) -> Result<Reservation, CreateError> {
    match rail.reserve(Direction::Deposit).await {
        Capacity::Reserved(reserved) => Ok(reserved),
        Capacity::Busy => Err(CreateError::Store(StoreError::Overloaded)),
        Capacity::CircuitOpen => Err(CreateError::ProviderSilent),
    }
}

/// The enabled route with this key, or the reason why there is none.
pub(crate) fn choose_route(routes: &[Route], key: RouteKey) -> Result<&Route, CreateError> {
    if let Some(route) = routes.iter().find(|route| route.enabled && route.key() == key) {
        return Ok(route);
    }
    let in_currency = |route: &Route| route.environment == key.environment && route.currency == key.currency;
    Err(match key.partner {
        true => CreateError::PartnerPayoutNotReady,
        false if routes.iter().any(in_currency) => CreateError::MethodNotAvailable,
        false => CreateError::CurrencyNotEnabled(key.currency),
    })
}

/// The fee, if the route admits the amount and the amount can bear it.
pub(crate) fn bear_fee(amount: Amount, route: &Route) -> Option<Minor> {
    Some(amount).filter(|amount| Bounds::of(route).admit(*amount)).and_then(|amount| route.fee_borne(amount))
}

/// The money that a new payment sets aside, and the money that it will move when it completes.
fn movements(draft: &Draft, fee: Minor) -> Result<(Option<Transaction>, Transaction), OutOfRange> {
    let (currency, amount) = (draft.currency, draft.amount);
    Ok(match draft.kind.direction() {
        Direction::Deposit => (None, Transaction::deposit_completed(currency, amount, fee)?),
        Direction::Withdrawal => (
            Some(Transaction::withdrawal_created(currency, amount, fee)?),
            Transaction::withdrawal_completed(currency, amount, fee)?,
        ),
    })
}
