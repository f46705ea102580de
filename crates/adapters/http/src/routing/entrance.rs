//! The way of one request through the access rule of its route. The checks come in this order: credentials, version, rate
//! limit, suspension, scope, and only then the request itself. So every call of a key or credential is
//! counted, whatever the answer is, and a copy of a signed call for the client's address as well. Only a
//! signed creation under pressure is refused before its signature is verified, and counted for nobody.

use std::{rc::Rc, sync::Arc, time::Instant};

use actix_web::{HttpRequest, dev::Payload, http::header, web::Bytes};
use quipu_kernel::{Environment, Problems, Tenant, Timestamp};
use quipu_merchants::{AddressBudget, RateVerdict, Role};

use super::{
    access::{Access, Judge, Needs},
    row::RouteRow,
};
use crate::{
    answer::{ApiError, Family},
    caller::{self, AuthenticatedOperator, Caller, Provider, Signed, VerifiedNonce},
    pages::show::instead,
    request::{Call, Content, JUDGED_FOR, LetIn, Outcome, Query, call::merchant_in_path},
    state::{AppState, Sender},
};

/// One request before it is authenticated.
pub(crate) struct Entrance {
    row: &'static RouteRow,
    state: Arc<AppState>,
    request: HttpRequest,
    content: Rc<Content>,
    now: Timestamp,
    verdict: Option<RateVerdict>,
}

impl Entrance {
    pub(crate) fn new(
        row: &'static RouteRow,
        state: Arc<AppState>,
        request: HttpRequest,
        payload: Payload,
        now: Timestamp,
    ) -> Self {
        let content = Content::new(row.intake, &request, payload, state.settings.body_timeout);
        Self { row, state, request, content: Rc::new(content), now, verdict: None }
    }

    /// The verdict of the rate limit, for the headers of the answer.
    pub(crate) const fn verdict(&self) -> Option<&RateVerdict> {
        self.verdict.as_ref()
    }

    /// Applies the access rule and runs the handler.
    pub(crate) async fn open(&mut self) -> Outcome {
        match self.row.access {
            Access::Public(run) => run(self.call_of_stranger()?).await,
            Access::Anonymous(run) => match self.visit().await {
                Ok(()) => run(self.call_of_stranger()?).await,
                Err(error) if self.is_read_by_a_person() => instead(&self.unjudged_call(), error),
                Err(error) => Err(error),
            },
            Access::Callback(judge, run) => {
                let (call, provider) = self.by_callback(judge).await?;
                run(call, provider).await
            }
            Access::ApiKey(needs, run) => {
                let caller = caller::by_api_key(&self.state, &self.request, self.now).await;
                let caller = self.admit(caller, needs).await?;
                run(self.call(of_merchant(&caller), LetIn::Key(needs.scope))?, caller).await
            }
            Access::KeyOrToken(needs, run) => {
                let caller = caller::by_key_or_token(&self.state, &self.request, self.now).await;
                let caller = self.admit(caller, needs).await?;
                run(self.call(of_merchant(&caller), LetIn::KeyOrToken(needs.scope))?, caller).await
            }
            Access::Scoped(needs, run) => {
                let tenant = self.scoped_tenant(needs).await?;
                run(self.call(Sender::Merchant(tenant.merchant()), LetIn::Anybody)?, tenant).await
            }
            Access::Signed(needs, run) => {
                let (caller, nonce) = self.by_signature(needs, false).await?;
                // Such a call changes nothing, so its nonce is used up only when its answer is known.
                let outcome = async {
                    let call = self.call(of_merchant(&caller), LetIn::Anybody)?;
                    self.row.intake.judge_type(&self.request, &call.body().await?)?;
                    run(call, caller).await
                };
                let outcome = outcome.await;
                if outcome.as_ref().is_err_and(ApiError::wrote_nothing) {
                    nonce.release();
                } else {
                    self.charged(nonce.burn().await).await?;
                }
                outcome
            }
            Access::SignedCreation(needs, run) => {
                let (caller, nonce) = self.by_signature(needs, true).await?;
                let call = self.call(of_merchant(&caller), LetIn::Anybody)?;
                // The creation's own commit uses it up, and must not find it used.
                let outcome = run(call, Signed { caller, nonce: nonce.release() }).await;
                self.charged(outcome).await
            }
            Access::Staff(role, run) => {
                let staff = self.by_operator_token(role).await?;
                run(self.call(Sender::Staff, LetIn::Staff(role))?, staff).await
            }
        }
    }

