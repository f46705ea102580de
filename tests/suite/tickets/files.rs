//! Files on their way in and out.

use quipu_tests::{Client, Database, Gateway, Setup, draft, eventually, on_both_databases};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::desk::{
    PIXEL, comment_with, created, fetch, invalid, named, path, plain, put, refused, sent, staff_path,
    upload_url,
};

on_both_databases!(
    a_file_goes_all_the_way,
    an_attachment_is_found_where_it_belongs,
    files_in_a_bucket_go_all_the_way,
    links_begin_with_the_configured_addresses,
);

async fn a_file_goes_all_the_way(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = plain(&merchant.api).await;
    let url = upload_url(&merchant.api, &id, "a.png", "image/png").await;
    assert_eq!(url["expires_in"], 600);
    assert!(url["upload_url"].as_str().is_some_and(|url| url.starts_with(gateway.anonymous().base_url())));
    for member in ["attachment_id", "key"] {
        assert!(url[member].is_string(), "{url}");
    }
    let (status, body) = put(&url["upload_url"], "image/png", PIXEL).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let attachment = named(&url, "Ñandú \"1\".png", "image/png");
    let comment = created(&comment_with(&merchant.api, &id, &[attachment]).await);
    let expected = json!([{
        "id": url["attachment_id"], "name": "Ñandú \"1\".png", "type": "image/png", "size": PIXEL.len(),
    }]);
    assert_eq!(comment["attachments"], expected);
    assert_eq!(merchant.api.get(&path(&id, "")).await.data()["attachments"], expected);
    assert_eq!(merchant.api.get(&path(&id, "/comments")).await.data()[0], comment);
    let seen = gateway.operator().get(&staff_path(&id, "")).await.data();
    assert_eq!(seen["comments"][0]["attachments"], expected);

    let attachment_id = url["attachment_id"].as_str().expect("an id");
    let of_ticket = path(&id, &format!("/attachments/{attachment_id}"));
    let of_comment = path(&id, &format!("/comments/{}/attachments/{attachment_id}", comment["id"]));
    let to_staff =
        gateway.operator().get(&staff_path(&id, &format!("/attachments/{attachment_id}"))).await.data();
    let to_merchant = [merchant.api.get(&of_ticket).await.data(), merchant.api.get(&of_comment).await.data()];
    for links in to_merchant.into_iter().chain([to_staff]) {
        let answer = fetch(&links["download_url"]).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let header = |name: &str| answer.headers()[name].to_str().expect("ASCII").to_owned();
        assert_eq!(header("content-type"), "image/png");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert!(header("content-security-policy").contains("sandbox"));
        assert!(header("content-disposition").starts_with("inline"));
        assert_eq!(header("content-length"), PIXEL.len().to_string());
        assert_eq!(answer.bytes().await.expect("bytes"), PIXEL);
    }
    // The small picture is made by and by, once.
    let thumb = eventually("a small picture", async || {
        let thumb = merchant.api.get(&of_ticket).await.data()["thumb_url"].clone();
        (!thumb.is_null()).then_some(thumb)
    })
    .await;
    let answer = fetch(&thumb).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let kind = answer.headers()["content-type"].to_str().expect("ASCII").to_owned();
    assert!(["image/jpeg", "image/webp"].contains(&kind.as_str()), "{kind}");
    assert!(!answer.bytes().await.expect("bytes").is_empty());
    assert_eq!(count_files(&gateway), 2, "the picture and the small one");

    let (folder, away) = (gateway.data_folder().join("attachments"), gateway.data_folder().join("away"));
    std::fs::rename(&folder, &away).expect("moved away");
    let answer = fetch(&thumb).await;
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.headers().contains_key("retry-after"));
    std::fs::rename(&away, &folder).expect("moved back");
    assert_eq!(fetch(&thumb).await.status(), StatusCode::OK);
    gateway.assert_no_panic();
}

/// Files below the folder of attachments.
fn count_files(gateway: &Gateway) -> usize {
    fn walk(folder: &std::path::Path) -> usize {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| if entry.path().is_dir() { walk(&entry.path()) } else { 1 }).sum()
    }
    walk(&gateway.data_folder().join("attachments"))
}

