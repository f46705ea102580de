//! Hosted pages: what a payer and a recipient see, and who may see it.

mod brand;
mod recipients;
mod scheme;
mod seen;
mod streams;

use quipu_tests::{
    Answer, Client, draft,
    draft::{steered, with, without},
};
use reqwest::Method;
use serde_json::{Value, json};

pub(crate) use brand::PIXEL;

/// A deposit with a page that waits until somebody pays.
fn hosted(currency: &str, method: &str) -> Value {
    with(steered(draft::deposit(currency, method, 123_456), "stay"), "/type", json!("deposit_pp"))
}

fn unfilled(currency: &str, method: &str) -> Value {
    let draft = draft::withdrawal(currency, method, 1_000, json!({}));
    with(without(draft, "/payout"), "/type", json!("withdrawal_pp"))
}

/// The path of the page of a payment that was just created.
fn path_of(created: &Value) -> String {
    let url = created["payment_page_url"].as_str().unwrap_or_else(|| panic!("no page: {created}"));
    let (_, path) = url.split_once("/payment-pages/").expect("an address of a page");
    format!("/payment-pages/{path}")
}

async fn send_form(client: &Client, path: &str, form: &str) -> Answer {
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    client.send(Method::POST, path, Some(form.as_bytes().to_vec()), &headers).await
}

async fn page_in(client: &Client, path: &str, language: &str) -> Answer {
    client.send(Method::GET, path, None, &[("accept-language", language)]).await
}
