//! What staff do with money from the shell.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use quipu_tests::{
    Database, Gateway,
    draft::{self, steered},
    on_both_databases,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

use super::{audited, receipts};

on_both_databases!(
    the_shell_takes_payments_through_their_life,
    the_shell_finds_payments,
    the_shell_resolves_receipts,
);

#[track_caller]
fn printed(gateway: &Gateway, arguments: &[&str]) -> Value {
    let output = gateway.run(arguments);
    serde_json::from_str(output.ok()).unwrap_or_else(|error| panic!("{error}: {}", output.stdout))
}

/// The line of the audit log with this place among the payment's, which the shell wrote.
async fn line(gateway: &Gateway, id: &str, place: usize) -> Value {
    let line = audited(gateway, id).await.swap_remove(place);
    assert_eq!(line["actor"]["id"], "shell", "{line}");
    line
}

async fn the_shell_takes_payments_through_their_life(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 1_000).await;
    let paid = merchant.create(&steered(draft::withdrawal_ars(400), "hold")).await;
    let failed = merchant.create(&steered(draft::withdrawal_ars(100), "hold")).await;
    let submit = ["payment", "submit", &paid, "--rail-reference", "bank-7", "--reason", "by hand"];
    assert_eq!(printed(&gateway, &submit)["status"], "processing");
    let submitted = line(&gateway, &paid, 0).await;
    assert_eq!(
        (&submitted["action"], &submitted["before"]["status"]),
        (&json!("payment.submit"), &json!("pending"))
    );
    let now = &submitted["after"];
    assert_eq!(
        (&now["status"], &now["rail_reference"], &now["reason"]),
        (&json!("processing"), &json!("bank-7"), &json!("by hand"))
    );

    assert_eq!(printed(&gateway, &["payment", "complete", &paid])["status"], "completed");
    let give_back = ["payment", "return", &paid, "--reason", "account closed", "--key", "back"];
    let mut returned = printed(&gateway, &give_back);
    assert_eq!(
        (&returned["status"], &returned["failure"]["message"]),
        (&json!("refunded"), &json!("account closed"))
    );
    returned["replayed"] = json!(true);
    assert_eq!(printed(&gateway, &give_back), returned);
    let back = line(&gateway, &paid, 2).await;
    assert_eq!((&back["action"], &back["after"]["status"]), (&json!("payment.return"), &json!("refunded")));
    assert_eq!(audited(&gateway, &paid).await.len(), 3);

    // The same key names another attempt at another payment.
    let fail = ["payment", "fail", &failed, "--reason", "fraud", "--key", "back"];
    let record = printed(&gateway, &fail);
    assert_eq!((&record["status"], &record["failure"]["message"]), (&json!("failed"), &json!("fraud")));
    let fraud = line(&gateway, &failed, 0).await;
    assert_eq!((&fraud["action"], &fraud["after"]["reason"]), (&json!("payment.fail"), &json!("fraud")));
    assert_eq!(merchant.balance("ARS").await, (1_000, 0));
    gateway.check();
}

async fn the_shell_finds_payments(database: Database) {
    let gateway = Gateway::start(database).await;
    let (one, other) = (gateway.merchant().await, gateway.merchant().await);
    one.fund("ARS", 1_000).await;
    let deposit = one.create(&steered(draft::deposit_mxn(100), "stay")).await;
    let payout = one.create(&steered(draft::withdrawal_ars(100), "hold")).await;
    let theirs = other.create(&steered(draft::deposit("AUD", "payid", 200), "stay")).await;
    let record = one.api.payment(&deposit).await;
    let reference = record["merchant_reference"].as_str().expect("a reference");
    let customer = record["customer_id"].to_string();
    let (of_one, of_other) = (one.id.to_string(), other.id.to_string());
    let ours = [&payout, &deposit];
    for (filter, found) in [
        (&["--merchant", &of_one][..], &ours[..]),
        (&["--merchant", &of_other], &[&theirs]),
        (&["--merchant", &of_one, "--environment", "test"], &ours),
        (&["--environment", "live"], &[]),
        (&["--status", "pending"], &[&payout]),
        (&["--merchant", &of_one, "--type", "deposit"], &[&deposit]),
        (&["--method", "payid"], &[&theirs]),
        (&["--currency", "ARS"], &[&payout]),
        (&["--reference", reference], &[&deposit]),
        (&["--customer", &customer, "--merchant", &of_one, "--currency", "MXN"], &[&deposit]),
        (&["--merchant", &of_one, "--rail", "simulator"], &ours),
        (&["--rail", "manual"], &[]),
        (&["--merchant", &of_one, "--from", "2020-01-01"], &ours),
        (&["--to", "2020-01-01"], &[]),
        (&["--merchant", &of_one, "--limit", "1", "--offset", "1"], &[&deposit]),
    ] {
        let listed = printed(&gateway, &[&["payment", "list"], filter].concat());
        let ids: Vec<_> =
            listed["data"].as_array().expect("a list").iter().map(|row| &row["transaction_id"]).collect();
        assert_eq!(ids, found.to_vec(), "{filter:?}");
        let total = if filter.contains(&"--limit") { 2 } else { found.len() };
        assert_eq!(listed["total"], total, "{filter:?}");
    }
}

