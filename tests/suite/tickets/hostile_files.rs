//! Files and URLs that somebody made to do harm.

use std::{io::Write as _, time::Duration};

use quipu_kernel::{Clock as _, SystemClock, Timestamp};
use quipu_tests::{Database, Gateway, Setup, eventually, http_client, on_both_databases};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::desk::{PIXEL, comment_with, created, fetch, invalid, named, path, plain, put, sent, upload_url};

on_both_databases!(
    a_file_that_breaks_a_rule_is_refused_and_leaves_nothing,
    an_upload_url_is_good_for_one_file,
    an_upload_belongs_to_one_ticket_of_one_merchant,
    a_url_ends_and_cannot_be_changed,
    pictures_that_would_burst_have_no_small_one,
    what_was_half_sent_when_the_process_was_killed_is_removed,
);

const LIMIT: usize = 10_485_760;
/// How much the gateway may grow while hostile pictures are looked at, in KiB. Decoded, any of them would take gigabytes.
const MOST_KIB: u64 = 64 * 1024;

/// What is stored below the folder of attachments.
fn stored(gateway: &Gateway) -> Vec<String> {
    fn walk(folder: &std::path::Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                walk(&entry.path(), found);
            } else {
                found.push(entry.path().display().to_string());
            }
        }
    }
    let mut found = Vec::new();
    walk(&gateway.data_folder().join("attachments"), &mut found);
    found
}

/// Whether a file is on its way.
fn is_arriving(gateway: &Gateway) -> bool {
    stored(gateway).iter().any(|file| file.contains("/arriving/"))
}

/// When a signed URL says that it ends.
fn end_of(url: &Value) -> Timestamp {
    let (_, query) = url.as_str().and_then(|url| url.split_once("expires=")).expect("an end");
    let millis = query.split('&').next().and_then(|millis| millis.parse().ok());
    Timestamp::from_millis(millis.expect("a number"))
}

#[track_caller]
fn told(answer: &(StatusCode, Value), status: u16, code: &str) {
    assert_eq!((answer.0.as_u16(), answer.1["error_code"].as_str()), (status, Some(code)), "{}", answer.1);
}

async fn a_file_that_breaks_a_rule_is_refused_and_leaves_nothing(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let api = &merchant.api;
    let id = plain(api).await;
    let png = async || upload_url(api, &id, "a.png", "image/png").await["upload_url"].clone();
    let dressed: &[&[u8]] = &[
        b"<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"></svg>",
        b"<!doctype html><script>alert(1)</script><!-- \x89PNG -->",
        b"GIF89a and a script",
        b"",
    ];
    for bytes in dressed {
        told(&put(&png().await, "image/png", bytes).await, 415, "UNSUPPORTED_MEDIA_TYPE");
    }
    told(&put(&png().await, "image/gif", PIXEL).await, 415, "UNSUPPORTED_MEDIA_TYPE");
    told(&put(&png().await, "text/html", PIXEL).await, 415, "UNSUPPORTED_MEDIA_TYPE");

    let mut whole = PIXEL.to_vec();
    whole.resize(LIMIT + 1, 0);
    told(&put(&png().await, "image/png", &whole).await, 413, "BODY_TOO_LARGE");
    // Not announced, but in pieces.
    let url = png().await;
    let pieces = whole.chunks(64 * 1024).map(|piece| Ok::<_, std::io::Error>(piece.to_vec()));
    let pieces: Vec<_> = pieces.collect();
    let body = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces));
    let request = http_client().put(url.as_str().expect("a URL")).header("content-type", "image/png");
    let answer = request.body(body).send().await.expect("a refusal, though not all was sent");
    assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let nothing = async || stored(&gateway).is_empty().then_some(());
    eventually("what was refused to be gone", nothing).await;
    let connection = half_sent(&png().await);
    eventually("its first bytes to be stored", async || is_arriving(&gateway).then_some(())).await;
    drop(connection);
    eventually("what was half sent to be gone", nothing).await;
    whole.truncate(LIMIT);
    let url = upload_url(api, &id, "a.png", "image/png").await;
    assert_eq!(
        put(&url["upload_url"], "image/png", &whole).await.0,
        StatusCode::OK,
        "the last byte that fits"
    );
    let comment = created(&comment_with(api, &id, &[named(&url, "a.png", "image/png")]).await);
    assert_eq!(comment["attachments"][0]["size"], LIMIT);
    gateway.assert_no_panic();
}

