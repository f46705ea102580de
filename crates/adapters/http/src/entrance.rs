//! The way of one request through its route's door. The order of the checks: credentials, version, rate limit,
//! suspension, scope, and only then the request itself. So every call of a key or credential is counted, whatever is
//! answered.

use std::{cell::RefCell, rc::Rc, sync::Arc};

use actix_web::{HttpRequest, dev::Payload, http::header, web::Bytes};
use quipu_kernel::{Environment, Problems, Tenant, Timestamp};
use quipu_merchants::{BudgetKind, Role, Verdict};

use crate::{
    body::{self, Intake, SharedPayload, Upload},
    call::{Call, Outcome, merchant_in_path},
    caller::{self, Caller, Provider, Signed, Staff},
    connection::Conversation,
    door::{Door, Needs},
    error::ApiError,
    query::Query,
    row::RouteRow,
    state::AppState,
};

/// One request before its door.
pub(crate) struct Entrance {
    row: &'static RouteRow,
    state: Arc<AppState>,
    request: HttpRequest,
    payload: Payload,
    /// The body, while its handler reads it.
    lent: Option<SharedPayload>,
    /// Whether all of the body was read.
    is_read: bool,
    now: Timestamp,
    verdict: Option<Verdict>,
}

impl Entrance {
    pub(crate) fn new(
        row: &'static RouteRow,
        state: Arc<AppState>,
        request: HttpRequest,
        payload: Payload,
        now: Timestamp,
    ) -> Self {
        let is_read = !body::is_announced(&request);
        Self { row, state, request, payload, lent: None, is_read, now, verdict: None }
    }

    /// What the rate limit said, for the headers of the answer.
    pub(crate) const fn verdict(&self) -> Option<&Verdict> {
        self.verdict.as_ref()
    }

    /// Opens the door and runs the handler behind it.
    pub(crate) async fn open(&mut self) -> Outcome {
        match self.row.door {
            Door::Public(run) => run(self.call_of_stranger().await?).await,
            Door::Visitor(run) => {
                self.visit().await?;
                run(self.call_of_stranger().await?).await
            }
            Door::Callback(judge, run) => {
                let call = self.call_of_stranger().await?;
                let provider = self.by_callback(judge(&call)).await?;
                run(call, provider).await
            }
            Door::ApiKey(needs, run) => {
                let caller = caller::by_api_key(&self.state, &self.request, self.now).await;
                let caller = self.admit(caller, needs).await?;
                run(self.call().await?, caller).await
            }
            Door::KeyOrToken(needs, run) => {
                let caller = caller::by_key_or_token(&self.state, &self.request, self.now).await;
                let caller = self.admit(caller, needs).await?;
                run(self.call().await?, caller).await
            }
            Door::Scoped(needs, run) => {
                let tenant = self.scoped_tenant(needs).await?;
                run(self.call().await?, tenant).await
            }
            Door::Signed(needs, run) => {
                let (body, Signed { caller, nonce }) = self.by_signature(needs).await?;
                self.state.services.create.burn(caller.tenant(), nonce).await?;
                self.row.intake.judge_type(&self.request, &body)?;
                run(self.call_with(body), caller).await
            }
            Door::SignedCreation(needs, run) => {
                let (body, signed) = self.by_signature(needs).await?;
                run(self.call_with(body), signed).await
            }
            Door::Staff(role, run) => {
                let staff = self.by_operator_token(role).await?;
                run(self.call().await?, staff).await
            }
        }
    }

    /// What is still to come of a body that nobody wanted; nothing if it was short and here, so that the connection can
    /// go on. Whoever asks too often is not waited for.
    pub(crate) async fn leave(mut self, has_patience: bool) -> Option<Payload> {
        if self.is_read {
            return None;
        }
        let mut rest = match self.lent {
            Some(lent) => lent.borrow_mut().take(),
            None => self.payload.take(),
        };
        let expects = self.request.headers().contains_key(header::EXPECT);
        if has_patience && !expects && body::is_soon_over(&mut rest).await { None } else { Some(rest) }
    }

    /// The request of a known caller with its body, as the route has it read.
    async fn call(&mut self) -> Result<Call, ApiError> {
        self.call_of(true).await
    }

    async fn call_of_stranger(&mut self) -> Result<Call, ApiError> {
        self.call_of(false).await
    }

    async fn call_of(&mut self, is_known: bool) -> Result<Call, ApiError> {
        let intake = self.row.intake;
        if !body::has_body(self.request.method()) || intake == Intake::Nothing {
            return Ok(self.call_with(Bytes::new()));
        }
        if let Intake::Stream(at_most) = intake {
            self.refuse_announced(at_most)?;
            let payload = Rc::new(RefCell::new(self.payload.take()));
            self.lent = Some(Rc::clone(&payload));
            let conversation = self.conversation().cloned();
            let upload = Upload::new(payload, conversation, at_most, self.state.settings.body_timeout);
            return Ok(Call { upload: Some(upload), ..self.call_with(Bytes::new()) });
        }
        self.refuse_announced(intake.at_most())?;
        intake.judge_announced(&self.request)?;
        let body = if is_known { self.body().await? } else { self.body_of_stranger().await? };
        intake.judge_type(&self.request, &body)?;
        Ok(self.call_with(body))
    }

    fn call_with(&self, body: Bytes) -> Call {
        let (state, request) = (Arc::clone(&self.state), self.request.clone());
        Call { state, request, body, upload: None, now: self.now }
    }

