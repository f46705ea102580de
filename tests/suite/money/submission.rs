//! Withdrawals on their way to a provider.

use quipu_tests::{
    Database, Gateway, Merchant, Setup,
    draft::{self, with},
    eventually, on_both_databases,
    provider::{Behaviour, Endpoint, Provider},
};
use serde_json::{Value, json};

use super::{merchant_on, seen};

on_both_databases!(
    a_payout_is_handed_over_once_and_whole,
    an_unknown_outcome_is_asked_about_and_never_failed,
    a_provider_that_never_heard_of_it_is_told_again_under_the_same_reference,
    a_definite_refusal_frees_the_money,
    a_submission_that_a_kill_cut_off_is_made_again_under_the_same_reference,
    partner_destinations_reach_the_rail_whole,
);

async fn world(database: Database) -> (Gateway, Provider, Merchant) {
    let provider = Provider::start().await;
    let setup = provider.configure(Setup::new(database)).set("RAILS__STATUS_SCHEDULE", "300ms,500ms");
    let gateway = setup.start().await;
    let merchant = merchant_on(&gateway, &provider).await;
    merchant.fund("ARS", 1_000).await;
    (gateway, provider, merchant)
}

async fn a_payout_is_handed_over_once_and_whole(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    let id = merchant.create(&draft::withdrawal_ars(400)).await;
    merchant.wait_for(&id, "processing").await;
    let order = eventually("the provider to take it on", async || provider.order(&id)).await;
    assert_eq!(order.body["payout"]["bank_account"], "0000003100010000000001");
    assert_eq!((&order.body["type"], &order.body["amount"]), (&json!("withdrawal"), &json!(400)));
    eventually("the provider's own reference to be kept", async || {
        (seen(&gateway, &id).await["provider_reference"] == "their-own-7").then_some(())
    })
    .await;
    provider.settle(&id, "completed");
    merchant.wait_for(&id, "completed").await;
    assert_eq!(provider.order(&id).expect("taken on").times, 1);
    assert_eq!(merchant.balance("ARS").await, (600, 0));
    gateway.check();
}

async fn an_unknown_outcome_is_asked_about_and_never_failed(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    provider.next(Endpoint::Payouts, [Behaviour::TakeAndTalkNonsense; 3]);
    provider.next(Endpoint::Status, [Behaviour::Close; 3]);
    let id = merchant.create(&draft::withdrawal_ars(400)).await;
    eventually("two rounds of questions", async || (provider.calls(Endpoint::Status) >= 4).then_some(()))
        .await;
    assert_eq!(merchant.api.payment(&id).await["status"], "processing");
    provider.settle(&id, "completed");
    merchant.wait_for(&id, "completed").await;
    assert_eq!((provider.orders().len(), merchant.balance("ARS").await), (1, (600, 0)));
    gateway.check();
}

async fn a_provider_that_never_heard_of_it_is_told_again_under_the_same_reference(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    provider.next(Endpoint::Payouts, [Behaviour::Close; 3]);
    let id = merchant.create(&draft::withdrawal_ars(400)).await;
    eventually("it to be handed over after all", async || provider.order(&id)).await;
    assert_eq!(provider.orders().len(), 1);
    provider.settle(&id, "completed");
    merchant.wait_for(&id, "completed").await;
    assert_eq!(merchant.balance("ARS").await, (600, 0));
    gateway.check();
}

async fn a_definite_refusal_frees_the_money(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    provider.next(Endpoint::Payouts, [Behaviour::Reject]);
    let id = merchant.create(&draft::withdrawal_ars(400)).await;
    let record = merchant.wait_for(&id, "failed").await;
    assert_eq!(record["failure"]["code"], "RAIL_REJECTED");
    assert_eq!(merchant.balance("ARS").await, (1_000, 0));
    gateway.check();
}

