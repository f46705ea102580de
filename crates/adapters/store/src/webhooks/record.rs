//! Records the outcomes of attempts: for each delivery, and then for its endpoint.

use std::collections::{HashMap, HashSet};

use diesel::{ExpressionMethods as _, QueryDsl as _};
use futures_util::future::try_join_all;
use quipu_commit::{Changes, Commit as _, CommitError};
use quipu_kernel::{StoreError, Tenant, Timestamp};
use quipu_webhooks::{Attempt, Endpoint, EndpointId, Outcome, Reception, RetryPolicy};

use super::{
    endpoints::{IfLocked, lock, save},
    fail_pending::Whose,
};
use crate::{
    connection::{Connection, load},
    error::Fault,
    keys::Keys,
    postgres::lock_turns::Waiter,
    schema::{deliveries, webhook_endpoints as endpoints},
    store::Store,
    tables::deliveries::{DeliveryOutcomes, attempts_of},
};

impl Store {
    /// Records outcomes, and then their effect on the endpoints.
    pub(super) async fn record_all(
        &self,
        outcomes: Vec<Outcome>,
        policy: &RetryPolicy,
    ) -> Result<(), StoreError> {
        let mut of_tenant: HashMap<Tenant, Vec<Outcome>> = HashMap::new();
        for outcome in outcomes.clone() {
            of_tenant.entry(outcome.tenant).or_default().push(outcome);
        }
        let told = of_tenant.into_iter().map(|(tenant, outcomes)| self.commit_outcomes(tenant, outcomes));
        try_join_all(told).await?;
        let those = |accepted: bool| {
            let is_accepted = |outcome: &&Outcome| outcome.reception == Reception::Accepted;
            let those = outcomes.iter().filter(move |outcome| is_accepted(outcome) == accepted);
            those.map(|outcome| outcome.endpoint.as_str().to_owned()).collect::<HashSet<_>>()
        };
        let mut failing = self.failing_among(those(true)).await?;
        failing.extend(those(false));
        let mut of_endpoint: HashMap<(Tenant, EndpointId), Vec<Outcome>> = HashMap::new();
        for outcome in outcomes.into_iter().filter(|outcome| failing.contains(outcome.endpoint.as_str())) {
            of_endpoint.entry((outcome.tenant, outcome.endpoint.clone())).or_default().push(outcome);
        }
        for ((tenant, id), outcomes) in of_endpoint {
            self.apply_to_endpoint(tenant, id, outcomes, policy).await?;
        }
        Ok(())
    }

    /// Which of these endpoints are failing, according to the database. A success is news only for them.
    async fn failing_among(&self, ids: HashSet<String>) -> Result<HashSet<String>, StoreError> {
        if ids.is_empty() {
            return Ok(ids);
        }
        let failing = self.inner.engine.read(move |conn: &mut Connection| {
            Box::pin(async move {
                let query = endpoints::table
                    .filter(endpoints::failing_since.is_not_null())
                    .filter(endpoints::id.eq_any(ids))
                    .select(endpoints::id);
                Ok::<_, Fault>(load!(conn, String, query)?.into_iter().collect())
            })
        });
        Ok(failing.await?)
    }

    /// Commits outcomes with other changes of their tenant, so that they share a flush to disk.
    async fn commit_outcomes(&self, tenant: Tenant, outcomes: Vec<Outcome>) -> Result<(), StoreError> {
        let at = outcomes.first().map_or(Timestamp::from_millis(0), |outcome| outcome.ended_at);
        let mut changes = Changes::new(tenant, at);
        changes.add(DeliveryOutcomes { node: self.inner.hub.node().to_owned(), outcomes });
        match self.commit(changes).await {
            Ok(_) => Ok(()),
            Err(CommitError::Store(error)) => Err(error),
            Err(CommitError::Refused(refusal)) => Err(StoreError::Failed(refusal.to_string())),
        }
    }

    /// Applies outcomes to their endpoint, in a commit after theirs: if it is lost, the next outcome has the
    /// same effect.
    async fn apply_to_endpoint(
        &self,
        tenant: Tenant,
        id: EndpointId,
        outcomes: Vec<Outcome>,
        policy: &RetryPolicy,
    ) -> Result<(), StoreError> {
        let policy = policy.clone();
        let decide = move |endpoint: &mut Endpoint, recorded: Vec<Outcome>| {
            recorded.iter().filter(|outcome| endpoint.note(outcome, &policy)).count() > 0
        };
        self.revise(Whose { tenant, endpoint: id }, outcomes, IfLocked::Wait, decide).await?;
        Ok(())
    }

    /// Lets `decide` change an endpoint, given the `outcomes` that were recorded. If that disables the
    /// endpoint, the deliveries owed to it fail soon afterwards.
    pub(super) async fn revise(
        &self,
        Whose { tenant, endpoint: id }: Whose,
        outcomes: Vec<Outcome>,
        if_locked: IfLocked,
        decide: impl FnOnce(&mut Endpoint, Vec<Outcome>) -> bool + Clone + Send + 'static,
    ) -> Result<Option<Endpoint>, StoreError> {
        let revising = id.clone();
        let waiter = (if_locked == IfLocked::Wait).then_some(Waiter::Recorder);
        let revised = self.inner.engine.write_for(waiter, move |conn: &mut Connection| {
            Box::pin(async move {
                let Some(mut endpoint) = lock(conn, tenant, &revising, if_locked).await? else {
                    return Ok(None);
                };
                let was_enabled = endpoint.is_enabled();
                let recorded = recorded_of(conn, &endpoint, outcomes).await?;
                if !decide(&mut endpoint, recorded) {
                    return Ok(None);
                }
                save(conn, &endpoint).await?;
                Ok::<_, Fault>(Some((was_enabled, endpoint)))
            })
        });
        let revised = self.unless_in_doubt(tenant, &id, revised.await)?;
        let Some((was_enabled, endpoint)) = revised else { return Ok(None) };
        if was_enabled && !endpoint.is_enabled() {
            self.inner.hub.endpoint_changed(&endpoint);
            self.fail_later(&endpoint);
        }
        Ok(Some(endpoint))
    }
}

/// The outcomes whose attempt is in the endpoint's log. It is missing if this node had lost its claim on the
/// delivery.
async fn recorded_of(
    conn: &mut Connection,
    endpoint: &Endpoint,
    mut outcomes: Vec<Outcome>,
) -> Result<Vec<Outcome>, Fault> {
    if outcomes.is_empty() {
        return Ok(outcomes);
    }
    let keys = Keys::of(endpoint.tenant, "deliveries").with("endpoint_id", [endpoint.id.as_str()]);
    let keys = keys.with("event_id", outcomes.iter().map(|outcome| outcome.event_id.as_str()));
    let query = deliveries::table.filter(keys).select((deliveries::event_id, deliveries::attempts));
    let mut logged: HashMap<String, Vec<Attempt>> = HashMap::new();
    for (event, attempts) in load!(conn, (String, Option<String>), query)? {
        logged.insert(event, attempts_of(attempts)?);
    }
    outcomes.retain(|outcome| {
        let logged = logged.get(outcome.event_id.as_str());
        outcome.attempts.last().zip(logged).is_some_and(|(attempt, logged)| logged.contains(attempt))
    });
    Ok(outcomes)
}
