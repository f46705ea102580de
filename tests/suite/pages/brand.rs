//! What pages show of a merchant.

use std::{collections::HashSet, process::Command};

use quipu_tests::{Database, Gateway, http_client, on_both_databases};
use serde_json::json;

use super::{hosted, path_of};

on_both_databases!(
    a_merchants_page_shows_its_name_colour_and_logo,
    changes_at_the_same_time_are_told_as_they_followed_each_other,
);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logos_that_unpack_to_very_much_do_not_fill_the_memory() {
    const AT_ONCE: usize = 6;
    const MOST_KIB: u64 = 256 * 1024;
    let gateway = Gateway::start(Database::Sqlite).await;
    let (merchant, operator) = (gateway.merchant().await, gateway.operator());
    let settings = format!("/operator/v1/merchants/{}/page", merchant.id);
    let page = json!({ "logo": unpacking_to_very_much() });
    let before = gateway.memory();
    gateway.forget_peak();
    let logos = (0..AT_ONCE).map(async |_| operator.put(&settings, &page).await.data());
    futures_util::future::join_all(logos).await;
    let grown = gateway.peak().saturating_sub(before);
    assert!(grown < MOST_KIB, "memory grew by {grown} KiB");
}

/// A picture of one pixel, whose colour profile has 60 MiB.
fn unpacking_to_very_much() -> String {
    const WRITE: &str = "import base64, struct, zlib
def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
profile = chunk(b'iCCP', b'x\\0\\0' + zlib.compress(bytes(60 << 20), 9))
head, pixel = chunk(b'IHDR', struct.pack('>IIBBBBB', 1, 1, 8, 0, 0, 0, 0)), chunk(b'IDAT', zlib.compress(b'\\0\\0'))
print(base64.b64encode(b'\\x89PNG\\r\\n\\x1a\\n' + head + profile + pixel + chunk(b'IEND', b'')).decode(), end='')";
    let written = Command::new("python3").args(["-c", WRITE]).output().expect("python3");
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    String::from_utf8(written.stdout).expect("base64")
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
    assert!(shown.contains("Café &#60;Aurora&#62;") && shown.contains("accent-b4232f-"), "{shown}");
    let logo = shown.split("src=\"/logos/").nth(1).and_then(|rest| rest.split('"').next()).expect("a logo");
    let http = http_client();
    let served = http.get(format!("{}/logos/{logo}", visitor.base_url())).send().await.expect("an answer");
    assert_eq!(
        (served.status().as_u16(), &served.headers()["content-type"]),
        (200, &"image/png".parse().expect("a type"))
    );
    let audit = operator.get("/operator/v1/audit-log").await.data();
    assert_eq!(audit[0]["action"], "merchant.page", "{audit}");
    assert_eq!((&audit[0]["before"], &audit[0]["after"]["accent"]), (&json!(null), &json!("#b4232f")));
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

/// Each change replaces the one before it, so no two of them began with the same page.
async fn changes_at_the_same_time_are_told_as_they_followed_each_other(database: Database) {
    const CHANGES: usize = 8;
    let gateway = Gateway::start(database).await;
    let (merchant, operator) = (gateway.merchant().await, gateway.operator());
    let settings = format!("/operator/v1/merchants/{}/page", merchant.id);
    let names: Vec<_> = (0..CHANGES).map(|number| format!("Shop {number}")).collect();
    let changes = names.iter().map(async |name| operator.put(&settings, &json!({ "name": name })).await.ok());
    futures_util::future::join_all(changes).await;
    let audit = operator.get("/operator/v1/audit-log?limit=20").await.data();
    let lines = audit.as_array().expect("lines").iter().filter(|line| line["action"] == "merchant.page");
    let before: HashSet<_> = lines.map(|line| line["before"]["name"].as_str().unwrap_or_default()).collect();
    assert_eq!(before.len(), CHANGES, "{audit}");
}
