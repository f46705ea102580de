//! The recipient of a hosted withdrawal, named on its page.

use std::{collections::BTreeMap, sync::Arc};

use quipu_commit::{Changes, Commit, CommitError, Decided, act};
use quipu_kernel::{Clock, Fields, PaymentId, Problems, StoreError, Tenant, Timestamp};
use quipu_merchants::{Route, RouteBook};
use serde_json::{Map, Value, json};

use crate::{
    create::{decide::choose_route, methods::required_payout_fields},
    details::{kind::PaymentType, pairing::RequestedPairing, payout::Payout},
    payment::{
        Payment,
        changes::{self, BeforeChange},
    },
    ports::PaymentReads,
    rail::rails::Rails,
};

/// The members that give the destination of the money. A route that asks for none of them still needs one.
const DESTINATIONS: [&str; 2] = ["bank_account", "payid"];

/// Why a recipient was refused.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FillError {
    /// There is no such payment.
    #[error("there is no such payment")]
    NotFound,
    /// The recipient is known already, or the payment has ended.
    #[error("the payment does not wait for a recipient")]
    NotAwaited,
    /// The entered values are not what the route needs.
    #[error("the recipient is not valid")]
    Invalid(Problems),
    /// The route was removed or disabled meanwhile.
    #[error("the method is not available at the moment")]
    MethodNotAvailable,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CommitError> for FillError {
    fn from(error: CommitError) -> Self {
        Self::Store(error.into())
    }
}

/// The members that the recipient of this payment has to enter; empty if its route is gone.
pub fn recipient_members(payment: &Payment, routes: &[Route]) -> Vec<String> {
    choose_route(routes, payment.route_key()).map(members_of).unwrap_or_default()
}

fn members_of(route: &Route) -> Vec<String> {
    let mut members = required_payout_fields(route);
    if !members.iter().any(|member| DESTINATIONS.contains(&member.as_str())) {
        members.push(DESTINATIONS[0].to_owned());
    }
    // People begin with their name, wherever a route lists it.
    members.sort_by_key(|member| member != "recipient_name");
    members
}

/// The use case that takes the recipient of a hosted withdrawal, once. Afterwards the withdrawal is like any
/// other.
pub struct FillRecipient {
    commit: Arc<dyn Commit>,
    reads: Arc<dyn PaymentReads>,
    route_book: Arc<dyn RouteBook>,
    rails: Arc<Rails>,
    clock: Arc<dyn Clock>,
}

impl FillRecipient {
    /// The use case over these ports.
    pub fn new(
        commit: Arc<dyn Commit>,
        reads: Arc<dyn PaymentReads>,
        route_book: Arc<dyn RouteBook>,
        rails: Arc<Rails>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { commit, reads, route_book, rails, clock }
    }

    /// Takes the entered values, by member of `payout`. Of two simultaneous calls one succeeds, and the other
    /// is told that no recipient is awaited any more.
    pub async fn run(
        &self,
        tenant: Tenant,
        id: &PaymentId,
        entered: &BTreeMap<String, String>,
    ) -> Result<(), FillError> {
        let read = || async {
            let payment = self.reads.payment(tenant, id).await?.ok_or(FillError::NotFound)?;
            Ok((payment, self.route_book.routes(tenant.merchant()).await?))
        };
        act(&*self.commit, read, |(payment, routes)| {
            let now = self.clock.now();
            if !payment.waits_for_recipient() || payment.terms().expires_at.is_some_and(|end| end <= now) {
                return Err(FillError::NotAwaited);
            }
            let route =
                choose_route(&routes, payment.route_key()).map_err(|_| FillError::MethodNotAvailable)?;
            let payout = self::read(entered, route).map_err(FillError::Invalid)?;
            Ok(Decided::change(self.filled(payment, payout, route, now)?, ()))
        })
        .await
    }

