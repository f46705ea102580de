//! Whoever watches a page and reads nothing of it.

use std::{net::SocketAddr, time::Duration};

use quipu_tests::{Database, Gateway, draft, eventually, is_held};
use tokio::{io::AsyncWriteExt, net::TcpSocket};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_viewer_that_reads_nothing_is_dropped() {
    let gateway = Gateway::start(Database::Sqlite).await;
    let merchant = gateway.merchant().await;
    let mut long = draft::deposit_mxn(500);
    long["type"] = "deposit_pp".into();
    long["customer"]["email"] = "stay@simulator.test".into();
    // More than the smallest buffer holds.
    long["description"] = "\u{1f600}".repeat(500).into();
    let created = merchant.api.post("/api/v1/payments", &long).await.ok();
    let page = created["payment_page_url"].as_str().expect("a page");
    let (host, path) = page.trim_start_matches("http://").split_once('/').expect("a path");
    let address: SocketAddr = host.parse().expect("an address");
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(1).expect("a size");
    let mut viewer = socket.connect(address).await.expect("a connection");
    let head = format!("GET /{path}/events HTTP/1.1\r\nHost: x\r\n\r\n");
    viewer.write_all(head.as_bytes()).await.expect("written");
    let own = viewer.local_addr().expect("an address");
    assert!(is_held(address, own));
    // Looking is costly beside other tests.
    eventually("the viewer to be dropped", async || {
        tokio::time::sleep(Duration::from_secs(1)).await;
        (!is_held(address, own)).then_some(())
    })
    .await;
    drop(viewer);
    gateway.anonymous().get("/healthz").await.ok();
}
