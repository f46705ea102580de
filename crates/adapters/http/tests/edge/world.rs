//! The application over ports in memory, with a merchant, its keys and the operator's staff.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
};

use actix_http::Request;
use actix_service::boxed::{self, BoxService};
use actix_web::{
    App, Error,
    dev::{Service as _, ServiceResponse},
    http::{Method, header::HeaderMap},
    test::{self, TestRequest},
};
use async_trait::async_trait;
use quipu_http::{
    HttpSettings, KeyUses, PageServices, Part, Readiness, Services, Stop, ViewerLimits, Viewers, Webhooks,
    configure,
};
use quipu_kernel::{Clock, Environment, MerchantId, Secret, Tenant, Timestamp};
use quipu_merchants::{
    Actor, ApiVersion, Budget, BudgetKind, LimitsNotShared, MerchantStatus, NewApiKey, NewCredential,
    NewMerchant, NewOperator, Onboarding, RateDecision, RateLimiter, RateLimits, RateVerdict, ReturnUrls,
    Role, Scope, Scopes, Window,
};
use quipu_payments::{
    AdjustBalance, CancelPayment, CreatePayment, CreationPorts, DecidePayment, FillRecipient, PageLinks,
    ProcessRailEvent, Rails, RefundPayment, ResolveReceipt, SimulateScheme,
};
use quipu_signing::{Keyring, PageKey, SystemEntropy, generate_master_key, sign_request};
use quipu_simulation::MemoryDirectory;
use quipu_tickets::{TicketOffice, TicketPeriods, TicketPorts};
use quipu_webhooks::CreateEndpoint;
use serde_json::{Value, json};

use super::{
    all_payments::NoPayments,
    books::{FakeBooks, PatientRail},
    desk::EmptyDesk,
    hooks::FakeHooks,
    pages::FakePages,
};

pub(crate) const NOW: i64 = 1_763_683_200;

pub(crate) struct FakeClock(AtomicI64);

impl FakeClock {
    pub(crate) fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed) * 1000)
    }
}

/// Counts each subject up to the least limit of its budget and never forgets.
#[derive(Default)]
struct CountingLimiter(Mutex<HashMap<(BudgetKind, String), u32>>);

#[async_trait]
impl RateLimiter for CountingLimiter {
    fn take<'a>(&'a self, budget: Budget, subject: &'a str) -> RateDecision<'a> {
        let limit = budget.windows().map(Window::limit).min().unwrap_or(0);
        let mut counts = self.0.lock().expect("no test panics with the lock");
        let count = counts.entry((budget.kind(), subject.to_owned())).or_default();
        let allowed = *count < limit;
        *count += u32::from(allowed);
        let (remaining, reset_epoch_seconds) = (limit - *count, NOW + 60);
        RateDecision::Ready(RateVerdict {
            allowed,
            is_judged: true,
            limit,
            remaining,
            reset_epoch_seconds,
            retry_after_seconds: if allowed { 0 } else { 60 },
        })
    }

    async fn probe(&self) -> Result<(), LimitsNotShared> {
        Ok(())
    }
}

struct Ready;

#[async_trait]
impl Readiness for Ready {
    async fn probe(&self) -> Vec<(&'static str, Part)> {
        vec![("database", Ok(())), ("limits", Err("they are not shared".into()))]
    }
}

pub(crate) struct World {
    pub(crate) directory: Arc<MemoryDirectory>,
    pub(crate) books: Arc<FakeBooks>,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) onboarding: Arc<Onboarding>,
    pub(crate) settings: HttpSettings,
    pub(crate) services: Services,
    /// The master key under which its credentials are made.
    pub(crate) master: Secret,
}

/// The whole edge in this process.
pub(crate) type Application = BoxService<Request, ServiceResponse, Error>;

/// An answer, read whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl Answer {
    /// What the application answers.
    pub(crate) async fn of(application: &Application, request: TestRequest) -> Self {
        let response = application.call(request.to_request()).await.expect("an answer");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = String::from_utf8(test::read_body(response).await.to_vec()).expect("UTF-8");
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        assert!(headers.contains_key("x-request-id"), "{status} {text}");
        Self { status, headers, text, body }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("ASCII"))
    }

    /// Status and `error_code`.
    pub(crate) fn code(&self) -> (u16, &str) {
        (self.status, self.body["error_code"].as_str().unwrap_or("none"))
    }
}

pub(crate) fn request(method: &str, path: &str) -> TestRequest {
    let method = Method::from_bytes(method.as_bytes()).expect("a method");
    TestRequest::default().method(method).uri(path)
}

