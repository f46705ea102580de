//! How long a healthy endpoint waits beside three bad ones, to each of which thousands of deliveries are
//! owed: one never answers, one answers with an error, one sends its answer a byte a second.

use std::{net::Ipv4Addr, time::Duration};

use quipu_tests::{Database, Gateway, Merchant, Setup};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::{
    Plan, address_of, caller_of,
    deliveries::{Ear, arrivals, peak_of, total},
    load,
    report::Row,
};

pub(crate) const ALONE: &str = "from sending a creation to arrival, alone";
pub(crate) const BESIDE: &str = "from sending a creation to arrival, beside three bad endpoints";

/// The part of the plan's payments that each bad endpoint is told of and owed.
const SHARE: usize = 200;

#[derive(Clone, Copy)]
enum Fault {
    Hangs,
    Errs,
    Drips,
}

/// The delay alone, and beside the bad endpoints of the same merchant; and the most memory the gateway had, in
/// mebibytes.
pub(crate) async fn rates(database: Database, plan: Plan) -> (Vec<Row>, f64) {
    let ear = Ear::open();
    let gateway = Setup::new(database).set("SIMULATOR__DELAY", "1h").start().await;
    let merchant = gateway.merchant().await;
    register(&merchant, ear.port).await;
    let mut rows = vec![arrivals(ALONE, &ear, &merchant).await.1];
    for fault in [Fault::Hangs, Fault::Errs, Fault::Drips] {
        register(&merchant, receiver(fault)).await;
    }
    owe(&gateway, &merchant, plan.payments / SHARE).await;
    let _caught_up = ear.catch_up("healthy endpoint catches up", total(&merchant).await).await;
    rows.push(arrivals(BESIDE, &ear, &merchant).await.1);
    (rows, peak_of(&gateway))
}

async fn register(merchant: &Merchant, port: u16) {
    let endpoint = json!({ "url": format!("http://127.0.0.1:{port}/") });
    merchant.api.post("/api/v1/webhooks", &endpoint).await.data();
}

/// Payments that every endpoint hears of.
async fn owe(gateway: &Gateway, merchant: &Merchant, payments: usize) {
    let caller = caller_of(merchant).await;
    load::send(address_of(gateway), 64, payments, caller.create_deposit()).expect("payments are created");
}

/// A receiver on a thread of its own.
fn receiver(fault: Fault) -> u16 {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let listener = TcpListener::from_std(listener).expect("a listener");
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(misbehave(connection, fault));
            }
        });
    });
    port
}

async fn misbehave(mut connection: TcpStream, fault: Fault) {
    let mut buffer = Vec::with_capacity(16_384);
    while let Ok(1..) = connection.read_buf(&mut buffer).await {
        while let Some(whole) = load::whole_message(&buffer) {
            buffer.drain(..whole);
            let written = match fault {
                Fault::Hangs => Ok(()),
                Fault::Errs => {
                    let error = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n";
                    connection.write_all(error).await
                }
                Fault::Drips => drip(&mut connection).await,
            };
            if written.is_err() {
                return;
            }
        }
    }
}

async fn drip(connection: &mut TcpStream) -> std::io::Result<()> {
    connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n").await?;
    for _ in 0..100 {
        connection.write_all(b".").await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    Ok(())
}
