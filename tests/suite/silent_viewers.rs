//! Whoever watches a page and reads nothing of it.

use std::{net::SocketAddr, time::Duration};

use quipu_tests::{Database, Gateway, draft, eventually, on_both_databases};
use tokio::{io::AsyncWriteExt, net::TcpSocket};

on_both_databases!(a_viewer_that_reads_nothing_is_dropped);

/// Whether the system still has the gateway's side of a connection.
fn is_held(gateway: SocketAddr, viewer: SocketAddr) -> bool {
    let end = |address: SocketAddr| format!("0100007F:{:04X}", address.port());
    let connections = std::fs::read_to_string("/proc/net/tcp").expect("a list of connections");
    connections.contains(&format!("{} {}", end(gateway), end(viewer)))
}

async fn a_viewer_that_reads_nothing_is_dropped(database: Database) {
    let gateway = Gateway::start(database).await;
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
    // Beside other tests the list has thousands of connections, so it is read once a second.
    eventually("the viewer to be dropped", async || {
        tokio::time::sleep(Duration::from_secs(1)).await;
        (!is_held(address, own)).then_some(())
    })
    .await;
    drop(viewer);
    gateway.anonymous().get("/healthz").await.ok();
}