    /// Whether the answer is a page.
    fn is_read_by_a_person(&self) -> bool {
        self.row.family_for(&self.request) == Family::Page
    }

    /// The unread rest of the body; `None` if it was short and has arrived, so that the connection can be
    /// reused. The body of a caller beyond its rate limit is not waited for.
    pub(crate) async fn leave(self, has_patience: bool) -> Option<Payload> {
        self.content.leave(&self.request, has_patience).await
    }

    /// The caller, if the call was let in.
    pub(crate) fn caller(&self) -> Option<Sender> {
        self.content.sender()
    }

    /// The request of an authenticated caller, whose body its handler reads.
    fn call(&self, sender: Sender, let_in: LetIn) -> Result<Call, ApiError> {
        self.content.is_of(sender);
        Ok(Call { let_in, ..self.call_of_stranger()? })
    }

    fn call_of_stranger(&self) -> Result<Call, ApiError> {
        self.content.judge_head(&self.request)?;
        Ok(self.unjudged_call())
    }

    /// The request, whatever its head announces of the body.
    fn unjudged_call(&self) -> Call {
        let (state, request, content) =
            (Arc::clone(&self.state), self.request.clone(), Rc::clone(&self.content));
        Call { state, request, upload: content.upload(), content, let_in: LetIn::Anybody, now: self.now }
    }

    /// Authenticates a signed request. The signature covers the body, so the body is read before the sender
    /// is authenticated, but only if the merchant has a credential that could have signed it. A body that
    /// cannot be read counts as a failed authentication. The body of a `GET` counts as empty, whatever is
    /// sent. Once the signature has been verified its nonce is used up, whatever the answer is.
    async fn by_signature(
        &mut self,
        needs: Needs,
        is_creation: bool,
    ) -> Result<(Caller, VerifiedNonce), ApiError> {
        let request = self.request.clone();
        let claimed = caller::claim_signature(&self.state, &request, is_creation, self.now).await;
        let mut claimed = self.charged(claimed).await?;
        let begun = Instant::now();
        self.hurry_if_distrusted(AddressBudget::Unauthenticated);
        let body = match self.signed_body().await {
            Ok(body) => body,
            Err(ApiError::Overloaded) => return Err(ApiError::Overloaded),
            Err(error) => return Err(self.charge_failure(AddressBudget::Unauthenticated, error).await),
        };
        if begun.elapsed() >= JUDGED_FOR {
            let again = caller::claim_signature(&self.state, &request, is_creation, self.now).await;
            claimed = self.charged(again).await?;
        }
        let signed = caller::authenticate_signature(&self.state, &request, &claimed, &body);
        let Signed { caller, nonce } = self.charged(signed).await?;
        let create = Arc::clone(&self.state.services.create);
        let nonce = VerifiedNonce::new(create, caller.tenant(), nonce);
        match self.admit(Ok(caller), needs).await {
            Ok(caller) => Ok((caller, nonce)),
            Err(error) => {
                self.charged(nonce.burn().await).await?;
                Err(error)
            }
        }
    }

    /// The body that a signature covers. A body of the wrong type is refused only after its sender is
    /// authenticated, unless the sender waits for `100 Continue`.
    async fn signed_body(&self) -> Result<Bytes, ApiError> {
        if self.request.headers().contains_key(header::EXPECT) {
            self.content.judge_head(&self.request)?;
        }
        self.content.untyped(&self.state, &self.request).await
    }

    /// The merchant that the path names: the caller's own, or any merchant for staff.
    async fn scoped_tenant(&mut self, needs: Needs) -> Result<Tenant, ApiError> {
        let named = merchant_in_path(&self.request);
        if caller::is_staff(&self.request) {
            // All staff may read what a viewer may read.
            self.by_operator_token(Role::Viewer).await?;
            let mut problems = Problems::new();
            let query = Query::parse(self.request.query_string())?;
            let environment = query.parsed::<Environment>("environment", &mut problems);
            problems.into_result()?;
            return caller::tenant_named_by_staff(&self.state, named, environment).await;
        }
        let caller = caller::by_key_or_token(&self.state, &self.request, self.now).await;
        let tenant = self.admit(caller, needs).await?.tenant();
        if named == Some(tenant.merchant()) { Ok(tenant) } else { Err(ApiError::merchant_not_found()) }
    }