pub(crate) fn deposit(reference: &str) -> Value {
    json!({
        "amount": 100_000, "currency": "MXN", "method": "spei", "type": "deposit",
        "merchant_reference": reference, "customer": {"name": "Ana", "email": "ana@example.com"},
    })
}

/// What everything in the world is made of.
struct Parts {
    directory: Arc<MemoryDirectory>,
    books: Arc<FakeBooks>,
    clock: Arc<FakeClock>,
    entropy: Arc<SystemEntropy>,
    keyring: Arc<Keyring>,
}

impl Parts {
    fn services(&self) -> Services {
        let Self { directory, books, clock, entropy, keyring } = self;
        let (desk, all_payments) = (Arc::new(EmptyDesk), Arc::new(NoPayments));
        let rails = Arc::new(Rails::new(vec![Arc::new(PatientRail)]));
        let rail_events = Arc::new(ProcessRailEvent::new(
            books.clone(),
            all_payments.clone(),
            clock.clone(),
            entropy.clone(),
        ));
        Services {
            webhooks: self.webhooks(),
            decide: Arc::new(DecidePayment::new(
                books.clone(),
                all_payments.clone(),
                clock.clone(),
                entropy.clone(),
            )),
            refund: Arc::new(RefundPayment::new(
                books.clone(),
                all_payments.clone(),
                clock.clone(),
                entropy.clone(),
            )),
            resolve: Arc::new(ResolveReceipt::new(
                books.clone(),
                all_payments.clone(),
                directory.clone(),
                clock.clone(),
                entropy.clone(),
            )),
            pages: self.pages(&rails, &rail_events),
            rail_events,
            all_payments,
            tickets: Arc::new(self.tickets(&desk)),
            ticket_reads: desk.clone(),
            support_reads: desk,
            create: Arc::new(CreatePayment::new(CreationPorts {
                commit: books.clone(),
                reads: books.clone(),
                route_book: directory.clone(),
                rails: rails.clone(),
                clock: clock.clone(),
                entropy: entropy.clone(),
            })),
            cancel: Arc::new(CancelPayment::new(
                books.clone(),
                books.clone(),
                clock.clone(),
                entropy.clone(),
            )),
            adjust: Arc::new(AdjustBalance::new(books.clone(), clock.clone())),
            payments: books.clone(),
            ledger: books.clone(),
            chains: books.clone(),
            caller_book: directory.clone(),
            routes: directory.clone(),
            directory: directory.clone(),
            onboarding: Arc::new(Onboarding::new(
                directory.clone(),
                keyring.clone(),
                clock.clone(),
                entropy.clone(),
            )),
            commit: books.clone(),
            limiter: Arc::new(CountingLimiter::default()),
            keyring: keyring.clone(),
            entropy: entropy.clone(),
            clock: clock.clone(),
            rails,
            readiness: Arc::new(Ready),
            key_uses: Arc::new(KeyUses::new(directory.clone())),
            stop: Stop::never(),
        }
    }

    fn tickets(&self, desk: &Arc<EmptyDesk>) -> TicketOffice {
        let ports = TicketPorts {
            commit: self.books.clone(),
            reads: desk.clone(),
            support: desk.clone(),
            files: desk.clone(),
            thumbnails: desk.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
        };
        TicketOffice::new(ports, TicketPeriods::default())
    }

    fn pages(&self, rails: &Arc<Rails>, rail_events: &Arc<ProcessRailEvent>) -> PageServices {
        let Self { directory, books, clock, .. } = self;
        let (commit, reads, directory) = (books.clone(), books.clone(), directory.clone());
        let recipients = FillRecipient::new(commit, reads, directory, rails.clone(), clock.clone());
        PageServices {
            store: Arc::new(FakePages::default()),
            links: Arc::new(PageLinks::new(PageKey::generate(&SystemEntropy), "https://gateway.example")),
            recipients: Arc::new(recipients),
            scheme: Arc::new(SimulateScheme::new(
                books.clone(),
                books.clone(),
                rail_events.clone(),
                clock.clone(),
            )),
            viewers: Arc::new(Viewers::new(ViewerLimits::among(1_000))),
        }
    }

