//! A hundred large files at once.

use quipu_tests::{Database, Gateway, draft, http_client};
use tokio::task::JoinSet;

use super::desk::{PIXEL, plain, upload_url};

const FILES: usize = 100;
const BYTES: usize = 10_485_760;
/// How much more memory the gateway may take meanwhile, in KiB.
const MOST_KIB: u64 = 64 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_files_at_once_take_little_memory() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let merchant = gateway.merchant().await;
    let id = plain(&merchant.api).await;
    let mut urls = Vec::new();
    for _ in 0..FILES {
        urls.push(upload_url(&merchant.api, &id, "a.png", "image/png").await["upload_url"].clone());
    }
    let mut file = PIXEL.to_vec();
    file.resize(BYTES, 7);
    let file: &'static [u8] = file.leak();
    let before = gateway.memory();
    gateway.forget_peak();
    let client = http_client();
    let mut sending = JoinSet::new();
    for url in urls {
        let request = client.put(url.as_str().expect("a URL")).header("content-type", "image/png").body(file);
        sending.spawn(async move { request.send().await.expect("an answer").status().as_u16() });
    }
    // Payments go on being made meanwhile.
    for _ in 0..20 {
        merchant.create(&draft::deposit_mxn(5)).await;
    }
    assert_eq!(sending.join_all().await, [200; FILES]);
    let grown = gateway.peak().saturating_sub(before);
    assert!(grown < MOST_KIB, "memory grew by {grown} KiB");
    gateway.assert_no_panic();
}