    async fn by_operator_token(&mut self, role: Role) -> Result<AuthenticatedOperator, ApiError> {
        let staff = caller::by_operator_token(&self.state, &self.request, self.now).await;
        let staff = self.charged(staff).await?;
        staff.require(role)?;
        Ok(staff)
    }

    /// Lets a verified provider in, and counts an unverified callback for its address. A body that cannot be
    /// read counts as unverified.
    async fn by_callback(&mut self, judge: Judge) -> Result<(Call, Provider), ApiError> {
        match self.judge_callback(judge).await {
            Ok((call, provider)) => {
                let limited = caller::charge_callback(&self.state, &provider).await;
                self.limited(limited)?;
                Ok((call, provider))
            }
            Err(ApiError::Overloaded) => Err(ApiError::Overloaded),
            Err(error) => Err(self.charge_failure(AddressBudget::UnverifiedCallbacks, error).await),
        }
    }

    async fn judge_callback(&self, judge: Judge) -> Result<(Call, Provider), ApiError> {
        let call = self.call_of_stranger()?;
        (judge.head)(&call)?;
        self.hurry_if_distrusted(AddressBudget::UnverifiedCallbacks);
        let provider = (judge.whole)(&call, &call.body().await?)?;
        Ok((call, provider))
    }

    /// Counts an anonymous caller of pages or files.
    async fn visit(&mut self) -> Result<(), ApiError> {
        let limited = caller::charge_address(&self.state, &self.request, AddressBudget::Pages).await;
        self.limited(limited)
    }

    /// Lets an authenticated merchant in, if its rate, its status and its scopes allow.
    async fn admit(&mut self, caller: Result<Caller, ApiError>, needs: Needs) -> Result<Caller, ApiError> {
        let caller = self.charged(caller).await?;
        let limited = caller::charge_call(&self.state, &caller, needs.budget).await;
        self.limited(limited)?;
        caller.may(needs.scope)?;
        Ok(caller)
    }

    /// Passes on an authenticated caller, and charges a failed authentication.
    async fn charged<T>(&mut self, authenticated: Result<T, ApiError>) -> Result<T, ApiError> {
        match authenticated {
            Err(error) if error.is_unauthorized() => {
                Err(self.charge_failure(AddressBudget::Unauthenticated, error).await)
            }
            other => other,
        }
    }

    /// Charges a failure of authentication to the client's address; beyond its budget the answer is 429.
    async fn charge_failure(&mut self, budget: AddressBudget, error: ApiError) -> ApiError {
        let limited = caller::charge_address(&self.state, &self.request, budget).await;
        if limited.is_judged && limited.remaining == 0 {
            self.state.lookups.distrust(&self.failing_as(budget), limited.reset_epoch_seconds, self.now);
        }
        self.limited(limited).err().unwrap_or(error)
    }

    /// Shortens the wait for the body if the address has used up its failures of this kind.
    fn hurry_if_distrusted(&self, budget: AddressBudget) {
        if self.state.lookups.distrusts(&self.failing_as(budget), self.now) {
            self.content.hurry();
        }
    }

    /// The name under which the client's address is distrusted. Callbacks have separate names: a provider
    /// with wrong signatures must not slow down the merchants at its address.
    fn failing_as(&self, budget: AddressBudget) -> String {
        let address = caller::address_of(&self.state, &self.request);
        if matches!(budget, AddressBudget::UnverifiedCallbacks) {
            format!("callbacks/{address}")
        } else {
            address
        }
    }

    /// Keeps the verdict of the rate limit for the answer, and refuses beyond the limit.
    fn limited(&mut self, verdict: RateVerdict) -> Result<(), ApiError> {
        self.verdict = Some(verdict);
        if verdict.allowed { Ok(()) } else { Err(ApiError::RateLimited(verdict)) }
    }
}

/// The sender of a body that this caller sends.
fn of_merchant(caller: &Caller) -> Sender {
    Sender::Merchant(caller.tenant().merchant())
}