/// Every rule of a body has its row among the tests of `quipu-tickets`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_url_is_asked_for_rightly() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let merchant = gateway.merchant().await;
    let id = plain(&merchant.api).await;
    let place = path(&id, "/upload-url");
    let body = |member: &str, value: Value| {
        let mut body = json!({ "filename": "a.png", "content_type": "image/png" });
        body[member] = value;
        body
    };
    let largest =
        json!({ "filename": "n".repeat(255), "content_type": "video/webm", "file_size": 10_485_760 });
    merchant.api.post(&place, &largest).await.data();
    for (field, value) in [
        ("filename", json!("../../etc/passwd")),
        ("content_type", json!("image/svg+xml")),
        ("file_size", json!(10_485_761)),
    ] {
        invalid(&merchant.api.post(&place, &body(field, value)).await, field);
    }
    merchant.api.post_empty(&path(&id, "/close")).await.data();
    let closed = merchant.api.post(&place, &body("file_size", json!(5))).await;
    refused(&closed, 400, "INVALID_STATUS_TRANSITION");
}

async fn an_attachment_is_found_where_it_belongs(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let api = &merchant.api;
    let (id, other) = (plain(api).await, plain(api).await);
    let file = sent(api, &id, "a.pdf", "application/pdf", b"%PDF-1.7 and so on").await;
    let comment = created(&comment_with(api, &id, &[file]).await);
    let second = created(&api.post(&path(&id, "/comments"), &json!({ "body": "x" })).await);
    let attachment = comment["attachments"][0]["id"].as_str().expect("an id");
    let none = "019aa3b5-ec00-7fff-bfff-ffffffffffff";
    for (rest, code) in [
        (format!("/attachments/{none}"), "ATTACHMENT_NOT_FOUND"),
        ("/attachments/x".to_owned(), "ATTACHMENT_NOT_FOUND"),
        (format!("/comments/{}/attachments/{attachment}", second["id"]), "ATTACHMENT_NOT_FOUND"),
        (format!("/comments/7/attachments/{attachment}"), "COMMENT_NOT_FOUND"),
        (format!("/comments/x/attachments/{attachment}"), "COMMENT_NOT_FOUND"),
    ] {
        refused(&api.get(&path(&id, &rest)).await, 404, code);
    }
    let elsewhere = api.get(&path(&other, &format!("/attachments/{attachment}"))).await;
    refused(&elsewhere, 404, "ATTACHMENT_NOT_FOUND");
    let staff = gateway.operator();
    for (ticket, attachment, code) in [
        (&*id, none, "ATTACHMENT_NOT_FOUND"),
        (&*id, "x", "ATTACHMENT_NOT_FOUND"),
        (&*other, attachment, "ATTACHMENT_NOT_FOUND"),
        (none, attachment, "TICKET_NOT_FOUND"),
    ] {
        let answer = staff.get(&staff_path(ticket, &format!("/attachments/{attachment}"))).await;
        answer.refused(404, code);
    }
    let saved = gateway.data_folder().join("saved.pdf").display().to_string();
    let save = |ticket: &str| gateway.run(&["ticket", "attachment", ticket, attachment, "--to", &saved]);
    assert_eq!(save(&other).status, Some(2));
    assert_eq!(save(&id).status, Some(0));
    assert_eq!(std::fs::read(&saved).expect("saved"), b"%PDF-1.7 and so on");
    assert_eq!(save(&id).status, Some(2), "what is there already stays");
    film_goes_all_the_way(api, &id, "video/mp4", b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom and so on").await;
    film_goes_all_the_way(api, &id, "video/webm", b"\x1a\x45\xdf\xa3\x87\x42\x82\x84webm and so on").await;
    let links = api.get(&path(&id, &format!("/attachments/{attachment}"))).await.data();
    assert_eq!(links["thumb_url"], json!(null), "a document has none");
    let answer = fetch(&links["download_url"]).await;
    let how = answer.headers()["content-disposition"].to_str().expect("ASCII");
    assert!(how.starts_with("attachment"), "{how}");
}

/// Sends a film, names it in a comment and fetches it.
async fn film_goes_all_the_way(api: &Client, ticket: &str, kind: &str, bytes: &[u8]) {
    let film = sent(api, ticket, "film", kind, bytes).await;
    let comment = created(&comment_with(api, ticket, &[film]).await);
    let attachment = comment["attachments"][0]["id"].as_str().expect("an id");
    let links = api.get(&path(ticket, &format!("/attachments/{attachment}"))).await.data();
    assert_eq!(links["thumb_url"], Value::Null, "{kind}");
    let answer = fetch(&links["download_url"]).await;
    let header = |name: &str| answer.headers()[name].to_str().expect("ASCII").to_owned();
    assert_eq!(header("content-type"), kind);
    assert!(header("content-disposition").starts_with("attachment"), "{kind}");
    assert_eq!(answer.bytes().await.expect("bytes"), bytes);
}

async fn files_in_a_bucket_go_all_the_way(database: Database) {
    let s3 = std::env::var("QUIPU_TEST_S3").expect("QUIPU_TEST_S3 is not set: run `make test`");
    let rest = s3.strip_prefix("http://").expect("an http URL");
    let (credentials, place) = rest.split_once('@').expect("credentials");
    let (key, secret) = credentials.split_once(':').expect("a key and its secret");
    let (host, bucket) = place.split_once('/').expect("a bucket");
    let prefix = draft::reference();
    let gateway = Setup::new(database)
        .set("ATTACHMENTS_URL", &format!("s3://{bucket}/{prefix}"))
        .set("ATTACHMENTS__S3__ENDPOINT", &format!("http://{host}"))
        .set("ATTACHMENTS__S3__ACCESS_KEY_ID", key)
        .set("ATTACHMENTS__S3__SECRET_ACCESS_KEY", secret)
        .start()
        .await;
    let merchant = gateway.merchant().await;
    let api = &merchant.api;
    let id = plain(api).await;
    let url = upload_url(api, &id, "a.png", "image/png").await;
    assert!(url["upload_url"].as_str().is_some_and(|url| url.contains(host)), "{url}");
    let file = named(&url, "a.png", "image/png");
    invalid(&comment_with(api, &id, std::slice::from_ref(&file)).await, "attachments.0");
    assert_eq!(put(&url["upload_url"], "image/png", PIXEL).await.0, StatusCode::OK);
    let comment = created(&comment_with(api, &id, std::slice::from_ref(&file)).await);
    let attachment = comment["attachments"][0]["id"].as_str().expect("an id").to_owned();
    // The URL still lives and writes to the staging key; what the comment has stays as it is, and nobody uses it twice.
    assert_eq!(put(&url["upload_url"], "image/png", b"something else").await.0, StatusCode::OK);
    invalid(&comment_with(api, &id, &[file]).await, "attachments.0");
    let place = path(&id, &format!("/attachments/{attachment}"));
    let links = api.get(&place).await.data();
    assert_eq!(fetch(&links["download_url"]).await.bytes().await.expect("bytes"), PIXEL);
    eventually("a small picture", async || {
        (!api.get(&place).await.data()["thumb_url"].is_null()).then_some(())
    })
    .await;
    // What breaks a rule is refused when it is named, and deleted.
    let url = upload_url(api, &id, "b.png", "image/png").await;
    assert_eq!(put(&url["upload_url"], "image/png", b"<svg onload=alert(1)>").await.0, StatusCode::OK);
    let file = named(&url, "b.png", "image/png");
    for _ in 0..2 {
        invalid(&comment_with(api, &id, std::slice::from_ref(&file)).await, "attachments.0");
    }
    assert_eq!(api.get(&path(&id, "/comments")).await.ok()["total"], 1);
    gateway.assert_no_panic();
}

async fn links_begin_with_the_configured_addresses(database: Database) {
    let setup = Setup::new(database).set("PUBLIC_URL", "https://pay.example");
    let gateway = setup.set("UPLOAD_URL", "https://files.example").start().await;
    let merchant = gateway.merchant().await;
    let api = &merchant.api;
    // A proxy stands at each of the addresses; the gateway itself hears the same paths.
    let behind = |proxy: &str, url: &Value| {
        let path = url.as_str().and_then(|url| url.strip_prefix(proxy));
        let path = path.unwrap_or_else(|| panic!("{url} is not at {proxy}"));
        json!(format!("{}{path}", gateway.anonymous().base_url()))
    };
    let id = plain(api).await;
    let url = upload_url(api, &id, "a.png", "image/png").await;
    let (status, body) = put(&behind("https://files.example", &url["upload_url"]), "image/png", PIXEL).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let comment = created(&comment_with(api, &id, &[named(&url, "a.png", "image/png")]).await);
    let attachment = comment["attachments"][0]["id"].as_str().expect("an id");
    let links = api.get(&path(&id, &format!("/attachments/{attachment}"))).await.data();
    let file = fetch(&behind("https://files.example", &links["download_url"])).await;
    assert_eq!(file.bytes().await.expect("bytes"), PIXEL);

    let hosted = draft::steered(draft::deposit("LKR", "redirectpay", 100), "stay");
    let hosted = api.create(&draft::with(hosted, "/type", json!("deposit_pp"))).await.ok();
    for member in ["payment_page_url", "redirect_url"] {
        let page = fetch(&behind("https://pay.example", &hosted[member])).await;
        assert_eq!(page.status(), StatusCode::OK, "{member}");
    }
}
