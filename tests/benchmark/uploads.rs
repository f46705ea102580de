//! What is left of the rate of creations while a hundred large files come in.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};

use quipu_tests::{Database, Merchant, Setup, http_client};
use serde_json::json;
use tokio::task::JoinSet;

use crate::{Plan, caller_of, creations, report::Row};

pub(crate) const CALM: &str = "create deposit, no uploads";
pub(crate) const BUSY: &str = "create deposit, 100 uploads of 10 MB";

const AT_ONCE: usize = 100;
const BYTES: usize = 10_485_760;
/// Files of one ticket, and tickets.
const OF_TICKET: usize = 100;
const TICKETS: usize = 5;

/// The rows of one database.
pub(crate) async fn rates(database: Database, plan: Plan) -> Vec<Row> {
    let gateway = Setup::new(database).set("SIMULATOR__DELAY", "1h").start().await;
    let merchant = gateway.merchant().await;
    let caller = caller_of(&merchant).await;
    let mut rows = vec![creations(&gateway, &caller, CALM, plan)];
    let uploads = Uploads::begin(urls(&merchant).await);
    let folder = gateway.data_folder().join("attachments");
    let (begun, before) = (Instant::now(), bytes_in(&folder));
    rows.push(creations(&gateway, &caller, BUSY, plan));
    let (took, arrived) = (begun.elapsed(), bytes_in(&folder) - before);
    uploads.end().await;
    assert!(arrived > BYTES as u64, "only {arrived} bytes of files arrived meanwhile");
    eprintln!("{} MiB of files arrived meanwhile, in {took:.1?}", arrived / 1_048_576);
    rows
}

/// The bytes of all files below a folder, those that are still arriving included.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_in(&entry.path()),
        found => found.map_or(0, |found| found.len()),
    });
    sizes.sum()
}

async fn urls(merchant: &Merchant) -> Vec<String> {
    let mut urls = Vec::with_capacity(TICKETS * OF_TICKET);
    for _ in 0..TICKETS {
        let ticket =
            merchant.api.post("/api/v1/tickets", &json!({ "title": "Receipts" })).await.json()["data"].take();
        let path = format!("/api/v1/tickets/{}/upload-url", ticket["ticket_id"].as_str().expect("an id"));
        for _ in 0..OF_TICKET {
            let wanted = json!({ "filename": "a.pdf", "content_type": "application/pdf" });
            let url = merchant.api.post(&path, &wanted).await.data();
            urls.push(url["upload_url"].as_str().expect("a URL").to_owned());
        }
    }
    urls
}

/// A hundred uploads at any time, until they are ended or there are no more URLs.
struct Uploads {
    sending: JoinSet<()>,
    ended: Arc<AtomicBool>,
}

impl Uploads {
    fn begin(urls: Vec<String>) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let mut file = b"%PDF-1.7 ".to_vec();
        file.resize(BYTES, b' ');
        let (file, urls, taken) = (bytes::Bytes::from(file), Arc::new(urls), Arc::new(AtomicUsize::new(0)));
        let client = http_client();
        let mut sending = JoinSet::new();
        for _ in 0..AT_ONCE {
            let (client, file, urls) = (client.clone(), file.clone(), Arc::clone(&urls));
            let (taken, ended) = (Arc::clone(&taken), Arc::clone(&ended));
            sending.spawn(async move {
                while let Some(url) = urls.get(taken.fetch_add(1, Ordering::Relaxed)) {
                    let put = client.put(url).header("content-type", "application/pdf").body(file.clone());
                    assert!(put.send().await.expect("an answer").status().is_success());
                    if ended.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
        }
        Self { sending, ended }
    }

    async fn end(self) {
        self.ended.store(true, Ordering::Relaxed);
        self.sending.join_all().await;
    }
}
