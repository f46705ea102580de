//! What leaves the gateway for others, or comes from them: webhooks, a provider's orders and callbacks, and files.

use quipu_kernel::{Clock as _, SystemClock};
use quipu_signing::WebhookSecret;
use quipu_tests::{
    Behaviour, Gateway, Receiver, draft, eventually, http_client,
    provider::{self, Endpoint, Provider},
};
use serde_json::{Value, json};

use super::{ACCOUNT, ADDRESS_TOKEN, EMAIL, FILE, NAME, PHONE, Planted, SAID};
use crate::access::people::text;

/// Webhooks of a merchant whose receiver takes them, whose receiver answers with what it was told, and where nobody is.
pub(super) async fn use_webhooks(gateway: &Gateway, planted: &mut Planted) {
    let (merchant, receiver) = (gateway.merchant().await, Receiver::start().await);
    let paths = ["/takes", "/refuses"].map(|path| format!("{path}?token={ADDRESS_TOKEN}"));
    let told_back = json!({ "told": [NAME, EMAIL, PHONE, ADDRESS_TOKEN] }).to_string();
    receiver.behave(&paths[1], Behaviour::Answer(500, String::new(), told_back));
    let own = format!("whsec_{}", "UGxhbnRlZCBi".repeat(4));
    let mut made = Vec::new();
    for (url, secret) in [
        (receiver.url(&paths[0]), Value::Null),
        (receiver.url(&paths[1]), json!(own)),
        (format!("http://127.0.0.1:9/nobody?token={ADDRESS_TOKEN}"), Value::Null),
    ] {
        let mut body = json!({ "url": url, "events": ["payment.created"] });
        if secret.is_string() {
            body["secret"] = secret;
        }
        let endpoint = merchant.api.post("/api/v1/webhooks", &body).await.data();
        let secret = text(&endpoint, "secret");
        planted.secret("secret of an endpoint", secret.strip_prefix("whsec_").expect("its prefix"));
        let path = format!("/api/v1/webhooks/{}", text(&endpoint, "id"));
        merchant.api.post(&format!("{path}/test"), &json!({ "event_type": "payment.created" })).await.data();
        made.push(path);
    }
    let customer = json!({ "name": NAME, "email": EMAIL, "phone": PHONE });
    merchant.create(&draft::with(draft::deposit_mxn(7), "/customer", customer)).await;
    for (path, status) in made.iter().zip(["delivered", "failed", "failed"]) {
        eventually(&format!("a delivery to be {status}"), async || {
            let list = merchant.api.get(&format!("{path}/events?status={status}")).await.ok();
            (list["total"] == 1).then_some(())
        })
        .await;
        merchant.api.post(&format!("{path}/retry"), &json!({})).await.data();
    }
    for delivery in paths.iter().flat_map(|path| receiver.deliveries(path)) {
        let signature = delivery.header("webhook-signature");
        planted.secret("signature of a delivery", signature.strip_prefix("v1,").expect("its prefix"));
    }
}

