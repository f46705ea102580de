//! The page that stands in for a payment scheme.

use quipu_tests::{Answer, Client, Database, Setup, draft, on_both_databases};
use serde_json::Value;

use super::send_form;

on_both_databases!(the_schemes_page_decides_test_payments,);

/// Looks at the scheme's page of a payment, and decides there.
pub(super) async fn approve(visitor: &Client, created: &Value, decision: &str) {
    let url = created["redirect_url"].as_str().expect("a redirect");
    let (_, path) = url.split_once("/simulated-scheme/").expect("the simulated scheme");
    let path = format!("/simulated-scheme/{path}");
    let shown = visitor.get(&path).await;
    assert!(shown.status == 200 && shown.text.contains("value=\"approve\""), "{shown}");
    let decided = send_form(visitor, &path, &format!("decision={decision}")).await;
    assert!(decided.status < 400, "{decided}");
}

async fn the_schemes_page_decides_test_payments(database: Database) {
    // The simulator would settle by itself after its delay, unless the payer decides first.
    let gateway = Setup::new(database).set("SIMULATOR__DELAY", "30m").start().await;
    let (merchant, visitor) = (gateway.merchant().await, gateway.anonymous());
    let create = || async { merchant.api.create(&draft::deposit("LKR", "redirectpay", 1_000)).await.ok() };
    for (decision, status) in [("approve", "completed"), ("decline", "failed"), ("leave", "processing")] {
        let created = create().await;
        approve(&visitor, &created, decision).await;
        let id = created["transaction_id"].as_str().expect("an id");
        assert_eq!(merchant.api.payment(id).await["status"], status, "{decision}");
    }
    let created = create().await;
    approve(&visitor, &created, "decline").await;
    let url = created["redirect_url"].as_str().expect("a redirect");
    let path = format!("/simulated-scheme/{}", url.rsplit('/').next().expect("an id"));
    let again = send_form(&visitor, &path, "decision=approve").await;
    assert!(again.status < 400, "{again}");
    let id = created["transaction_id"].as_str().expect("an id");
    assert_eq!(merchant.api.payment(id).await["status"], "failed", "what was decided stays");
    send_form(&visitor, &path, "decision=maybe").await.invalid_page();
    assert_eq!(visitor.get("/simulated-scheme/pay_1763683200000_abcdefghjkmn").await.status, 404);
    gateway.check();
}

/// What a page family answers to a bad form.
trait InvalidPage {
    fn invalid_page(&self);
}

impl InvalidPage for Answer {
    fn invalid_page(&self) {
        assert_eq!(self.status, 400, "{self}");
    }
}
