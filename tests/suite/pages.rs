//! Hosted pages: what a payer and a recipient see, and who may see it.

use quipu_tests::{
    Answer, Client, Database, Gateway, Merchant, Setup, draft,
    draft::{steered, with, without},
    eventually, on_both_databases,
};
use reqwest::Method;
use serde_json::{Value, json};

on_both_databases!(
    a_hosted_deposit_has_a_page_that_says_how_to_pay,
    a_payment_without_a_page_has_no_address,
    the_page_is_written_in_the_readers_language,
    what_loads_and_runs_on_a_page_is_bounded_by_its_headers,
    nobody_finds_a_page_without_its_token,
    a_repeated_creation_answers_the_same_address_and_keeps_none,
    watchers_hear_of_every_change_and_the_stream_ends_with_the_payment,
    the_stream_ends_when_the_process_stops,
    a_recipient_is_taken_once_and_judged_as_in_a_request,
    of_two_recipients_at_once_one_is_taken,
    an_unfilled_withdrawal_expires_after_72_hours,
    the_schemes_page_decides_test_payments,
    a_merchants_page_shows_its_name_colour_and_logo,
    pages_are_limited_by_address,
    the_front_page_leads_on,
);

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

async fn a_hosted_deposit_has_a_page_that_says_how_to_pay(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, visitor) = (gateway.merchant().await, gateway.anonymous());
    let urls =
        json!({ "success_url": "https://shop.example/done", "cancel_url": "https://shop.example/cart" });
    let created = merchant.api.create(&with(hosted("MXN", "spei"), "/return_urls", urls.clone())).await.ok();
    let (path, id) = (path_of(&created), created["transaction_id"].as_str().expect("an id"));
    let page = visitor.get(&path).await;
    assert_eq!(page.status, 200, "{page}");
    let clabe = created["bank_details"]["account_number"].as_str().expect("a CLABE");
    for shown in ["$1,234.56", "MXN", id, &format!("data-copy=\"{clabe}\""), "https://shop.example/cart"] {
        assert!(page.text.contains(shown), "the page lacks {shown}");
    }
    let details = visitor.get(&format!("{path}/details")).await.ok();
    assert_eq!(details["return_urls"], urls);
    for member in
        ["transaction_id", "status", "amount", "currency", "method", "type", "bank_details", "expires_at"]
    {
        assert_eq!(details[member], created[member], "{member}");
        assert_eq!(details["data"][member], created[member], "data.{member}");
    }
    assert!(details["server_time"].is_string(), "{details}");
    assert_eq!(details["locale"], "en");
    for private in ["fee", "customer", "customer_id", "note", "external_id"] {
        assert_eq!(details[private], Value::Null, "{private} is the merchant's alone");
    }
    let record = merchant.api.payment(id).await;
    assert_eq!(record["payment_page_url"], created["payment_page_url"]);
    let listed = merchant.api.get("/api/v1/payments").await.data();
    assert_eq!(listed[0]["payment_page_url"], created["payment_page_url"]);
}

async fn a_payment_without_a_page_has_no_address(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let created = merchant.api.create(&draft::deposit_mxn(1_000)).await.ok();
    assert_eq!(created.get("payment_page_url"), None, "{created}");
}

async fn the_page_is_written_in_the_readers_language(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, visitor) = (gateway.merchant().await, gateway.anonymous());
    let path = path_of(&merchant.api.create(&hosted("MXN", "spei")).await.ok());
    for (language, words) in [
        ("en", "How to pay"),
        ("es", "Cómo pagar"),
        ("tr", "Nasıl ödenir"),
        ("si", "ගෙවන ආකාරය"),
        ("ka", "როგორ გადავიხადოთ"),
        ("pt", "Como pagar"),
    ] {
        let by_header = page_in(&visitor, &path, &format!("{language};q=0.9, xx")).await;
        let by_query = page_in(&visitor, &format!("{path}?lang={language}"), "de").await;
        for page in [by_header, by_query] {
            assert!(page.text.contains(&format!("<html lang=\"{language}\">")), "{language}");
            assert!(page.text.contains(words), "{language}");
        }
        let details = visitor.get(&format!("{path}/details?lang={language}")).await.ok();
        assert_eq!(details["locale"], language);
    }
    assert!(page_in(&visitor, &path, "de").await.text.contains("How to pay"), "English for everybody else");
}

