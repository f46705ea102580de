//! The test matrix's route table, and how its routes are called.

use std::{convert::Infallible, task::Poll};

use actix_http::Request;
use actix_web::{
    App, Error, HttpResponse,
    body::SizedStream,
    dev::{Service, ServiceResponse},
    http::StatusCode,
    test,
    web::Bytes,
};
use futures_util::stream;
use quipu_merchants::{ApiVersion, KeyBudget, Role, Scope, Scopes};
use serde_json::{Value, json};

use super::world::{Answer, World, request, signed};
use crate::{
    answer::{ApiError, ErrorCode, Family, envelope, reply},
    caller::Provider,
    request::{Call, Intake, Outcome, Running},
    route_table::{row, run, scope},
    routing::{Access, Judge, Needs, RouteRow, deprecation::Deprecation, operation::op},
    server::configure_with,
};

pub(super) const ACCESSES: [&str; 9] =
    ["public", "visitor", "callback", "key", "token", "scoped", "signed", "creation", "staff"];
pub(super) const ANSWERS: [&str; 3] = ["ticket", "page", "stream"];
pub(super) const FAMILIES: [(&str, Family); 3] =
    [("api", Family::Api), ("tickets", Family::Ticket), ("pages", Family::Page)];
pub(super) const DEPRECATED: Deprecation = Deprecation {
    since: 1_767_225_600,
    sunset: 1_782_864_000,
    link: "https://pay.example/docs/VERSIONING.md",
};
pub(super) const HELLO: &str = "hello";

/// The refusal that the query asks for, if any.
fn asked_for(call: &Call) -> Result<(), ApiError> {
    match call.request.query_string() {
        "fail=validation" => Err(ApiError::validation("title", "is required")),
        "fail=missing" => Err(ApiError::refused(ErrorCode::TicketNotFound, "there is no such ticket")),
        "fail=overload" => Err(ApiError::Overloaded),
        _ => Ok(()),
    }
}

async fn ticket(call: Call) -> Outcome {
    asked_for(&call)?;
    envelope::json(StatusCode::CREATED, &json!({ "success": true, "data": call.optional_json().await? }))
}

async fn page(call: Call) -> Outcome {
    asked_for(&call)?;
    Ok(reply::page(StatusCode::OK, "default-src 'none'", "<!doctype html><p>hello</p>".to_owned()))
}

/// Sends one event, and then nothing until the process is to stop.
async fn events(call: Call) -> Outcome {
    use futures_util::StreamExt;
    asked_for(&call)?;
    let hello = stream::iter([Bytes::from_static(HELLO.as_bytes())]);
    Ok(reply::stream(&call.state.services.stop, "text/event-stream", hello.chain(stream::pending())))
}

/// A file of ten bytes that nobody may read.
async fn unread(_: Call) -> Outcome {
    let pieces = stream::poll_fn(|_| -> Poll<Option<Result<Bytes, Infallible>>> { panic!("it is read") });
    Ok(HttpResponse::Ok().body(SizedStream::new(10, pieces)))
}

/// Counts the bytes of an upload.
async fn upload(mut call: Call) -> Outcome {
    let mut upload = call.upload.take().expect("the row leaves the body to its handler");
    let (mut bytes, mut pieces) = (0, 0);
    while let Some(piece) = upload.next().await? {
        bytes += piece.len();
        pieces += 1;
    }
    envelope::one(json!({ "bytes": bytes, "in_pieces": pieces > 0 }))
}

/// Answers with the members of a form.
async fn form(call: Call) -> Outcome {
    let mut problems = quipu_kernel::Problems::new();
    let name = call.form().await?.text("recipient_name", &mut problems).map(str::to_owned);
    envelope::one(json!({ "recipient_name": name }))
}

const JUDGE: Judge = Judge { head: |call| judge(call).map(|_| ()), whole: |call, _| judge(call) };

fn judge(call: &Call) -> Result<Provider, ApiError> {
    match call.request.headers().get("x-secret") {
        Some(secret) if secret == "right" => Ok(Provider::verified("bank".to_owned())),
        _ => Err(ApiError::refused(ErrorCode::SignatureInvalid, "the signature does not verify")),
    }
}

/// Every kind of access before the same handler.
macro_rules! accesses {
    ($handler:ident) => {{
        let needs = scope(Scope::TicketsCreate);
        let creation = Needs { scope: Some(Scope::PaymentsCreate), budget: KeyBudget::PaymentCreation };
        [
            Access::Public(run!($handler, call)),
            Access::Anonymous(run!($handler, call)),
            Access::Callback(JUDGE, |call, _| -> Running { Box::pin($handler(call)) }),
            Access::ApiKey(needs, |call, _| -> Running { Box::pin($handler(call)) }),
            Access::KeyOrToken(needs, |call, _| -> Running { Box::pin($handler(call)) }),
            Access::Scoped(needs, |call, _| -> Running { Box::pin($handler(call)) }),
            Access::Signed(needs, |call, _| -> Running { Box::pin($handler(call)) }),
            Access::SignedCreation(creation, |call, _| -> Running { Box::pin($handler(call)) }),
            Access::Staff(Role::Support, |call, _| -> Running { Box::pin($handler(call)) }),
        ]
    }};
}

