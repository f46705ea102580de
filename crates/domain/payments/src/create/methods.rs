//! The methods that a merchant may use, and the check whether a payment by one could be created.

use quipu_kernel::{Amount, Currency, Environment, Fields, OutOfRange, Problems, StoreError, Tenant};
use quipu_merchants::{Direction, Method, Route, RouteBook, RouteKey, unpaired};
use serde::Serialize;
use serde_json::Value;

use crate::{
    create::decide::{Bounds, bear_fee, choose_route},
    details::{
        kind::PaymentType,
        pairing::{RequestedPairing, names_partner},
        payout::{Payout, always_needed},
    },
    error::CreateError,
};

/// A row of the list of methods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MethodRow {
    /// The method.
    pub method: Method,
    /// The currency of its payments.
    pub currency: Currency,
    /// The type of payment.
    #[serde(rename = "type")]
    pub kind: PaymentType,
    /// Whether it takes a partner destination.
    pub partner: bool,
    /// Least amount, in minor units.
    pub min_amount: Amount,
    /// Greatest amount, in minor units.
    pub max_amount: Option<Amount>,
    /// The members of `payout` that it always needs; none for a deposit.
    pub required_payout_fields: Vec<String>,
}

/// The methods of an environment: one row for each enabled route and type, so that a deposit route gives `deposit` and
/// `deposit_pp`.
pub fn available_methods(environment: Environment, routes: &[Route]) -> Vec<MethodRow> {
    let mut rows = Vec::new();
    for route in routes.iter().filter(|route| route.enabled && route.environment == environment) {
        let kinds = PaymentType::ALL.into_iter().filter(|kind| kind.direction() == route.direction);
        rows.extend(kinds.map(|kind| MethodRow::of(route, kind)));
    }
    rows
}

impl MethodRow {
    fn of(route: &Route, kind: PaymentType) -> Self {
        Self {
            method: route.method,
            currency: route.currency,
            kind,
            partner: route.partner,
            min_amount: route.min_amount,
            max_amount: route.max_amount,
            required_payout_fields: required_payout_fields(route),
        }
    }
}

/// The members of `payout` that the method always needs, followed by those that the route asks for.
pub(crate) fn required_payout_fields(route: &Route) -> Vec<String> {
    let own: &[&str] = match (route.direction, route.partner) {
        (Direction::Deposit, _) => return Vec::new(),
        (Direction::Withdrawal, true) => &["partnerDestination"],
        (Direction::Withdrawal, false) => always_needed(route.method, route.currency),
    };
    let mut fields: Vec<String> = own.iter().map(|&name| name.to_owned()).collect();
    for name in &route.required_payout_fields {
        if !fields.contains(name) {
            fields.push(name.clone());
        }
    }
    fields
}

/// A question whether a payment of some form could be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodQuestion {
    method: String,
    currency: String,
    kind: String,
    /// The amount, or that no payment can have it.
    amount: Option<Result<Amount, OutOfRange>>,
    /// The whole body, which has the `payout`.
    body: Value,
}

impl MethodQuestion {
    /// Reads `method`, `currency`, `type`, and optionally `amount` and `payout`. Only the form is checked
    /// here; a method or currency that does not exist, or an amount that no payment can have, is a finding and no
    /// problem.
    pub fn parse(body: Value) -> Result<Self, Problems> {
        let fields = Fields::of_body(&body)?;
        let mut problems = Problems::new();
        let mut text = |name| fields.required_text(name, 255, &mut problems).map(str::to_owned);
        let (method, currency, kind) = (text("method"), text("currency"), text("type"));
        let amount = if fields.is_beyond_integers("amount") {
            Some(Err(OutOfRange))
        } else {
            fields.integer("amount", &mut problems).map(Amount::new)
        };
        fields.object("payout", &mut problems);
        let whole = || Some(Self { method: method?, currency: currency?, kind: kind?, amount, body });
        problems.admit(whole())
    }
}