async fn what_loads_and_runs_on_a_page_is_bounded_by_its_headers(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, visitor) = (gateway.merchant().await, gateway.anonymous());
    let hostile = r#"</p><script>alert(1)</script><img src=x onerror="alert(1)">"#;
    let draft = with(hosted("TRY", "crypto"), "/description", json!(hostile));
    merchant.add_routes([crypto_route()]).await;
    let page = visitor.get(&path_of(&merchant.api.create(&draft).await.ok())).await;
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(
        policy.starts_with("default-src 'none';") && policy.contains("frame-ancestors 'none'"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    let headers = ["cache-control", "x-robots-tag", "referrer-policy", "x-content-type-options"];
    let values = headers.map(|name| page.header(name).unwrap_or("none"));
    assert_eq!(values, ["no-store", "noindex", "no-referrer", "nosniff"]);
    assert!(!page.text.contains("<script>") && !page.text.contains("<img src=x"), "{page}");
    assert!(!page.text.contains(" style=") && !page.text.contains(" onclick="), "nothing runs inline");
    let mut bytes = page.text.len();
    for rest in page.text.split("\"/assets/").skip(1) {
        let name = rest.split('"').next().expect("a name");
        let file = visitor.get(&format!("/assets/{name}")).await;
        assert_eq!(file.status, 200, "{name}");
        assert!(file.header("cache-control").is_some_and(|it| it.contains("immutable")), "{name}");
        bytes += file.text.len();
    }
    assert!(bytes < 40 * 1024, "the first load is {bytes} bytes");
    assert!(page.text.contains("class=\"qr\""), "a cryptocurrency's address has a code to scan");
}

fn crypto_route() -> Value {
    json!({ "environment": "test", "currency": "TRY", "method": "crypto", "direction": "deposit", "rail": "simulator" })
}

async fn nobody_finds_a_page_without_its_token(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, visitor) = (gateway.merchant().await, gateway.anonymous());
    let created = merchant.api.create(&hosted("MXN", "spei")).await.ok();
    let path = path_of(&created);
    let token = path.rsplit('/').next().expect("a token");
    assert!(token.len() >= 27, "160 bits");
    let last = if token.ends_with('A') { "B" } else { "A" };
    let other = format!("{}{last}", &token[..token.len() - 1]);
    let id = created["transaction_id"].as_str().expect("an id");
    for wrong in [other.as_str(), id, "x", "%00", &"A".repeat(27), &"A".repeat(4000)] {
        let page = page_in(&visitor, &format!("/payment-pages/{wrong}"), "es").await;
        assert_eq!(page.status, 404, "{wrong}");
        let details = visitor.get(&format!("/payment-pages/{wrong}/details")).await;
        details.refused(404, "PAGE_NOT_FOUND");
        assert_eq!(visitor.get(&format!("/payment-pages/{wrong}/events")).await.status, 404);
    }
    assert!(!gateway.log().contains(token), "no log line has the token");
}

async fn a_repeated_creation_answers_the_same_address_and_keeps_none(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let draft = hosted("MXN", "spei");
    let send = || merchant.api.post_with("/api/v1/payments", &draft, &[("idempotency-key", "page-1")]);
    let (first, again) = (send().await, send().await);
    assert_eq!(first.text, again.text);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    let path = path_of(&first.ok());
    let token = path.rsplit('/').next().expect("a token").as_bytes();
    for file in std::fs::read_dir(gateway.data_folder()).expect("a folder") {
        let file = file.expect("a file").path();
        // Empty on PostgreSQL, but for the demo's own files.
        let bytes = if file.is_file() { std::fs::read(&file).expect("readable") } else { Vec::new() };
        assert!(
            !bytes.windows(token.len()).any(|window| window == token),
            "{} has the token",
            file.display()
        );
    }
}

/// The events of a stream as they come: each `id` with its data.
struct Stream {
    response: reqwest::Response,
    text: String,
}

impl Stream {
    async fn open(client: &Client, path: &str) -> Self {
        let http = reqwest::Client::builder().no_proxy().build().expect("an HTTP client");
        let url = format!("{}{path}/events", client.base_url());
        let response = http.get(url).send().await.expect("an answer");
        assert_eq!(response.status(), 200);
        let kind = response.headers()["content-type"].to_str().expect("ASCII").to_owned();
        assert!(kind.starts_with("text/event-stream"), "{kind}");
        Self { response, text: String::new() }
    }

