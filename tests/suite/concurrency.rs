//! Many at once: money and references are counted once.

use quipu_tests::{Answer, Database, Gateway, Merchant, Setup, draft, on_both_databases};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

on_both_databases!(
    fifty_withdrawals_from_a_balance_for_ten,
    fifty_creations_with_one_reference,
    many_merchants_do_not_disturb_each_other,
    six_hundred_who_ask_at_the_same_moment,
);

/// Sends all of them at the same time, to both nodes in turn where there are two.
async fn at_once(merchant: &Merchant, second: Option<&Gateway>, drafts: Vec<Value>) -> Vec<Answer> {
    let apis: Vec<_> =
        [merchant.api.clone()].into_iter().chain(second.map(|node| merchant.moved_to(node).api)).collect();
    let mut creations = JoinSet::new();
    for (one, draft) in drafts.into_iter().enumerate() {
        let api = apis[one % apis.len()].clone();
        creations.spawn(async move { api.create(&draft).await });
    }
    creations.join_all().await
}

async fn fifty_withdrawals_from_a_balance_for_ten(database: Database) {
    let gateway = Setup::new(database).set("SIMULATOR__DELAY", "1h").start().await;
    let second = gateway.second_node().await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 10 * 700).await;
    let answers =
        at_once(&merchant, second.as_ref(), (0..50).map(|_| draft::withdrawal_ars(700)).collect()).await;
    let (accepted, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!(accepted.len(), 10);
    for answer in refused {
        answer.refused(400, "INSUFFICIENT_BALANCE");
    }
    assert_eq!(merchant.balance("ARS").await, (0, 7_000));
    let list = merchant.api.get("/api/v1/payments?limit=100").await.ok();
    assert_eq!(list["total"], 10, "a refused payment leaves no trace");
    gateway.check();
}

async fn fifty_creations_with_one_reference(database: Database) {
    let gateway = Setup::new(database).set("SIMULATOR__DELAY", "1h").start().await;
    let second = gateway.second_node().await;
    let merchant = gateway.merchant().await;
    merchant.fund("ARS", 100_000).await;
    for one in [draft::withdrawal_ars(100), draft::deposit_mxn(100)] {
        let answers = at_once(&merchant, second.as_ref(), vec![one; 50]).await;
        let (accepted, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        assert_eq!(accepted.len(), 1);
        let id = accepted[0].json()["transaction_id"].clone();
        for answer in refused {
            assert_eq!(answer.refused(409, "DUPLICATE_MERCHANT_REFERENCE")["transaction_id"], id);
        }
    }
    assert_eq!(merchant.balance("ARS").await, (99_900, 100));
    gateway.check();
}

async fn many_merchants_do_not_disturb_each_other(database: Database) {
    let gateway = Gateway::start(database).await;
    let mut merchants = JoinSet::new();
    for _ in 0..8 {
        let merchant = gateway.merchant().await;
        merchants.spawn(async move {
            merchant.fund("ARS", 1_000).await;
            let one = |index| match index % 2 {
                0 => draft::withdrawal_ars(100),
                _ => draft::deposit("ARS", "bank_transfer", 100),
            };
            let mut settled = 0;
            for answer in at_once(&merchant, None, (0..20).map(one).collect()).await {
                let id = answer.ok()["transaction_id"].as_str().expect("a string").to_owned();
                merchant.wait_for(&id, "completed").await;
                settled += 1;
            }
            assert_eq!(settled, 20);
            assert_eq!(merchant.balance("ARS").await, (1_000, 0));
            let list = merchant.api.get("/api/v1/payments?status=completed").await.ok();
            assert_eq!(list["total"], json!(20));
        });
    }
    merchants.join_all().await;
    gateway.check();
}

/// More than two workers let in at once. Some go away before they are answered, and their places are not lost.
async fn six_hundred_who_ask_at_the_same_moment(database: Database) {
    const CALLERS: usize = 600;
    // A machine that is busy with other tests may take longer than a call usually may.
    let gateway = Setup::new(database).set("DEADLINES__CALL", "20s").start().await;
    let merchant = gateway.merchant().await;
    let id = merchant.create(&draft::deposit_mxn(100)).await;
    let key = merchant.issue(&json!({})).await["key"].as_str().expect("a key").to_owned();
    let address = gateway.anonymous().base_url().trim_start_matches("http://").to_owned();
    let request = format!("GET /api/v1/payments/{id} HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\n\r\n");
    let mut sockets = Vec::new();
    for _ in 0..CALLERS {
        sockets.push(TcpStream::connect(&address).await.expect("the gateway listens"));
    }
    for round in 0..3 {
        for socket in &mut sockets {
            socket.write_all(request.as_bytes()).await.expect("the gateway reads");
        }
        let stay = sockets.len() - 50;
        sockets.truncate(stay);
        for socket in &mut sockets {
            let answer = one_answer(socket).await;
            assert!(answer.starts_with("HTTP/1.1 200"), "round {round}: {answer}");
            assert!(answer.contains(&id), "round {round}: {answer}");
        }
    }
    gateway.assert_no_panic();
}

async fn one_answer(socket: &mut TcpStream) -> String {
    let mut answer = String::new();
    loop {
        if let Some((head, body)) = answer.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() == length.expect("a length").parse::<usize>().expect("a number") {
                return answer;
            }
        }
        let mut bytes = [0; 4096];
        let read = socket.read(&mut bytes).await.expect("an answer");
        assert_ne!(read, 0, "the connection ended within an answer: {answer}");
        answer.push_str(std::str::from_utf8(&bytes[..read]).expect("a payment in ASCII"));
    }
}
