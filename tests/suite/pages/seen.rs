//! What a payer sees, and who may see it.

use quipu_tests::{
    Client, Database, Gateway, Merchant, Setup, draft, draft::with, eventually, on_both_databases,
};
use serde_json::{Value, json};

use super::{hosted, page_in, path_of};

on_both_databases!(
    a_hosted_deposit_has_a_page_that_says_how_to_pay,
    a_payment_without_a_page_has_no_address,
    a_page_leads_on_after_success_even_if_part_of_it_was_refunded,
    nobody_finds_a_page_without_its_token,
);

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

async fn a_page_leads_on_after_success_even_if_part_of_it_was_refunded(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, visitor) = (gateway.merchant().await, gateway.anonymous());
    let (done, cart) = ("https://shop.example/done", "https://shop.example/cart");
    let draft = with(draft::deposit_mxn(1_000), "/type", json!("deposit_pp"));
    let urls = json!({ "success_url": done, "cancel_url": cart });
    let created = merchant.api.create(&with(draft, "/return_urls", urls)).await.ok();
    let id = created["transaction_id"].as_str().expect("an id");
    merchant.wait_for(id, "completed").await;
    for (refunded, status, leads_to, not_to) in
        [(0, "completed", done, cart), (400, "partial_refund", done, cart), (600, "refunded", cart, done)]
    {
        if refunded > 0 {
            let refunds = format!("/operator/v1/payments/{id}/refunds");
            gateway.operator().post(&refunds, &json!({ "amount": refunded })).await.ok();
        }
        assert_eq!(merchant.api.payment(id).await["status"], status);
        let page = visitor.get(&path_of(&created)).await.text;
        assert!(page.contains(leads_to) && !page.contains(not_to), "{status} leads elsewhere");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_is_written_in_the_readers_language() {
    let gateway = Gateway::start(Database::Sqlite).await;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_loads_and_runs_on_a_page_is_bounded_by_its_headers() {
    let gateway = Gateway::start(Database::Sqlite).await;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_creation_answers_the_same_address_and_keeps_none() {
    let gateway = Gateway::start(Database::Sqlite).await;
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
        let bytes = if file.is_file() { std::fs::read(&file).expect("readable") } else { Vec::new() };
        assert!(
            !bytes.windows(token.len()).any(|window| window == token),
            "{} has the token",
            file.display()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_limited_by_address() {
    let gateway = Setup::new(Database::Sqlite).set("LIMITS__PAGES_PER_MINUTE", "5").start().await;
    let (merchant, visitor): (Merchant, Client) = (gateway.merchant().await, gateway.anonymous());
    let path = path_of(&merchant.api.create(&hosted("MXN", "spei")).await.ok());
    let mut statuses = Vec::new();
    for _ in 0..6 {
        statuses.push(visitor.get(&path).await.status);
    }
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429]);
    let page = visitor.get(&format!("{path}?lang=es")).await;
    assert!(page.status == 429 && page.text.contains("Demasiadas solicitudes"), "{}", page.text);
    assert!(page.header("retry-after").is_some());
    let refused = visitor.get(&format!("{path}/details")).await;
    refused.refused(429, "RATE_LIMITED");
    assert!(refused.header("retry-after").is_some());
    // Files at signed URLs are counted together with pages.
    visitor.get("/files/test/1/x/y").await.refused(429, "RATE_LIMITED");
    let created = merchant.api.create(&draft::deposit_mxn(1_000)).await;
    created.ok();
    eventually("an answer beside the limit", || async {
        (visitor.get("/healthz").await.status == 200).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_front_page_leads_on() {
    let gateway = Gateway::start(Database::Sqlite).await;
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