    /// The next event; `None` at the end of the stream.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                let field =
                    |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
                if let (Some(id), Some(data)) = (field("id:"), field("data:")) {
                    return Some((id.to_owned(), serde_json::from_str(data).expect("JSON")));
                }
                continue;
            }
            let piece = self.response.chunk().await.ok().flatten()?;
            self.text.push_str(std::str::from_utf8(&piece).expect("UTF-8"));
        }
    }
}

async fn watchers_hear_of_every_change_and_the_stream_ends_with_the_payment(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, visitor) = (gateway.merchant().await, gateway.anonymous());
    let created = merchant.api.create(&hosted("LKR", "redirectpay")).await.ok();
    let path = path_of(&created);
    let (mut one, mut other) = (Stream::open(&visitor, &path).await, Stream::open(&visitor, &path).await);
    for stream in [&mut one, &mut other] {
        let (id, snapshot) = stream.next().await.expect("how it stands");
        assert_eq!((id.as_str(), &snapshot["status"]), ("1", &json!("processing")));
        assert_eq!(snapshot["redirect_url"], created["redirect_url"]);
    }
    approve(&visitor, &created, "approve").await;
    for stream in [&mut one, &mut other] {
        let (id, snapshot) = stream.next().await.expect("the change");
        assert_eq!((id.as_str(), &snapshot["status"]), ("2", &json!("completed")));
        assert!(stream.next().await.is_none(), "nothing more will change");
    }
    let mut late = Stream::open(&visitor, &path).await;
    assert_eq!(late.next().await.expect("how it stands").1["status"], "completed");
    assert!(late.next().await.is_none());
}

async fn the_stream_ends_when_the_process_stops(database: Database) {
    let mut gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let path = path_of(&merchant.api.create(&hosted("MXN", "spei")).await.ok());
    let mut stream = Stream::open(&gateway.anonymous(), &path).await;
    stream.next().await.expect("how it stands");
    let (status, end) = tokio::join!(gateway.terminate(), stream.next());
    assert_eq!((status, end), (Some(0), None));
}

async fn approve(visitor: &Client, created: &Value, decision: &str) {
    let url = created["redirect_url"].as_str().expect("a redirect");
    let (_, path) = url.split_once("/simulated-scheme/").expect("the simulated scheme");
    let path = format!("/simulated-scheme/{path}");
    let shown = visitor.get(&path).await;
    assert!(shown.status == 200 && shown.text.contains("value=\"approve\""), "{shown}");
    let decided = send_form(visitor, &path, &format!("decision={decision}")).await;
    assert!(decided.status < 400, "{decided}");
}

async fn a_recipient_is_taken_once_and_judged_as_in_a_request(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, visitor) = (gateway.merchant().await, gateway.anonymous());
    merchant.fund("AUD", 1_000).await;
    let created = merchant.api.create(&unfilled("AUD", "bank_transfer")).await.ok();
    assert_eq!((&created["status"], &created["payout"]), (&json!("pending"), &Value::Null));
    let (path, id) = (path_of(&created), created["transaction_id"].as_str().expect("an id"));
    let page = visitor.get(&path).await;
    for field in ["name=\"bsb\"", "name=\"bank_account\""] {
        assert!(page.text.contains(field), "{field}");
    }
    assert!(!page.text.contains("name=\"payid\""), "only what the route needs");
    let details = visitor.get(&format!("{path}/details")).await.ok();
    assert_eq!(details["recipient_required"], true);
    let form = format!("{path}/recipient");
    send_form(&visitor, &form, "bsb=12&bank_account=123456789").await.invalid("payout.bsb");
    send_form(&visitor, &form, "bsb=062000").await.invalid("payout.bank_account");
    send_form(&visitor, &form, "bsb=062000&bank_account=1&iban=x").await.invalid("payout.iban");
    let as_browser = [("content-type", "application/x-www-form-urlencoded"), ("accept", "text/html")];
    let wrong = visitor.send(Method::POST, &form, Some(b"bsb=12".to_vec()), &as_browser).await;
    assert!(wrong.status == 400 && wrong.text.contains("value=\"12\""), "the form comes back: {wrong}");
    assert_eq!(merchant.api.payment(id).await["status_version"], 1);
    let taken = send_form(&visitor, &form, "recipient_name=Ana&bsb=062000&bank_account=123456789").await;
    assert!(taken.status < 400, "{taken}");
    send_form(&visitor, &form, "bsb=062000&bank_account=987654321")
        .await
        .refused(400, "PAYMENT_ALREADY_PROCESSED");
    let record = merchant.wait_for(id, "completed").await;
    assert_eq!(
        record["payout"],
        json!({ "recipient_name": "Ana", "bsb": "062000", "bank_account": "123456789" })
    );
    let page = visitor.get(&path).await;
    assert!(page.text.contains("6789") && !page.text.contains("123456789"), "the account is masked");
    gateway.check();
}