fn kept(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// The path of a row. Signed paths begin as those of the product do.
pub(super) fn path_of(access: &str, merchant: &str, answer: &str, family: &str) -> String {
    let before = if matches!(access, "signed" | "creation") { "/api/v2" } else { "" };
    format!("{before}/{access}/{merchant}/{answer}/{family}")
}

/// The rows of the matrix: every access, answer and family; a second path; a form; an upload; a file.
pub(super) fn table() -> Vec<&'static RouteRow> {
    let mut rows = Vec::new();
    for (answer, all) in ANSWERS.iter().zip([accesses!(ticket), accesses!(page), accesses!(events)]) {
        for (access, name) in all.into_iter().zip(ACCESSES) {
            for (family_name, family) in FAMILIES {
                let path = kept(path_of(name, "{id}", answer, family_name));
                let alias = kept(format!("{path}/also"));
                let method = if *answer == "ticket" { "POST" } else { "GET" };
                let operation = op(name, answer).says("A row of the matrix.").answers(201);
                rows.push(row(method, path, access).family_of(family).also_at(alias).doc(operation));
            }
        }
    }
    let old =
        row("GET", "/old", Access::Anonymous(run!(page, call))).also_at("/also/old").deprecated(DEPRECATED);
    rows.push(old.doc(op("old", "What will end").says("Use the new one.")));
    let form = row("POST", "/form", Access::Anonymous(run!(form, call))).reads(Intake::Form);
    rows.push(form.doc(op("form", "A form")));
    let upload = row("PUT", "/upload", Access::Anonymous(run!(upload, call))).family_of(Family::Ticket);
    rows.push(upload.reads(Intake::Stream(100_000)).doc(op("upload", "An upload")));
    rows.push(row("GET", "/file", Access::Public(run!(unread, call))).doc(op("file", "A file")));
    let whole = Access::Callback(JUDGE, |call, _| -> Running {
        Box::pin(async move { Ok(HttpResponse::Ok().body(call.body().await?)) })
    });
    rows.push(row("POST", "/raw", whole).reads(Intake::Whole(1000)).doc(op("raw", "Any bytes")));
    rows.into_iter().map(|row| &*Box::leak(Box::new(row))).collect()
}

/// An application that is called without a socket.
pub(super) trait Application: Service<Request, Response = ServiceResponse, Error = Error> {}

impl<S: Service<Request, Response = ServiceResponse, Error = Error>> Application for S {}

/// The application's answer to a request.
pub(super) async fn send(app: &impl Application, request: test::TestRequest) -> Answer {
    let response = test::call_service(app, request.to_request()).await;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = String::from_utf8(test::read_body(response).await.to_vec()).expect("UTF-8");
    let body = serde_json::from_str(&text).unwrap_or(Value::Null);
    assert!(headers.contains_key("x-request-id"), "{status} {text}");
    Answer { status, headers, text, body }
}

/// The matrix, with credentials for each kind of access.
pub(super) struct Matrix {
    pub(super) world: World,
    pub(super) merchant: quipu_kernel::MerchantId,
    key: String,
    v2: quipu_kernel::MerchantId,
    secret: quipu_kernel::Secret,
    staff: String,
    nonces: std::cell::Cell<u32>,
}

impl Matrix {
    pub(super) async fn new() -> Self {
        let mut world = World::new();
        world.settings.limits.unauthenticated_per_minute = 1000;
        let (merchant, key) = world.merchant_with_key().await;
        let v2 = world.merchant(ApiVersion::V2).await;
        let (_, secret) = world.credential(v2).await;
        let staff = world.operator(Role::Support).await;
        Self { world, merchant, key, v2, secret, staff, nonces: std::cell::Cell::new(0) }
    }

    pub(super) fn path(&self, access: &str, answer: &str, family: &str) -> String {
        path_of(access, &self.merchant.to_string(), answer, family)
    }

    /// A key without the scope that the matrix requires.
    pub(super) async fn without_scope(&self) -> String {
        self.world.key(self.merchant, Scopes::default()).await.1
    }

    /// The gateway's application over the table of the matrix.
    pub(super) async fn app(&self) -> impl Application {
        let routes = configure_with(self.world.services.clone(), self.world.settings.clone(), table());
        test::init_service(App::new().configure(routes)).await
    }

    /// Sends one request to a new application.
    pub(super) async fn app_send(&self, request: test::TestRequest) -> Answer {
        send(&self.app().await, request).await
    }

    /// A request with the credentials that the access requires.
    pub(super) fn with_credentials(&self, access: &str, answer: &str, target: &str) -> test::TestRequest {
        let (method, body) = if answer == "ticket" { ("POST", r#"{"a":1}"#) } else { ("GET", "") };
        let plain = request(method, target);
        let plain = if body.is_empty() {
            plain
        } else {
            plain.insert_header(("Content-Type", "application/json")).set_payload(body)
        };
        match access {
            "callback" => plain.insert_header(("X-Secret", "right")),
            "key" | "token" => plain.insert_header(("X-API-Key", self.key.as_str())),
            "signed" | "creation" => {
                self.nonces.set(self.nonces.get() + 1);
                let nonce = format!("nonce-{:05}", self.nonces.get());
                signed(self.v2, &self.secret, &nonce, (method, target), body)
            }
            "scoped" | "staff" => plain.insert_header(("Authorization", self.staff.as_str())),
            _ => plain,
        }
    }

    /// A request without the credentials that the access requires.
    pub(super) fn without_credentials(answer: &str, target: &str) -> test::TestRequest {
        request(if answer == "ticket" { "POST" } else { "GET" }, target)
    }
}