    fn webhooks(&self) -> Webhooks {
        let hooks = Arc::new(FakeHooks::default());
        let (keyring, clock, entropy) = (self.keyring.clone(), self.clock.clone(), self.entropy.clone());
        Webhooks {
            create: Arc::new(CreateEndpoint::new(hooks.clone(), keyring, clock, entropy)),
            endpoints: hooks.clone(),
            log: hooks.clone(),
            courier: hooks.clone(),
            deliverer: hooks,
        }
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = Arc::new(MemoryDirectory::default());
        let entropy = Arc::new(SystemEntropy);
        let master = generate_master_key(&SystemEntropy);
        let keyring = Arc::new(Keyring::from_base64(&master).expect("a master key"));
        let clock = Arc::new(FakeClock(AtomicI64::new(NOW)));
        let parts = Parts { directory, books: Arc::new(FakeBooks::default()), clock, entropy, keyring };
        let services = parts.services();
        let onboarding = services.onboarding.clone();
        let settings = HttpSettings::new("https://gateway.example");
        let Parts { directory, books, clock, .. } = parts;
        Self { directory, books, clock, onboarding, settings, services, master }
    }

    /// The application with the settings as they are now. Making one takes longer than most calls.
    pub(crate) async fn application(&self) -> Application {
        let routes = configure(self.services.clone(), self.settings.clone());
        boxed::service(test::init_service(App::new().configure(routes)).await)
    }

    pub(crate) async fn send(&self, request: TestRequest) -> Answer {
        Answer::of(&self.application().await, request).await
    }

    pub(crate) async fn flush_key_uses(&self) {
        self.services.key_uses.flush().await;
    }

    pub(crate) async fn merchant(&self, api_version: ApiVersion) -> MerchantId {
        let new = NewMerchant {
            name: "Shop".to_owned(),
            api_version,
            status: MerchantStatus::Active,
            return_urls: ReturnUrls::default(),
        };
        self.onboarding.create_merchant(new, Actor::shell()).await.expect("a merchant").0.id
    }

    /// A key of a merchant in the test environment; answers its id and text.
    pub(crate) async fn key(&self, merchant: MerchantId, scopes: Scopes) -> (String, String) {
        let new = NewApiKey {
            tenant: Tenant::new(merchant, Environment::Test),
            name: "a key".to_owned(),
            scopes,
            rate_limits: RateLimits { standard_per_minute: Some(1000), ..RateLimits::default() },
            expires_at: None,
        };
        let issued = self.onboarding.issue_api_key(new, Actor::shell()).await.expect("a key");
        (issued.record.key_id, issued.secret.expose().to_owned())
    }

    /// A merchant of v1 and a key that may do everything.
    pub(crate) async fn merchant_with_key(&self) -> (MerchantId, String) {
        let merchant = self.merchant(ApiVersion::V1).await;
        (merchant, self.key(merchant, Scopes::all()).await.1)
    }

    pub(crate) async fn operator(&self, role: Role) -> String {
        let new = NewOperator { name: "Olga".to_owned(), role, expires_at: None };
        let issued = self.onboarding.create_operator(new, Actor::shell()).await;
        format!("Bearer {}", issued.expect("an operator").secret.expose())
    }

    pub(crate) async fn credential(&self, merchant: MerchantId) -> (String, Secret) {
        let new = NewCredential::usual(Tenant::new(merchant, Environment::Test));
        let issued = self.onboarding.issue_credential(new, Actor::shell()).await.expect("a credential");
        (issued.record.credential_id, issued.secret)
    }

    /// Creates the deposit of this reference.
    pub(crate) async fn deposit(&self, key: &str, reference: &str) -> Answer {
        let request = request("POST", "/api/v1/payments").insert_header(("X-API-Key", key));
        self.send(request.set_json(deposit(reference))).await
    }
}

/// A request signed as docs/API.md says.
pub(crate) fn signed(
    merchant: MerchantId,
    secret: &Secret,
    nonce: &str,
    (method, path): (&str, &str),
    body: &str,
) -> TestRequest {
    let timestamp = NOW.to_string();
    let signature = sign_request(secret, &timestamp, nonce, method, path, body.as_bytes());
    let request = request(method, path)
        .insert_header(("X-Merchant-Id", merchant.to_string()))
        .insert_header(("X-Timestamp", timestamp))
        .insert_header(("X-Nonce", nonce))
        .insert_header(("X-Signature-Version", "v1"))
        .insert_header(("X-Signature", signature));
    if body.is_empty() {
        request
    } else {
        request.insert_header(("Content-Type", "application/json")).set_payload(body.to_owned())
    }
}

pub(crate) fn without(scope: Scope) -> Scopes {
    Scope::ALL.into_iter().filter(|it| *it != scope).collect()
}
