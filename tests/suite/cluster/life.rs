//! What one customer of a merchant goes through, again and again, with whichever node answers.

use std::sync::Arc;

use quipu_tests::{Client, Merchant, draft, eventually, http_client};
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    bank::{BANKED, Bank, CURRENCY, PAID_OUT},
    nodes::{Call, Nodes},
};

pub(super) const DEPOSITED: i64 = 100;
pub(super) const REFUNDED: i64 = 40;
pub(super) const HOSTED: i64 = 50;
pub(super) const WITHDRAWN: i64 = 30;
/// What is uploaded.
pub(super) const FILE: &[u8] = b"%PDF-1.7 a receipt of the counter";

/// What a provider reports of payouts, the status it answers when asked, and how they end.
pub(super) const ENDS: [(&[&str], &str, &str); 3] = [
    (&["payment.completed"], "completed", "completed"),
    (&["payment.failed"], "failed", "failed"),
    (&["payment.returned", "payment.completed"], "completed", "refunded"),
];

pub(super) struct Life {
    api: Client,
    operator: Client,
    nodes: Arc<Nodes>,
    bank: Arc<Bank>,
}

impl Life {
    pub(super) fn of(merchant: &Merchant, operator: &Client, nodes: Arc<Nodes>, bank: Arc<Bank>) -> Self {
        Self { api: merchant.api.clone(), operator: operator.clone(), nodes, bank }
    }

    /// Lives so many rounds, and answers where the files are whose comments were acknowledged.
    pub(super) async fn live(self, rounds: usize) -> Vec<String> {
        let mut files = Vec::new();
        for round in 0..rounds {
            let deposit = self.pay(&draft::deposit_mxn(DEPOSITED)).await;
            let id = deposit["transaction_id"].as_str().expect("an id");
            self.until(id, "completed").await;
            let ticket = self.complain(id).await;
            files.extend(self.upload(&ticket).await);
            self.refund(id, &ticket).await;
            self.watch_a_page().await;
            let sent = self.pay(&draft::withdrawal_ars(WITHDRAWN)).await;
            self.until(sent["transaction_id"].as_str().expect("an id"), "completed").await;
            self.change_its_mind().await;
            self.pay_over_the_bank().await;
            self.be_paid_by_the_bank(ENDS[round % ENDS.len()]).await;
            self.nodes.advance();
        }
        files
    }

    async fn pay(&self, draft: &Value) -> Value {
        let call = Call::keyed(draft.clone());
        self.nodes.ask(&self.api, &Method::POST, "/api/v1/payments", &call).await.ok()
    }

    async fn until(&self, id: &str, status: &str) {
        let what = format!("{id} to be {status}");
        eventually(&what, async || (self.status_of(id).await == status).then_some(())).await;
    }

    /// A payment has one ticket, so that a repeat finds the first.
    async fn complain(&self, payment: &str) -> String {
        let body = json!({ "title": "Refund, please", "category": "refund_request", "payment_id": payment });
        let opened = self.nodes.ask(&self.api, &Method::POST, "/api/v1/tickets", &Call::of(body)).await;
        assert!([201, 409].contains(&opened.status), "{opened}");
        let path = format!("/api/v1/tickets?payment_id={payment}");
        let listed = self.nodes.ask(&self.api, &Method::GET, &path, &Call::default()).await.ok();
        assert_eq!(listed["pagination"]["total"], 1, "{listed}");
        listed["data"][0]["ticket_id"].as_str().expect("an id").to_owned()
    }