async fn a_submission_that_a_kill_cut_off_is_made_again_under_the_same_reference(database: Database) {
    let (mut gateway, provider, merchant) = world(database).await;
    provider.next(Endpoint::Payouts, [Behaviour::TakeAndHang]);
    let id = merchant.create(&draft::withdrawal_ars(400)).await;
    eventually("the provider to hear of it", async || provider.order(&id)).await;
    gateway.kill();
    gateway.restart().await;
    let merchant = merchant.moved_to(&gateway);
    eventually("the provider to hear of it again", async || {
        provider.order(&id).filter(|order| order.times == 2)
    })
    .await;
    // Nobody may cancel what may have been sent.
    let cancel = format!("/api/v1/payments/{id}/cancel");
    merchant.api.post_empty(&cancel).await.refused(400, "PAYMENT_ALREADY_PROCESSED");
    let told = provider.event("payment.completed", &id);
    provider.call_back(&gateway.anonymous(), &told).await.data();
    merchant.wait_for(&id, "completed").await;
    let orders: Vec<_> = provider.orders().iter().map(|order| order.times).collect();
    assert_eq!((orders, merchant.balance("ARS").await), (vec![2], (600, 0)));
    gateway.check();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payout_in_progress_is_left_to_a_node_that_was_told_to_end() {
    let (provider, node) = (Provider::start().await, Setup::new(Database::Postgres));
    let setup = provider.configure(node).set("RAILS__STATUS_SCHEDULE", "300ms,500ms");
    let mut first = setup.clone().start().await;
    let merchant = merchant_on(&first, &provider).await;
    merchant.fund("ARS", 1_000).await;
    let mut second = first.successor(setup);
    // The call lasts for the 10 seconds that a provider has, which is longer than a node may be silent.
    provider.next(Endpoint::Payouts, [Behaviour::TakeAndHang]);
    let id = merchant.create(&draft::withdrawal_ars(400)).await;
    eventually("the provider to hear of it", async || provider.order(&id)).await;
    // The second starts only now, so that it cannot be the one that calls.
    let (ended, ()) = tokio::join!(first.terminate(), second.restart());
    assert_eq!(
        (ended, provider.calls(Endpoint::Payouts)),
        (Some(0), 1),
        "nobody else hands it over meanwhile"
    );
    provider.settle(&id, "completed");
    let merchant = merchant.moved_to(&second);
    merchant.wait_for(&id, "completed").await;
    assert_eq!(merchant.balance("ARS").await, (600, 0));
    second.check();
}

async fn partner_destinations_reach_the_rail_whole(database: Database) {
    let (gateway, provider, merchant) = world(database).await;
    merchant
        .edit_routes(|route| {
            if route["partner"] == true {
                route["rail"] = json!(provider.rail());
            }
        })
        .await;
    merchant.fund("GEL", 1_000).await;
    let bank = json!({
        "iban": "GE29NB0000000101904917", "swift": "TBCBGE22", "beneficiaryName": "Nino Beridze",
        "beneficiaryBank": "TBC Bank", "address": "7 Marjanishvili St, Tbilisi", "reference": "invoice 7",
    });
    let account_of = |kind: &str, id: &str, account: &Value| {
        let named = json!({ "kind": kind, "ibanAccountId": id });
        let whole = with(named.clone(), "/bank", account.clone());
        (named, whole)
    };
    let wallet = json!({ "kind": "wallet", "scheme": "phone", "value": "995123456789" });
    let inline = json!({ "kind": "bank", "bank": bank });
    let sepa = json!({
        "iban": "DE89370400440532013000", "swift": "DEUTDEFF", "beneficiaryName": "Nino",
        "beneficiaryBank": "Bank", "address": "Street 1", "reference": "r",
    });
    let saved = async |kind: &str, account: &Value| {
        let mut body = account.clone();
        (body["environment"], body["kind"]) = (json!("test"), json!(kind));
        let saved = gateway.operator().post(&merchant.operator_path("/beneficiaries"), &body).await.data();
        saved["ibanAccountId"].as_str().expect("a number as text").to_owned()
    };
    let (of_sepa, of_bank) = (saved("sepa", &sepa).await, saved("bank", &bank).await);
    for (destination, whole) in [
        (wallet.clone(), wallet),
        (inline.clone(), inline),
        account_of("sepa", &of_sepa, &sepa),
        account_of("bank", &of_bank, &bank),
    ] {
        let id = merchant.create(&draft::partner_withdrawal("GEL", 100, destination)).await;
        let order = eventually("the provider to take it on", async || provider.order(&id)).await;
        assert_eq!(order.body["payout"], json!({ "partnerDestination": whole }));
    }
}