/// Announces a whole file and sends its beginning. Hung up by whoever drops the connection.
fn half_sent(url: &Value) -> std::net::TcpStream {
    let url = url.as_str().expect("a URL").strip_prefix("http://").expect("http");
    let (host, rest) = url.split_once('/').expect("a path");
    let mut socket = std::net::TcpStream::connect(host).expect("a connection");
    let head = format!(
        "PUT /{rest} HTTP/1.1\r\nHost: {host}\r\nContent-Type: image/png\r\nContent-Length: 100000\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).expect("sent");
    socket.write_all(PIXEL).expect("sent");
    socket
}

async fn an_upload_url_is_good_for_one_file(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let api = &merchant.api;
    let id = plain(api).await;
    let url = upload_url(api, &id, "a.png", "image/png").await;
    let other = [PIXEL, b"more"].concat();
    // At the same instant, and afterwards.
    let (one, two) = tokio::join!(
        put(&url["upload_url"], "image/png", PIXEL),
        put(&url["upload_url"], "image/png", &other)
    );
    let mut statuses = [one.0.as_u16(), two.0.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{one:?} {two:?}");
    told(&put(&url["upload_url"], "image/png", PIXEL).await, 409, "UPLOAD_URL_USED");
    assert_eq!(stored(&gateway).len(), 1);
    let file = named(&url, "a.png", "image/png");
    created(&comment_with(api, &id, std::slice::from_ref(&file)).await);
    invalid(&comment_with(api, &id, &[file]).await, "attachments.0");
    told(&put(&url["upload_url"], "image/png", PIXEL).await, 409, "UPLOAD_URL_USED");
}

async fn an_upload_belongs_to_one_ticket_of_one_merchant(database: Database) {
    let gateway = Gateway::start(database).await;
    let (owner, other) = (gateway.merchant().await, gateway.merchant().await);
    let live = owner.key(&json!({ "environment": "live" })).await;
    let (id, second) = (plain(&owner.api).await, plain(&owner.api).await);
    let (foreign, in_live) = (plain(&other.api).await, plain(&live).await);
    let file = sent(&owner.api, &id, "a.png", "image/png", PIXEL).await;
    for (api, ticket) in [(&owner.api, &second), (&other.api, &foreign), (&live, &in_live)] {
        invalid(&comment_with(api, ticket, std::slice::from_ref(&file)).await, "attachments.0");
    }
    let with = |member: &str, value: Value| {
        let mut file = file.clone();
        file[member] = value;
        file
    };
    for (file, field) in [
        (with("content_type", json!("image/gif")), "attachments.0"),
        (with("key", json!("test/1/x/y")), "attachments.0"),
        (with("attachment_id", json!("019aa3b5-ec00-7fff-bfff-ffffffffffff")), "attachments.0"),
        (with("attachment_id", json!("x")), "attachments.0.attachment_id"),
        (with("content_type", json!("text/html")), "attachments.0.content_type"),
        (with("filename", json!("../a.png")), "attachments.0.filename"),
        (with("key", json!(null)), "attachments.0.key"),
    ] {
        invalid(&comment_with(&owner.api, &id, &[file]).await, field);
    }
    invalid(
        &comment_with(&owner.api, &id, &[file.clone(), file.clone()]).await,
        "attachments.1.attachment_id",
    );
    let not_sent = upload_url(&owner.api, &id, "b.png", "image/png").await;
    let not_sent = named(&not_sent, "b.png", "image/png");
    invalid(&comment_with(&owner.api, &id, &[file.clone(), not_sent]).await, "attachments.1");
    assert_eq!(owner.api.get(&path(&id, "/comments")).await.ok()["total"], 0);
    created(&comment_with(&owner.api, &id, &[with("filename", json!("renamed.png"))]).await);
}

async fn a_url_ends_and_cannot_be_changed(database: Database) {
    let gateway = Setup::new(database)
        .set("ATTACHMENTS__UPLOAD_EXPIRES_IN", "5s")
        .set("ATTACHMENTS__DOWNLOAD_EXPIRES_IN", "5s")
        .start()
        .await;
    let merchant = gateway.merchant().await;
    let api = &merchant.api;
    let (id, other) = (plain(api).await, plain(api).await);
    let file = sent(api, &id, "a.png", "image/png", PIXEL).await;
    let comment = created(&comment_with(api, &id, &[file]).await);
    let attachment = comment["attachments"][0]["id"].as_str().expect("an id");
    let links = api.get(&path(&id, &format!("/attachments/{attachment}"))).await.data();
    let url = links["download_url"].as_str().expect("a URL");
    let (head, signature) = url.rsplit_once('=').expect("a signature");
    for changed in [
        format!("{head}={}", "0".repeat(signature.len())),
        format!("{head}="),
        url.replace("expires=", "expires=9"),
        url.replacen(&id, &other, 1),
        url.replacen("/test/", "/live/", 1),
        url.replacen("/files/", "/uploads/", 1),
        url.split('?').next().expect("a path").to_owned(),
        url.replacen(attachment, &format!("{attachment}/thumbnail"), 1),
    ] {
        let status = fetch(&json!(changed)).await.status();
        assert!([403, 404, 405].contains(&status.as_u16()), "{status} {changed}");
    }
    let asked = SystemClock.now();
    let url = upload_url(api, &id, "b.png", "image/png").await;
    assert_eq!(url["expires_in"], 5);
    let five_seconds = Duration::from_secs(5);
    let ends = asked.plus(five_seconds)..=SystemClock.now().plus(five_seconds);
    assert!(ends.contains(&end_of(&url["upload_url"])), "{url} {ends:?}");
    let ended = async |url: &Value| {
        let answer = fetch(url).await;
        (answer.status() != StatusCode::OK).then_some(answer)
    };
    let answer = eventually("the link to end", async || ended(&links["download_url"]).await).await;
    let body: Value = serde_json::from_str(&answer.text().await.expect("UTF-8")).expect("JSON");
    assert_eq!((&body["error_code"], &body["success"]), (&json!("URL_EXPIRED"), &json!(false)));
    eventually("the upload URL to end", async || {
        let (status, body) = put(&url["upload_url"], "text/plain", b"x").await;
        (status == StatusCode::FORBIDDEN && body["error_code"] == "URL_EXPIRED").then_some(())
    })
    .await;
    told(&put(&url["upload_url"], "image/png", PIXEL).await, 403, "URL_EXPIRED");
    // What has arrived may be named after its URL has ended.
    assert_eq!(stored(&gateway).iter().filter(|file| !file.contains(".thumb")).count(), 1);
}

async fn pictures_that_would_burst_have_no_small_one(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let api = &merchant.api;
    let id = plain(api).await;
    let before = gateway.memory();
    gateway.forget_peak();
    let hostile = [
        sent(api, &id, "a.png", "image/png", &announced_png(65_535, 65_535)).await,
        sent(api, &id, "b.jpg", "image/jpeg", ANNOUNCED_JPEG).await,
        sent(api, &id, "c.gif", "image/gif", ANNOUNCED_GIF).await,
        sent(api, &id, "d.webp", "image/webp", b"RIFF\x24\0\0\0WEBPVP8L\x17\0\0\0\x2f\xff\xff\xff\xff").await,
        sent(api, &id, "e.png", "image/png", PIXEL).await,
    ];
    let comment = created(&comment_with(api, &id, &hostile).await);
    let ids: Vec<_> =
        comment["attachments"].as_array().expect("a list").iter().map(|it| it["id"].clone()).collect();
    let thumb = async |place: usize| {
        let attachment = ids[place].as_str().expect("an id");
        api.get(&path(&id, &format!("/attachments/{attachment}"))).await.data()["thumb_url"].clone()
    };
    // They are made one after the other, and the good one comes through all the same.
    eventually("the good picture's small one", async || (!thumb(4).await.is_null()).then_some(())).await;
    eventually("all of them to be looked at", async || {
        let waiting = gateway.query_sql("SELECT COUNT(*) FROM work WHERE queue = 'thumbnails'");
        (waiting == ["0"]).then_some(())
    })
    .await;
    for place in 0..4 {
        assert_eq!(thumb(place).await, json!(null), "{place}");
    }
    let grown = gateway.peak().saturating_sub(before);
    assert!(grown < MOST_KIB, "memory grew by {grown} KiB");
    gateway.assert_no_panic();
}

/// A PNG in which all is right, but that its header announces more than its few bytes hold.
fn announced_png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = PIXEL.to_vec();
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    // CRC-32 as PNG has it (ISO 3309).
    let checksum = !bytes[12..29].iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    });
    bytes[29..33].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// The headers of a grey JPEG of 65,535 by 65,535 pixels, and the beginning of its scan.