    /// Sends a file and names it in a comment, which is not repeated: it may be lost with its node. Answers
    /// where the file is, if the comment was acknowledged.
    async fn upload(&self, ticket: &str) -> Option<String> {
        let ask = Call::of(json!({ "filename": "receipt.pdf", "content_type": "application/pdf" }));
        let path = format!("/api/v1/tickets/{ticket}/upload-url");
        let url = self.nodes.ask(&self.api, &Method::POST, &path, &ask).await.data();
        let put = http_client().put(url["upload_url"].as_str().expect("a URL"));
        let put = put.header("Content-Type", "application/pdf").body(FILE).send().await.expect("an answer");
        assert!(put.status().is_success(), "{}", put.status());
        let id = url["attachment_id"].as_str().expect("an id");
        let file = json!({
            "attachment_id": id, "key": url["key"], "filename": "receipt.pdf", "content_type": "application/pdf",
        });
        let comment = Call::of(json!({ "body": "Here it is.", "attachments": [file] }));
        let path = format!("/api/v1/tickets/{ticket}/comments");
        let answer = self.nodes.once(&self.api, &Method::POST, &path, &comment).await?;
        (answer.status == 201).then(|| format!("/api/v1/tickets/{ticket}/attachments/{id}"))
    }

    async fn refund(&self, payment: &str, ticket: &str) {
        let body = json!({ "amount": REFUNDED, "reason": "asked for", "ticket_id": ticket });
        let path = format!("/operator/v1/payments/{payment}/refunds");
        let refunded = self.nodes.ask(&self.operator, &Method::POST, &path, &Call::keyed(body)).await.data();
        assert_eq!(refunded["refunded_amount"], REFUNDED);
    }

    /// A page's stream tells the end, from this node or the next.
    async fn watch_a_page(&self) {
        let mut draft = draft::deposit_mxn(HOSTED);
        draft["type"] = json!("deposit_pp");
        let created = self.pay(&draft).await;
        let url = created["payment_page_url"].as_str().expect("a page");
        let (_, token) = url.rsplit_once('/').expect("a token");
        eventually("the stream of a page to end", async || {
            let stream = format!("{}/payment-pages/{token}/events", self.nodes.any().base_url());
            let told = reqwest::get(stream).await.ok()?.text().await.ok()?;
            told.contains("\"status\":\"completed\"").then_some(())
        })
        .await;
    }

    /// A withdrawal that waits is cancelled; who asks again after a lost answer is told that it was.
    async fn change_its_mind(&self) {
        let held = self.pay(&draft::steered(draft::withdrawal_ars(WITHDRAWN), "hold")).await;
        let id = held["transaction_id"].as_str().expect("an id");
        let path = format!("/api/v1/payments/{id}/cancel");
        let cancelled = self.nodes.ask(&self.api, &Method::POST, &path, &Call::default()).await;
        assert!([200, 400].contains(&cancelled.status), "{cancelled}");
        self.until(id, "cancelled").await;
    }

    /// A deposit over the provider, which is credited once it has reported the right amount.
    async fn pay_over_the_bank(&self) {
        let deposit = self.pay(&draft::deposit(CURRENCY, "bank_transfer", BANKED)).await;
        let id = deposit["transaction_id"].as_str().expect("an id");
        self.bank.takes_on(id).await;
        self.bank.report_another_amount(&self.nodes, id).await;
        self.bank.0.settle(id, "completed");
        self.bank.report(&self.nodes, &["payment.completed"], id).await;
        assert_eq!(self.status_of(id).await, "completed", "the report was acknowledged");
    }

    async fn be_paid_by_the_bank(&self, (reports, answer, end): (&[&str], &str, &str)) {
        let mut draft = draft::withdrawal_ars(PAID_OUT);
        draft["currency"] = json!(CURRENCY);
        let payout = self.pay(&draft).await;
        let id = payout["transaction_id"].as_str().expect("an id");
        self.bank.takes_on(id).await;
        self.bank.0.settle(id, answer);
        self.bank.report(&self.nodes, reports, id).await;
        assert_eq!(self.status_of(id).await, end, "the report was acknowledged");
    }

    async fn status_of(&self, id: &str) -> String {
        let path = format!("/api/v1/payments/{id}");
        let payment = self.nodes.ask(&self.api, &Method::GET, &path, &Call::default()).await.data();
        payment["status"].as_str().expect("text").to_owned()
    }
}
