//! What the documents say of a body, and what is read, are the same. Bodies are made from the schemas, right
//! ones and ones with faults. What its schema does not allow is refused as invalid; what it allows is not,
//! but for rules that no schema can say.

use quipu_tests::{
    Client, Database, DocumentedBody, Gateway, Maker, draft, effort, eventually, faults_of_examples,
};
use serde_json::{Value, json};

/// How many bodies are tried of each operation.
const TRIED: usize = 60;

/// Rules that a schema cannot say, in the whole words with which their breach is told behind the path of the member.
/// A star stands for what differs from one breach to the next.
const BEYOND_SCHEMAS: &[&str] = &[
    // What goes together, and what follows from something else in the body.
    "must be MXN for method spei",
    "must be AUD for method payid",
    "must be LKR for method redirectpay",
    "must be one of ARS, UYU, AUD for method bank_transfer without a partner destination",
    "must be bank_transfer for a partner destination",
    "must be deposit or deposit_pp for method redirectpay",
    "must be deposit for redirectpay",
    "must not be sent with method payid",
    "is only for method payid",
    "is only for method redirectpay",
    "is only for withdrawals by bank_transfer",
    "is only for status resolved, closed or canceled",
    "must not be sent on a deposit",
    "must not be combined with partnerDestination",
    "is required for a withdrawal",
    "must name its recipient",
    "must have an email or a phone",
    "must have a name, an email or a phone",
    "must not be below min_amount",
    "must leave an amount from min_amount to max_amount that can bear the fee",
    "must not have *, which method * refuses",
    "must not have *, which a partner destination may not have",
    "repeats that of another route (environment, currency, method, direction, partner)",
    "is required on the manual rail",
    "must not be simulator in live",
    "is named twice",
    // What must exist.
    "names no customer",
    "names no saved beneficiary",
    "must name one of your payments",
    "is not a configured rail",
    "must name an upload of this ticket that no comment has used",
    "has not been uploaded",
    // What a text means beyond its letters.
    "must be an e-mail address",
    "must contain digits",
    "must be letters, digits, dots and hyphens",
    "must be 10 to 18 digits (a CLABE has 18)",
    "must be 11 digits",
    "must be a telephone number of 8 to 15 digits",
    "must be a decimal string from 1 to 2147483647",
    "must not carry a user name or password",
    "must be an https URL in the live environment",
    "must be whsec_ and base64 of 24 to 64 bytes",
    "must be base64",
    "must be a PNG or WebP picture",
    "must be the name of a file, without a path",
    "must be an ISO 8601 date or instant",
    "must be an ISO 8601 instant in the future",
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
            let messages = messages(&said);
            let only_beyond = !messages.is_empty() && messages.iter().all(|message| is_beyond(message));
            let differs = match &judged {
                Ok(()) => refused && !only_beyond,
                Err(_) => !refused,
            };
            if (differs || answer.status >= 500) && faults < 3 {
                faults += 1;
                differing.push(format!(
                    "{} {}\n  sent {body}\n  schema {judged:?}\n  came {answer}",
                    of.method, of.path
                ));
            }
        }
    }
    gateway.assert_no_panic();
    assert!(differing.is_empty(), "seed {seed}: {}\n{}", differing.len(), differing.join("\n"));
}

#[test]
fn every_body_has_an_example_that_fits() {
    let faults = faults_of_examples();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn is_beyond(message: &str) -> bool {
    let Some((path, told)) = message.split_once(' ') else { return false };
    // Which members a payout and a beneficiary need, and which an account has, follows from method, currency and kind.
    let of_kind = ["swift", "beneficiaryBank", "address"].contains(&path) || path.starts_with("payout.");
    let is_needed = of_kind && told == "is required";
    let is_unknown = path.contains(".instructions.") && told == "is not a known member";
    is_needed || is_unknown || BEYOND_SCHEMAS.iter().any(|words| is_said(words, told))
}

/// Whether a sentence is these words, with anything where they have a star.
fn is_said(words: &str, told: &str) -> bool {
    let Some((begin, rest)) = words.split_once('*') else { return told == words };
    let Some(rest_told) = told.strip_prefix(begin) else { return false };
    rest_told.char_indices().any(|(at, _)| is_said(rest, &rest_told[at..]))
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