const ANNOUNCED_JPEG: &[u8] = b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\
\xff\xdb\0\x43\0\x10\x0b\x0c\x0e\x0c\x0a\x10\x0e\x0d\x0e\x12\x11\x10\x13\x18\x28\x1a\x18\x16\x16\x18\x31\x23\x25\x1d\x28\
\x3a\x33\x3d\x3c\x39\x33\x38\x37\x40\x48\x5c\x4e\x40\x44\x57\x45\x37\x38\x50\x6d\x51\x57\x5f\x62\x67\x68\x67\x3e\x4d\x71\x79\
\x70\x64\x78\x5c\x65\x67\x63\xff\xc0\0\x0b\x08\xff\xff\xff\xff\x01\x01\x11\0\xff\xc4\0\x14\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
\x09\xff\xc4\0\x14\x10\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xda\0\x08\x01\x01\0\0\x3f\0\x54\xdf\xff\xd9";

/// A GIF of 65,535 by 65,535 pixels with two colours and the beginning of its first frame.
const ANNOUNCED_GIF: &[u8] = b"GIF89a\xff\xff\xff\xff\x80\0\0\0\0\0\xff\xff\xff\
\x2c\0\0\0\0\xff\xff\xff\xff\0\x02\x02\x44\x01\0\x3b";

