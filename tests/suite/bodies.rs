//! What the documents say of a body, and what is read, are the same. Bodies are made from the schemas, right
//! ones and ones with faults. What its schema does not allow is refused as invalid; what it allows is not,
//! but for rules that no schema can say.

use quipu_tests::{
    Client, Database, DocumentedBody, Gateway, Maker, draft, effort, eventually, faults_of_examples,
};
use serde_json::{Value, json};

/// How many bodies are tried of each operation.
const TRIED: usize = 60;

/// Rules that a schema cannot say, by the words with which their breach is told.
const BEYOND_SCHEMAS: &[&str] = &[
    // What goes together, and what follows from something else in the body.
    "for method",
    "with method",
    "a partner destination",
    "partnerDestination",
    "on a deposit",
    "for a withdrawal",
    "must name its recipient",
    "must have an email or a phone",
    "must have a name, an email or a phone",
    "must not be below min_amount",
    "that can bear the fee",
    "which method",
    "is only for",
    "must be deposit for redirectpay",
    "repeats that of another route",
    "is required on the manual rail",
    "must not be simulator in live",
    "is named twice",
    "swift is required",
    "beneficiaryBank is required",
    "address is required",
    // What must exist.
    "names no customer",
    "names no saved beneficiary",
    "must name one of your payments",
    "is not a configured rail",
    "must name an upload of this ticket",
    "has not been uploaded",
    // What a text means beyond its letters.
    "must be an e-mail address",
    "must contain digits",
    "must be letters, digits, dots and hyphens",
    "must be 10 to 18 digits",
    "must be 11 digits",
    "must be a telephone number",
    "must be a decimal string from 1 to 2147483647",
    "must not carry a user name or password",
    "must be an https URL in the live environment",
    "must be whsec_ and base64",
    "must be base64",
    "must be a PNG or WebP picture",
    "must be the name of a file, without a path",
    "must be an ISO 8601",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_is_read_as_its_schema_says() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let scene = Scene::set(&gateway).await;
    let seed = std::env::var("QUIPU_SEED").map_or(1, |text| text.parse().expect("QUIPU_SEED is a number"));
    let mut maker = Maker::new(seed);
    let mut differing = Vec::new();
    // What providers send is signed by them: see `money::callbacks`.
    for of in DocumentedBody::all().into_iter().filter(|of| !of.path.contains("/providers/")) {
        let target = scene.target(&of);
        let mut faults = 0;
        for _ in 0..TRIED * effort() {
            let body = maker.body(&of);
            let judged = of.judge(&body);
            let sent = Some(body.to_string().into_bytes());
            let answer = scene.caller(&of).send(of.method.clone(), &target, sent, &[]).await;
            let said = answer.json();
            let refused = said["error_code"] == "VALIDATION_FAILED";
            let only_beyond = || messages(&said).iter().all(|message| is_beyond(message));
            let differs = match &judged {
                Ok(()) => refused && !only_beyond(),
                Err(_) => !refused,
            };
            if differs && faults < 3 {
                faults += 1;
                differing.push(format!(
                    "{} {}\n  sent {body}\n  schema {judged:?}\n  came {answer}",
                    of.method, of.path
                ));
            }
        }
    }
    assert!(differing.is_empty(), "seed {seed}: {}\n{}", differing.len(), differing.join("\n"));
}

#[test]
fn every_body_has_an_example_that_fits() {
    let faults = faults_of_examples();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn is_beyond(message: &str) -> bool {
    // Which members of a payout are needed follows from method and currency.
    let is_needed = message.starts_with("payout.") && message.ends_with(" is required");
    is_needed || BEYOND_SCHEMAS.iter().any(|words| message.contains(words))
}

fn messages(answer: &Value) -> Vec<String> {
    match (&answer["message"], &answer["error"]) {
        (Value::Array(all), _) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        // Of a ticket they stand in one text.
        (_, Value::String(text)) => text.split("; ").map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// Something for each body to be about.
struct Scene {
    api: Client,
    operator: Client,
    signing: Client,
    payment: String,
    ticket: String,
    webhook: String,
    receipt: String,
    /// Merchants whom the operator's calls change.
    others: Vec<(String, i64)>,
}

impl Scene {
    async fn set(gateway: &Gateway) -> Self {
        let (merchant, operator) = (gateway.merchant().await, gateway.operator());
        merchant.fund("ARS", 1_000_000).await;
        let steered = |name| draft::steered(draft::deposit_mxn(100), name);
        let payment = merchant.create(&steered("stay")).await;
        merchant.create(&steered("short")).await;
        let receipt = eventually("a receipt to be parked", async || {
            let listed = operator.get("/operator/v1/receipts?status=parked").await.ok();
            listed["data"][0]["receipt_id"].as_str().map(str::to_owned)
        })
        .await;
        let ticket = merchant.api.post("/api/v1/tickets", &json!({ "title": "A ticket" })).await.json();
        let ticket = ticket["data"]["ticket_id"].as_str().expect("an identifier").to_owned();
        // Nobody listens there, and that is known at once.
        let webhook =
            merchant.api.post("/api/v1/webhooks", &json!({ "url": "http://127.0.0.1:9/" })).await.data();
        let webhook = webhook["id"].as_str().expect("an identifier").to_owned();
        let mut others = Vec::new();
        for of in DocumentedBody::all().iter().filter(|of| of.path.starts_with("/operator/v1/merchants/{id}"))
        {
            others.push((of.path.clone(), gateway.merchant().await.id));
        }
        // What differs is collected here, all of it.
        let caller = Client::undocumented(merchant.api.base_url());
        let key = merchant.issue(&json!({})).await["key"].as_str().expect("the key, once").to_owned();
        let (api, operator) =
            (caller.with_api_key(&key), caller.with_bearer(&gateway.credential("/operator_token")));
        let secret = gateway.credential("/v2/hmac_secret");
        let signing = caller.with_hmac(&gateway.credential("/v2/merchant_id"), &secret);
        Self { api, operator, signing, payment, ticket, webhook, receipt, others }
    }

    fn caller(&self, of: &DocumentedBody) -> &Client {
        match of.path.as_str() {
            path if path.starts_with("/operator/") => &self.operator,
            path if path.starts_with("/api/v2/") => &self.signing,
            _ => &self.api,
        }
    }

    fn target(&self, of: &DocumentedBody) -> String {
        let other = self.others.iter().find(|(path, _)| *path == of.path).map(|(_, id)| id.to_string());
        let named = [
            ("/api/v1/payments/{id}", &self.payment),
            ("/api/v1/tickets/{id}", &self.ticket),
            ("/api/v1/webhooks/{id}", &self.webhook),
            ("/operator/v1/tickets/{id}", &self.ticket),
            ("/operator/v1/payments/{payment_id}", &self.payment),
            ("/operator/v1/receipts/{receipt_id}", &self.receipt),
        ];
        let found = named.iter().find(|(prefix, _)| of.path.starts_with(prefix)).map(|(_, id)| (*id).clone());
        let segments = of.path.split('/').map(|segment| {
            let id = other.as_ref().or(found.as_ref());
            if segment.starts_with('{') { id.expect("every path is about something here") } else { segment }
        });
        segments.collect::<Vec<_>>().join("/")
    }
}