    /// The changes that give the payment its recipient, and say what its rail wants done next.
    fn filled(
        &self,
        payment: Payment,
        payout: Payout,
        route: &Route,
        now: Timestamp,
    ) -> Result<Changes, FillError> {
        let before = BeforeChange::of(&payment);
        let rail = self.rails.require(&payment.terms().rail)?;
        let payment = payment.with_recipient(payout, now);
        let due = rail.issue(&payment, route).due;
        let mut changes = Changes::new(payment.terms().tenant, now);
        changes.work.push(changes::next_work(payment.id(), due));
        changes::put_moved(&mut changes, before, payment);
        Ok(changes)
    }
}

/// Checks the entered values like the `payout` of a request for an ordinary withdrawal.
fn read(entered: &BTreeMap<String, String>, route: &Route) -> Result<Payout, Problems> {
    let text = |(name, value): (&String, &String)| (name.clone(), Value::String(value.trim().to_owned()));
    let payout: Map<String, Value> = entered.iter().map(text).collect();
    let body = json!({ "payout": payout });
    let mut problems = Problems::new();
    let pairing = RequestedPairing {
        kind: Some(PaymentType::Withdrawal),
        method: Some(route.method),
        currency: Some(route.currency),
        partner: false,
    };
    let read = Payout::of_request(&Fields::of_body(&body)?, pairing, &mut problems);
    if let Some(payout) = &read {
        payout.judge_by(route, &mut problems);
    }
    let given = |member: &String| entered.get(member).is_some_and(|value| !value.trim().is_empty());
    for member in members_of(route).iter().filter(|member| !given(member)) {
        problems.add(&format!("payout.{member}"), "is required");
    }
    problems.admit(read)
}

#[cfg(test)]
mod tests {
    use quipu_kernel::{Currency, Environment};
    use quipu_merchants::{Direction, Method, RouteKey};

    use super::*;

    fn route(method: Method, currency: Currency) -> Route {
        let (environment, direction) = (Environment::Test, Direction::Withdrawal);
        Route::plain(RouteKey { environment, currency, method, direction, partner: false }, "simulator")
    }

    fn entered(members: &[(&str, &str)]) -> BTreeMap<String, String> {
        members.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_form_asks_for_what_the_route_needs_and_always_for_somewhere_to_send_it() {
        let table: [(Method, Currency, &[&str]); 5] = [
            (Method::Spei, Currency::MXN, &["bank_account"]),
            (Method::PayId, Currency::AUD, &["payid", "payid_type"]),
            (Method::BankTransfer, Currency::AUD, &["bsb", "bank_account"]),
            (Method::BankTransfer, Currency::ARS, &["recipient_name", "bank_account"]),
            (Method::BankTransfer, Currency::UYU, &["bank_account"]),
        ];
        for (method, currency, expected) in table {
            assert_eq!(members_of(&route(method, currency)), expected, "{method:?} {currency}");
        }
        let mut demanding = route(Method::Spei, Currency::MXN);
        demanding.required_payout_fields = vec!["beneficiary_tax_id".to_owned(), "recipient_name".to_owned()];
        let expected = ["recipient_name", "bank_account", "beneficiary_tax_id"];
        assert_eq!(members_of(&demanding), expected);
    }

    #[test]
    fn what_is_entered_is_judged_as_a_request_is() {
        let spei = route(Method::Spei, Currency::MXN);
        let read = |members: &[(&str, &str)]| read(&entered(members), &spei).map_err(Problems::into_messages);
        let good = read(&[("bank_account", " 032180000118359719 ")]).expect("a recipient");
        assert_eq!(good.bank_account.as_deref(), Some("032180000118359719"));
        assert_eq!(read(&[]).expect_err("nothing"), ["payout.bank_account is required"]);
        assert_eq!(read(&[("bank_account", "12")]).expect_err("short").len(), 1);
        assert!(read(&[("bank_account", "032180000118359719"), ("iban", "x")]).is_err(), "an unknown member");
        assert!(read(&[("bank_account", "032180000118359719"), ("partnerDestination", "x")]).is_err());
    }
}