async fn the_shell_resolves_receipts(database: Database) {
    let (gateway, _provider, merchant, id, receipt) = receipts::short(database).await;
    let receipt_id = receipt["receipt_id"].as_str().expect("an id");
    let of_merchant = merchant.id.to_string();
    let count =
        |filter: &[&str]| printed(&gateway, &[&["receipt", "list"], filter].concat())["total"].clone();
    let listed = printed(&gateway, &["receipt", "list"]);
    assert_eq!(listed["data"], json!([receipt]), "as the interface shows it");
    for (filter, found) in [
        (&["--merchant", &of_merchant][..], 1),
        (&["--payment", &id], 1),
        (&["--payment", "pay_1763683200000_222222222222"], 0),
        (&["--to", "2020-01-01"], 0),
    ] {
        assert_eq!(count(filter), found, "{filter:?}");
    }
    let resolve = ["receipt", "resolve", receipt_id, "--action", "complete_with_received_amount"];
    let resolve = [&resolve[..], &["--key", "enough"]].concat();
    let mut resolved = printed(&gateway, &resolve);
    assert_eq!(resolved["status"], "resolved");
    resolved["replayed"] = json!(true);
    assert_eq!(printed(&gateway, &resolve), resolved);
    assert_eq!((count(&[]), count(&["--all"])), (json!(0), json!(1)));
    let told = line(&gateway, &id, 0).await;
    assert_eq!(
        (&told["action"], &told["before"]["status"], &told["after"]["resolution"]),
        (&json!("receipt.resolve"), &json!("parked"), &json!("complete_with_received_amount"))
    );
    assert_eq!(merchant.balance("MXN").await, (360, 0));
    gateway.check();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_shell_says_how_to_repeat_what_may_have_happened() {
    let gateway = Gateway::start(Database::Postgres).await;
    let merchant = gateway.merchant().await;
    let id = merchant.id.to_string();
    let url = deaf_after_the_commit(gateway.postgres_url().expect("PostgreSQL")).await;
    let adjust = ["merchant", "adjust", &id, "--environment", "test", "--currency", "MXN", "--amount", "7"];
    let adjust = [&adjust[..], &["--reason", "a gift"]].concat();
    let impatient = [("QUIPU__DATABASE_URL", url.as_str()), ("QUIPU__DEADLINES__CALL", "6s")];
    let told = gateway.run_under(&impatient, &adjust);
    assert_eq!(told.status, Some(2), "{}", told.stdout);
    let key = told.stderr.split_once("The outcome is unknown. Repeat the command with --key ");
    let key = key.unwrap_or_else(|| panic!("{}", told.stderr)).1;
    let key = key.split_once(',').expect("which does it once").0.trim_matches('\'');
    let repeated = printed(&gateway, &[&adjust[..], &["--key", key]].concat());
    assert_eq!((&repeated["replayed"], &repeated["available"]), (&json!(true), &json!(7)));
    assert_eq!(merchant.balance("MXN").await, (7, 0), "it had happened, and it happened once");
    gateway.check();
}

/// The address of this database through a proxy that is silent from the moment when the server says that it
/// has committed a kept answer.
async fn deaf_after_the_commit(url: &str) -> String {
    let at = url.find('@').expect("a user") + 1;
    let slash = at + url[at..].find('/').expect("a database");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (upstream, heard) = (url[at..slash].to_owned(), Arc::new(Heard::default()));
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(&upstream).await.expect("the server listens");
            let ((from_client, to_client), (from_server, to_server)) =
                (client.into_split(), server.into_split());
            tokio::spawn(pass(from_client, to_server, Arc::clone(&heard), false));
            tokio::spawn(pass(from_server, to_client, Arc::clone(&heard), true));
        }
    });
    // It reads what passes, so that must be in the clear.
    format!("{}{address}{}?sslmode=disable", &url[..at], &url[slash..])
}

/// What has passed on any connection.
#[derive(Default)]
struct Heard {
    answer: AtomicBool,
    commit: AtomicBool,
}

/// Passes on what one side says.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, heard: Arc<Heard>, is_server: bool) {
    let mut bytes = [0; 8192];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let says = |word: &[u8]| bytes[..read].windows(word.len()).any(|window| window == word);
        if says(b"INSERT INTO kept_answers") {
            heard.answer.store(true, Ordering::SeqCst);
        }
        if is_server && heard.answer.load(Ordering::SeqCst) && says(b"COMMIT\0") {
            heard.commit.store(true, Ordering::SeqCst);
        }
        if !heard.commit.load(Ordering::SeqCst) && to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}