async fn of_two_recipients_at_once_one_is_taken(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, visitor) = (gateway.merchant().await, gateway.anonymous());
    merchant.fund("ARS", 1_000).await;
    let draft = steered(unfilled("ARS", "bank_transfer"), "hold");
    let form = format!("{}/recipient", path_of(&merchant.api.create(&draft).await.ok()));
    let (one, other) = tokio::join!(
        send_form(&visitor, &form, "recipient_name=One&bank_account=alias.one"),
        send_form(&visitor, &form, "recipient_name=Other&bank_account=alias.other"),
    );
    let taken = [&one, &other].iter().filter(|answer| answer.status < 400).count();
    assert_eq!(taken, 1, "{one}\n{other}");
}

async fn an_unfilled_withdrawal_expires_after_72_hours(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("MXN", 2_000).await;
    let created = merchant.api.create(&unfilled("MXN", "spei")).await.ok();
    let millis = |member: &str| quipu_kernel::Timestamp::parse(created[member].as_str().expect("an instant"));
    let (made, end) = (millis("created_at").expect("an instant"), millis("expires_at").expect("an instant"));
    assert_eq!(end.since(made), std::time::Duration::from_hours(72));
    let draft = steered(unfilled("MXN", "spei"), "expire");
    let expiring = merchant.api.create(&draft).await.ok();
    let id = expiring["transaction_id"].as_str().expect("an id");
    let record = merchant.wait_for(id, "expired").await;
    assert_eq!(record["failure"]["code"], "EXPIRED");
    let form = format!("{}/recipient", path_of(&expiring));
    let late = send_form(&gateway.anonymous(), &form, "bank_account=032180000118359719").await;
    late.refused(400, "PAYMENT_ALREADY_PROCESSED");
    gateway.check();
}

async fn the_schemes_page_decides_test_payments(database: Database) {
    // The simulator would settle by itself after its delay, unless the payer decides first.
    let gateway = Setup::new(database).set("SIMULATOR__DELAY", "30m").start().await;
    let (merchant, visitor) = (gateway.merchant().await, gateway.anonymous());
    let create = || async { merchant.api.create(&draft::deposit("LKR", "redirectpay", 1_000)).await.ok() };
    for (decision, status) in [("approve", "completed"), ("decline", "failed"), ("leave", "processing")] {
        let created = create().await;
        approve(&visitor, &created, decision).await;
        let id = created["transaction_id"].as_str().expect("an id");
        assert_eq!(merchant.api.payment(id).await["status"], status, "{decision}");
    }
    let created = create().await;
    approve(&visitor, &created, "decline").await;
    let url = created["redirect_url"].as_str().expect("a redirect");
    let path = format!("/simulated-scheme/{}", url.rsplit('/').next().expect("an id"));
    let again = send_form(&visitor, &path, "decision=approve").await;
    assert!(again.status < 400, "{again}");
    let id = created["transaction_id"].as_str().expect("an id");
    assert_eq!(merchant.api.payment(id).await["status"], "failed", "what was decided stays");
    send_form(&visitor, &path, "decision=maybe").await.invalid_page();
    assert_eq!(visitor.get("/simulated-scheme/pay_1763683200000_abcdefghjkmn").await.status, 404);
    gateway.check();
}

/// What a page family answers to a bad form.
trait InvalidPage {
    fn invalid_page(&self);
}

impl InvalidPage for Answer {
    fn invalid_page(&self) {
        assert_eq!(self.status, 400, "{self}");
    }
}