/// Why a creation of the payment in question would be refused, apart from the balance: with all that is wrong with the
/// request, or else for the merchant's state. `None` if it could be created.
pub async fn judge_method(
    question: MethodQuestion,
    tenant: Tenant,
    route_book: &dyn RouteBook,
) -> Result<Option<CreateError>, StoreError> {
    let mut problems = Problems::new();
    let method = question.method.parse::<Method>().map_err(|error| problems.add("method", error));
    let currency = question.currency.parse::<Currency>().map_err(|error| problems.add("currency", error));
    let kind = question.kind.parse::<PaymentType>().map_err(|error| problems.add("type", error));
    if let Some(Err(OutOfRange)) = question.amount {
        problems.add("amount", "must be from 1 to 2^53 - 1");
    }
    let mut refusal = None;
    if let (Ok(method), Ok(currency), Ok(kind)) = (method, currency, kind) {
        let asked = Asked { method, currency, kind };
        refusal = question.judge(asked, tenant, route_book, &mut problems).await?;
    }
    Ok(problems.into_result().map_err(CreateError::Invalid).err().or(refusal))
}

/// The method, currency and type that are asked for.
#[derive(Clone, Copy)]
struct Asked {
    method: Method,
    currency: Currency,
    kind: PaymentType,
}

impl Asked {
    /// Whether it is a payout to a partner: a bank transfer in a currency that has no other bank transfers is
    /// one, even if the question names no destination.
    fn means_partner(self) -> bool {
        self.method == Method::BankTransfer
            && self.kind.direction() == Direction::Withdrawal
            && !unpaired(self.method, Some(self.currency), Some(Direction::Withdrawal), false).is_empty()
    }
}

/// The recipient, as far as the question names one.
enum Recipient {
    /// The question names it; `payout` is empty if what it says is wrong.
    Given { partner: bool, payout: Option<Box<Payout>> },
    /// The question does not name it.
    Open { means_partner: bool },
}

impl Recipient {
    /// The route for the payment. While the recipient is open, a partner route will do as well.
    fn choose_route<'r>(
        &self,
        routes: &'r [Route],
        asked: Asked,
        environment: Environment,
    ) -> Result<&'r Route, CreateError> {
        let Asked { method, currency, kind } = asked;
        let direction = kind.direction();
        let route =
            |partner| choose_route(routes, RouteKey { environment, currency, method, direction, partner });
        match self {
            Self::Given { partner, .. } => route(*partner),
            Self::Open { means_partner } => {
                route(*means_partner).or_else(|error| route(true).map_err(|_| error))
            }
        }
    }
}

impl MethodQuestion {
    /// Notes what is wrong with the recipient, and answers how the merchant's routes refuse the payment.
    async fn judge(
        self,
        asked: Asked,
        tenant: Tenant,
        route_book: &dyn RouteBook,
        problems: &mut Problems,
    ) -> Result<Option<CreateError>, StoreError> {
        let (recipient, amount) = (self.read_recipient(asked, problems), self.amount);
        // A body may be large, and is not kept while the store is asked.
        drop(self);
        let routes = route_book.routes(tenant.merchant()).await?;
        let route = match recipient.choose_route(&routes, asked, tenant.environment()) {
            Ok(route) => route,
            Err(refusal) => return Ok(Some(refusal)),
        };
        if let Recipient::Given { payout: Some(mut payout), .. } = recipient {
            payout.look_up(route_book, tenant, problems).await?;
            payout.judge_by(route, problems);
        }
        let is_borne = amount.and_then(Result::ok).is_none_or(|amount| bear_fee(amount, route).is_some());
        Ok((!is_borne).then(|| Bounds::of(route).exceeded()))
    }

    fn read_recipient(&self, asked: Asked, problems: &mut Problems) -> Recipient {
        let body = Fields::of_body(&self.body).ok().filter(|body| body.has("payout"));
        let partner = body.as_ref().map_or_else(|| asked.means_partner(), names_partner);
        let Asked { method, currency, kind } = asked;
        let pairing =
            RequestedPairing { kind: Some(kind), method: Some(method), currency: Some(currency), partner };
        pairing.judge(problems);
        match body {
            Some(body) => Recipient::Given {
                partner,
                payout: Payout::of_request(&body, pairing, problems).map(Box::new),
            },
            None => Recipient::Open { means_partner: partner },
        }
    }
}
