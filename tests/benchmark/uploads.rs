//! What is left of the rate of creations while a hundred large files come in.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
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
    rows.push(creations(&gateway, &caller, BUSY, plan));
    let arrived = uploads.end().await;
    eprintln!("{arrived} files arrived meanwhile");
    rows
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
    arrived: Arc<AtomicUsize>,
}

impl Uploads {
    fn begin(urls: Vec<String>) -> Self {
        let (ended, arrived) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut file = b"%PDF-1.7 ".to_vec();
        file.resize(BYTES, b' ');
        let (file, urls, taken) = (bytes::Bytes::from(file), Arc::new(urls), Arc::new(AtomicUsize::new(0)));
        let client = http_client();
        let mut sending = JoinSet::new();
        for _ in 0..AT_ONCE {
            let (client, file, urls, taken) =
                (client.clone(), file.clone(), Arc::clone(&urls), Arc::clone(&taken));
            let (ended, arrived) = (Arc::clone(&ended), Arc::clone(&arrived));
            sending.spawn(async move {
                while let Some(url) = urls.get(taken.fetch_add(1, Ordering::Relaxed)) {
                    let put = client.put(url).header("content-type", "application/pdf").body(file.clone());
                    assert!(put.send().await.expect("an answer").status().is_success());
                    arrived.fetch_add(1, Ordering::Relaxed);
                    if ended.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
        }
        Self { sending, ended, arrived }
    }

    async fn end(self) -> usize {
        self.ended.store(true, Ordering::Relaxed);
        let arrived = self.arrived.load(Ordering::Relaxed);
        self.sending.join_all().await;
        arrived
    }
}
