//! One caller of the gateway: its address and its credentials.

use std::time::Duration;

use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use crate::{
    Answer,
    contract::assert_documented,
    signature::{Signer, fresh_nonce, unix_seconds},
};
use quipu_kernel::{Clock, SystemClock};

#[derive(Debug, Clone)]
enum Credential {
    None,
    ApiKey(String),
    Bearer(String),
    Hmac(Signer),
}

/// Sends requests to one gateway as one caller, and checks every exchange against the documents. Cheap to
/// clone; clones share connections.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base_url: String,
    credential: Credential,
    is_documented: bool,
}

/// A plain HTTP client, for URLs outside the API: pages, signed URLs of files.
pub fn http_client() -> reqwest::Client {
    http_client_builder().build().expect("an HTTP client")
}

fn http_client_builder() -> reqwest::ClientBuilder {
    // Another client may have installed a provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Reading the machine's certificates would take longer than most scenarios use the client for.
    reqwest::Client::builder().no_proxy().tls_certs_only([])
}

impl Client {
    /// A caller without credentials.
    pub fn anonymous(base_url: &str) -> Self {
        let http = http_client_builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(Duration::from_mins(1))
            .pool_max_idle_per_host(256)
            .build()
            .expect("an HTTP client");
        Self { http, base_url: base_url.to_owned(), credential: Credential::None, is_documented: true }
    }

    /// The same connections with a version 1 key.
    pub fn with_api_key(&self, key: &str) -> Self {
        Self { credential: Credential::ApiKey(key.to_owned()), ..self.clone() }
    }

    /// The same connections with a bearer token, a merchant's or an operator's.
    pub fn with_bearer(&self, token: &str) -> Self {
        Self { credential: Credential::Bearer(token.to_owned()), ..self.clone() }
    }

    /// The same connections, with every request signed by version 2.
    pub fn with_hmac(&self, merchant_id: &str, secret: &str) -> Self {
        let signer = Signer { merchant_id: merchant_id.to_owned(), secret: secret.to_owned() };
        Self { credential: Credential::Hmac(signer), ..self.clone() }
    }

    /// A caller of an address that no document describes, such as the metrics'.
    pub fn undocumented(base_url: &str) -> Self {
        Self { is_documented: false, ..Self::anonymous(base_url) }
    }

    /// The same caller at another address.
    pub fn moved_to(&self, other: &Self) -> Self {
        Self {
            http: other.http.clone(),
            base_url: other.base_url.clone(),
            credential: self.credential.clone(),
            is_documented: self.is_documented,
        }
    }

    /// Scheme, host and port.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// `GET` of a path with its query.
    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None, &[]).await
    }

    /// `POST` of a JSON body.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, Some(body.to_string().into_bytes()), &[]).await
    }

    /// `POST` of a JSON body with further headers.
    pub async fn post_with(&self, path: &str, body: &Value, headers: &[(&str, &str)]) -> Answer {
        self.send(Method::POST, path, Some(body.to_string().into_bytes()), headers).await
    }

    /// `POST` of any bytes, sent as JSON.
    pub async fn post_bytes(&self, path: &str, body: impl Into<Vec<u8>>) -> Answer {
        self.send(Method::POST, path, Some(body.into()), &[]).await
    }

    /// `POST` without a body.
    pub async fn post_empty(&self, path: &str) -> Answer {
        self.send(Method::POST, path, None, &[]).await
    }

    /// `PUT` of a JSON body.
    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, Some(body.to_string().into_bytes()), &[]).await
    }

    /// `PATCH` of a JSON body.
    pub async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PATCH, path, Some(body.to_string().into_bytes()), &[]).await
    }

    /// `DELETE` of a path.
    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, None, &[]).await
    }

    /// Creates a payment in the caller's version.
    pub async fn create(&self, draft: &Value) -> Answer {
        let path = match self.credential {
            Credential::Hmac(_) => "/api/v2/payments",
            _ => "/api/v1/payments",
        };
        self.post(path, draft).await
    }

    /// Reads a payment that must exist (version 1).
    pub async fn payment(&self, id: &str) -> Value {
        self.get(&format!("/api/v1/payments/{id}")).await.data()
    }

    /// Sends any request; the test fails if no answer comes.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
        headers: &[(&str, &str)],
    ) -> Answer {
        self.try_send(method, path, body, headers)
            .await
            .unwrap_or_else(|error| panic!("no answer from {path}: {error:?}"))
    }

    /// Sends any request, for tests in which the gateway may die meanwhile.
    pub async fn try_send(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
        headers: &[(&str, &str)],
    ) -> Result<Answer, reqwest::Error> {
        let sent = body.clone();
        let mut request = self.http.request(method.clone(), format!("{}{path}", self.base_url));
        request = self.prove(request, &method, path, body.as_deref().unwrap_or_default());
        if let Some(body) = body {
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                request = request.header("Content-Type", "application/json");
            }
            request = request.body(body);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let answer = Answer { status, headers, text: response.text().await? };
        if self.is_documented {
            assert_documented(method.as_str(), path, sent.as_deref(), &answer);
        }
        Ok(answer)
    }

    fn prove(&self, request: RequestBuilder, method: &Method, path: &str, body: &[u8]) -> RequestBuilder {
        match &self.credential {
            Credential::None => request,
            Credential::ApiKey(key) => request.header("X-API-Key", key),
            Credential::Bearer(token) => request.bearer_auth(token),
            Credential::Hmac(signer) => {
                let (body, method) = (Some(body.to_vec()), method.clone());
                let proven = signer.request(method, path, body, unix_seconds(), &fresh_nonce());
                proven.headers().fold(request, |request, (name, value)| request.header(name, value))
            }
        }
    }
}

/// An ISO 8601 time in the future.
pub fn instant_in(time: Duration) -> String {
    SystemClock.now().plus(time).to_string()
}