async fn a_merchants_page_shows_its_name_colour_and_logo(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, visitor, operator) = (gateway.merchant().await, gateway.anonymous(), gateway.operator());
    let settings = format!("/operator/v1/merchants/{}/page", merchant.id);
    let page = json!({ "name": "Café <Aurora>", "accent": "#B4232F", "logo": PIXEL });
    let set = operator.put(&settings, &page).await.data();
    assert_eq!((&set["name"], &set["accent"]), (&json!("Café <Aurora>"), &json!("#b4232f")));
    assert_eq!(operator.get(&settings).await.data(), set);
    let path = path_of(&merchant.api.create(&hosted("MXN", "spei")).await.ok());
    let shown = visitor.get(&path).await.text;
    assert!(shown.contains("Café &#60;Aurora&#62;") && shown.contains("accent-b4232f.css"), "{shown}");
    let logo = shown.split("src=\"/logos/").nth(1).and_then(|rest| rest.split('"').next()).expect("a logo");
    let http = reqwest::Client::builder().no_proxy().build().expect("an HTTP client");
    let served = http.get(format!("{}/logos/{logo}", visitor.base_url())).send().await.expect("an answer");
    assert_eq!(
        (served.status().as_u16(), &served.headers()["content-type"]),
        (200, &"image/png".parse().expect("a type"))
    );
    let audit = operator.get("/operator/v1/audit-log").await.data();
    assert_eq!(audit[0]["action"], "merchant.page", "{audit}");
    for (member, value) in [
        ("accent", json!("red")),
        ("accent", json!(7)),
        ("name", json!(" ")),
        ("logo", json!("no base64!")),
        ("logo", json!("R0lGODlhAQABAAAAACw=")),
        ("logo", json!("A".repeat(90_000))),
    ] {
        operator.put(&settings, &json!({ member: value })).await.invalid(member);
    }
    operator.delete(&settings).await.data();
    let plain = visitor.get(&path).await.text;
    assert!(!plain.contains("Aurora") && !plain.contains("/logos/"), "{plain}");
    assert_eq!(visitor.get(&format!("/logos/{logo}")).await.status, 404);
    operator.get("/operator/v1/merchants/999999999/page").await.refused(404, "MERCHANT_NOT_FOUND");
}

/// A picture of one pixel.
pub(crate) const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

async fn pages_are_limited_by_address(database: Database) {
    let gateway = Setup::new(database).set("LIMITS__PAGES_PER_MINUTE", "5").start().await;
    let (merchant, visitor): (Merchant, Client) = (gateway.merchant().await, gateway.anonymous());
    let path = path_of(&merchant.api.create(&hosted("MXN", "spei")).await.ok());
    let mut statuses = Vec::new();
    for _ in 0..6 {
        statuses.push(visitor.get(&path).await.status);
    }
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429]);
    let refused = visitor.get(&format!("{path}/details")).await;
    refused.refused(429, "RATE_LIMITED");
    assert!(refused.header("retry-after").is_some());
    let created = merchant.api.create(&draft::deposit_mxn(1_000)).await;
    created.ok();
    eventually("an answer beside the limit", || async {
        (visitor.get("/healthz").await.status == 200).then_some(())
    })
    .await;
}

async fn the_front_page_leads_on(database: Database) {
    let gateway = Gateway::start(database).await;
    let page = gateway.anonymous().get("/").await;
    assert_eq!(page.status, 200);
    for link in ["/api/v1/docs", "/api/v1/openapi.json", "/payment-pages/"] {
        assert!(page.text.contains(link), "{link}");
    }
    let guides: Vec<_> = page
        .text
        .split("href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .filter(|link| link.contains("/guides/"))
        .collect();
    assert!(guides.len() >= 8, "{guides:?}");
    for guide in guides {
        let (_, name) = guide.split_once("/guides/").expect("a guide");
        let shown = gateway.anonymous().get(&format!("/guides/{name}")).await;
        assert_eq!(shown.status, 200, "{shown}");
        assert!(
            shown.text.contains("<h1 id=") && shown.header("content-security-policy").is_some(),
            "{shown}"
        );
    }
    assert_eq!(gateway.anonymous().get("/guides/operations").await.status, 404);
    let printed = eventually("the printed lines", || async {
        Some(gateway.stdout()).filter(|printed| printed.contains("Hosted page"))
    })
    .await;
    let url =
        printed.lines().find_map(|line| line.trim().strip_prefix("Hosted page")).expect("a link").trim();
    let (_, path) = url.split_once("/payment-pages/").expect("an address of a page");
    assert_eq!(gateway.anonymous().get(&format!("/payment-pages/{path}")).await.status, 200);
}