    async fn body(&mut self) -> Result<Bytes, ApiError> {
        let at_most = self.row.intake.at_most();
        self.refuse_announced(at_most)?;
        let announced = self.conversation().and_then(|conversation| {
            conversation.want_body();
            conversation.announced()
        });
        let (at_most, timeout) =
            (usize::try_from(at_most).unwrap_or(usize::MAX), self.state.settings.body_timeout);
        let body = body::read(&mut self.payload, at_most, timeout, announced.as_deref()).await?;
        self.is_read = true;
        Ok(body)
    }

    /// The body of a caller who is not known yet. Only so many bytes are held for all such callers together.
    async fn body_of_stranger(&mut self) -> Result<Bytes, ApiError> {
        let at_most = self.row.intake.at_most();
        let expected = body::declared_length(&self.request).unwrap_or(at_most).min(at_most);
        let state = Arc::clone(&self.state);
        let _room = state.strangers.room_for(expected).ok_or(ApiError::Overloaded)?;
        self.body().await
    }

    /// What is shared with the socket; nothing where there is none, as in tests.
    fn conversation(&self) -> Option<&Rc<Conversation>> {
        self.request.conn_data::<Rc<Conversation>>()
    }

    /// A body announced as too large is not read at all.
    fn refuse_announced(&self, at_most: u64) -> Result<(), ApiError> {
        match body::declared_length(&self.request) {
            Some(length) if length > at_most => Err(body::too_large(at_most)),
            _ => Ok(()),
        }
    }

    /// A merchant by a signed request. Its body is under the signature, so it is read before it is known who sent it,
    /// though not before there is a credential that could have signed it; one that cannot be read is a failure of
    /// authentication too. That of a `GET` counts as empty, whatever is sent. Once the signature has verified, its
    /// nonce is used up whatever is answered.
    async fn by_signature(&mut self, needs: Needs) -> Result<(Bytes, Signed), ApiError> {
        let request = self.request.clone();
        let claimed = caller::claim_signature(&self.state, &request, self.now).await;
        let claimed = self.charged(claimed).await?;
        let body = if body::has_body(self.request.method()) {
            match self.body_of_stranger().await {
                Ok(body) => body,
                Err(ApiError::Overloaded) => return Err(ApiError::Overloaded),
                Err(error) => return Err(self.charge_failure(error).await),
            }
        } else {
            Bytes::new()
        };
        let signed = caller::authenticate_signature(&self.state, &request, &claimed, &body);
        let Signed { caller, nonce } = self.charged(signed).await?;
        let tenant = caller.tenant();
        match self.admit(Ok(caller), needs).await {
            Ok(caller) => Ok((body, Signed { caller, nonce })),
            Err(error) => {
                self.state.services.create.burn(tenant, nonce).await?;
                Err(error)
            }
        }
    }

    /// The merchant that the path names: the caller's own, or any for staff.
    async fn scoped_tenant(&mut self, needs: Needs) -> Result<Tenant, ApiError> {
        let named = merchant_in_path(&self.request);
        if caller::is_staff(&self.request) {
            // Whoever is staff reads what a viewer reads.
            self.by_operator_token(Role::Viewer).await?;
            let mut problems = Problems::new();
            let query = Query::parse(self.request.query_string())?;
            let environment = query.parsed::<Environment>("environment", &mut problems);
            return if problems.is_empty() {
                caller::tenant_named_by_staff(&self.state, named, environment).await
            } else {
                Err(problems.into())
            };
        }
        let caller = caller::by_key_or_token(&self.state, &self.request, self.now).await;
        let tenant = self.admit(caller, needs).await?.tenant();
        if named == Some(tenant.merchant()) { Ok(tenant) } else { Err(ApiError::merchant_not_found()) }
    }

    async fn by_operator_token(&mut self, role: Role) -> Result<Staff, ApiError> {
        let staff = caller::by_operator_token(&self.state, &self.request, self.now).await;
        let staff = self.charged(staff).await?;
        staff.require(role)?;
        Ok(staff)
    }

    /// Lets a provider in that was verified, and counts what was not against its address.
    async fn by_callback(&mut self, judged: Result<Provider, ApiError>) -> Result<Provider, ApiError> {
        match judged {
            Ok(provider) => {
                let limited = caller::charge_callback(&self.state, &provider).await;
                self.limited(limited)?;
                Ok(provider)
            }
            Err(error) => {
                let kind = BudgetKind::UnverifiedCallbacks;
                let limited = caller::charge_address(&self.state, &self.request, kind).await;
                self.limited(limited)?;
                Err(error)
            }
        }
    }

    /// Counts a visitor of pages and files.
    async fn visit(&mut self) -> Result<(), ApiError> {
        let limited = caller::charge_address(&self.state, &self.request, BudgetKind::Pages).await;
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

    /// Passes who was authenticated on, and charges a failure.
    async fn charged<T>(&mut self, authenticated: Result<T, ApiError>) -> Result<T, ApiError> {
        match authenticated {
            Err(error) if error.is_unauthorized() => Err(self.charge_failure(error).await),
            other => other,
        }
    }

    /// Charges a failure of authentication to the client's address; beyond its budget the answer is 429.
    async fn charge_failure(&mut self, error: ApiError) -> ApiError {
        let limited = caller::charge_address(&self.state, &self.request, BudgetKind::Unauthenticated).await;
        if limited.remaining == 0 {
            self.state
                .lookups
                .distrust(&caller::address_of(&self.state, &self.request), limited.reset_epoch_seconds);
        }
        self.limited(limited).err().unwrap_or(error)
    }

    /// Keeps what the rate limit said for the answer, and refuses beyond it.
    fn limited(&mut self, verdict: Verdict) -> Result<(), ApiError> {
        self.verdict = Some(verdict);
        if verdict.allowed { Ok(()) } else { Err(ApiError::RateLimited(verdict)) }
    }
}