/// A provider that takes payouts on, refuses one, answers with what it was told, and calls back well and badly.
pub(super) async fn use_provider(gateway: &Gateway, provider: &Provider, planted: &mut Planted) {
    let (merchant, anonymous) = (gateway.merchant().await, gateway.anonymous());
    planted.secret("secret of a provider", provider.secret().strip_prefix("whsec_").expect("its prefix"));
    let secret = WebhookSecret::parse(provider.secret()).expect("a secret");
    let rail = provider.rail();
    merchant.edit_routes(|route| route["rail"] = json!(rail)).await;
    merchant.fund("ARS", 10_000).await;
    let customer = json!({ "name": NAME, "email": EMAIL, "phone": PHONE });
    let payout = || {
        let draft = draft::with(draft::withdrawal_ars(300), "/payout/bank_account", json!(ACCOUNT));
        draft::with(draft::with(draft, "/payout/recipient_name", json!(NAME)), "/customer", customer.clone())
    };
    let mut submitted = Vec::new();
    for _ in 0..2 {
        let id = merchant.create(&payout()).await;
        let order = eventually("the provider to take it on", async || provider.order(&id)).await;
        assert_eq!(order.body["payout"]["bank_account"], ACCOUNT);
        submitted.push(id);
    }
    let deposit = merchant.create(&draft::with(draft::deposit_mxn(70), "/customer", customer.clone())).await;
    let failed = draft::with(provider.event("payment.failed", &submitted[0]), "/message", json!(NAME));
    let short = draft::with(provider.event("payment.completed", &deposit), "/amount", json!(69));
    let stranger = draft::with(short.clone(), "/rail_reference", json!(ACCOUNT));
    let unreadable = draft::with(short.clone(), "/amount", json!(EMAIL));
    let stranger = draft::with(stranger, "/id", json!("an event about nobody"));
    for (event, status) in [(&failed, 200), (&short, 200), (&stranger, 200), (&unreadable, 400)] {
        let (body, now) =
            (draft::with(event.clone(), "/customer", customer.clone()).to_string(), SystemClock.now());
        let signature = secret.sign("msg_1", now, body.as_bytes());
        planted.secret("signature of a callback", signature.strip_prefix("v1,").expect("its prefix"));
        let answer = provider.call_back_with(&anonymous, &body, now, &signature).await;
        assert_eq!(answer.status, status, "{answer}");
        let altered = body.replace(NAME, EMAIL);
        provider
            .call_back_with(&anonymous, &altered, now, &signature)
            .await
            .refused(401, "SIGNATURE_INVALID");
    }
    provider.next(Endpoint::Payouts, [provider::Behaviour::Reject]);
    let refused = merchant.create(&payout()).await;
    merchant.wait_for(&refused, "failed").await;
    provider.settle(&submitted[1], EMAIL);
    eventually("an answer that says nothing", async || {
        gateway.log().contains("a provider gave no answer that can be used").then_some(())
    })
    .await;
}

/// A ticket about a customer, with a file that is sent and fetched over signed URLs.
pub(super) async fn use_tickets(gateway: &Gateway, planted: &mut Planted) {
    let (merchant, operator, http) = (gateway.merchant().await, gateway.operator(), http_client());
    let said = format!("{SAID}: {NAME}, {EMAIL}, {PHONE}, {ACCOUNT}");
    let ticket = merchant.api.post("/api/v1/tickets", &json!({ "title": SAID, "description": said })).await;
    let id = text(&ticket.json()["data"], "ticket_id");
    let (path, of_staff) = (format!("/api/v1/tickets/{id}"), format!("/operator/v1/tickets/{id}"));
    operator.post(&format!("{of_staff}/comments"), &json!({ "body": said, "internal": true })).await.data();
    let wish = json!({ "filename": FILE, "content_type": "application/pdf" });
    let upload = merchant.api.post(&format!("{path}/upload-url"), &wish).await.data();
    let url = text(&upload, "upload_url");
    plant_signature(&url, planted);
    let altered = url.replace("expires=", "expires=1");
    for (url, status) in [(altered, 403), (url, 200)] {
        let sending = http.put(&url).header("content-type", "application/pdf").body("%PDF-1.7\n");
        assert_eq!(sending.send().await.expect("an answer").status().as_u16(), status, "{url}");
    }
    let file = json!({
        "attachment_id": upload["attachment_id"], "key": upload["key"], "filename": FILE,
        "content_type": "application/pdf",
    });
    let comment = json!({ "body": said, "attachments": [file] });
    assert_eq!(merchant.api.post(&format!("{path}/comments"), &comment).await.status, 201);
    let attachment = format!("/attachments/{}", text(&upload, "attachment_id"));
    for links in [
        merchant.api.get(&format!("{path}{attachment}")).await.data(),
        operator.get(&format!("{of_staff}{attachment}")).await.data(),
    ] {
        let url = text(&links, "download_url");
        plant_signature(&url, planted);
        assert_eq!(http.get(&url).send().await.expect("an answer").status().as_u16(), 200);
    }
    merchant.api.get(&format!("/api/v1/tickets?search={EMAIL}")).await;
}

/// What opens a signed URL.
fn plant_signature(url: &str, planted: &mut Planted) {
    let (_, query) = url.split_once('?').expect("a query");
    let signature = query.split('&').find_map(|part| part.strip_prefix("signature="));
    planted.secret("signature of a URL", signature.expect("a signature"));
}