async fn what_was_half_sent_when_the_process_was_killed_is_removed(database: Database) {
    let mut gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = plain(&merchant.api).await;
    let url = upload_url(&merchant.api, &id, "a.png", "image/png").await;
    let connection = half_sent(&url["upload_url"]);
    eventually("its first bytes to be stored", async || is_arriving(&gateway).then_some(())).await;
    gateway.kill();
    drop(connection);
    assert!(!stored(&gateway).is_empty(), "nobody was there to remove it");
    gateway.restart().await;
    // A day goes by.
    gateway.execute_sql("UPDATE ticket_uploads SET expires_at = 1").expect("its URL has ended");
    gateway.execute_sql("UPDATE work SET due_at = 1, due_since = 1 WHERE queue = 'uploads'").expect("done");
    eventually("it to be gone", async || stored(&gateway).is_empty().then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transfers_are_counted_by_address() {
    let gateway = Setup::new(Database::Sqlite).set("LIMITS__PAGES_PER_MINUTE", "3").start().await;
    let url = json!(format!("{}/files/test/1/x/y", gateway.anonymous().base_url()));
    for _ in 0..3 {
        assert_eq!(fetch(&url).await.status(), StatusCode::NOT_FOUND);
    }
    let answer = fetch(&url).await;
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(answer.headers().contains_key("retry-after"));
}
