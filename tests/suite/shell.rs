//! The commands of the binary, as an operator types them.

use quipu_tests::{Database, Gateway, draft, on_both_databases};
use serde_json::{Value, json};

on_both_databases!(
    a_merchant_is_onboarded_from_the_shell,
    migrating_twice_changes_nothing,
    the_database_refuses_to_rewrite_the_books,
    a_bad_configuration_stops_the_start,
);

#[track_caller]
fn printed(gateway: &Gateway, arguments: &[&str]) -> Value {
    let output = gateway.run(arguments);
    serde_json::from_str(output.ok()).unwrap_or_else(|error| panic!("{error}: {}", output.stdout))
}

async fn a_merchant_is_onboarded_from_the_shell(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = printed(&gateway, &["merchant", "create", "--name", "Tienda"])["merchant_id"].to_string();
    let key = printed(&gateway, &["key", "create", &merchant, "--environment", "test"]);
    let api = gateway.anonymous().with_api_key(key["key"].as_str().expect("the key, once"));
    api.create(&draft::deposit_mxn(100)).await.ok();
    let listed = gateway.run(&["key", "list", &merchant]);
    assert!(!listed.ok().contains(key["key"].as_str().expect("a string")));
    printed(&gateway, &["merchant", "suspend", &merchant]);
    // The server, another process, hears of it soon.
    quipu_tests::eventually("the suspension to be known", async || {
        let answer = api.get("/api/v1/balance").await;
        (answer.status != 200).then(|| answer.refused(403, "MERCHANT_SUSPENDED"))
    })
    .await;
    printed(&gateway, &["merchant", "activate", &merchant]);
    let log = gateway.operator().get(&format!("/operator/v1/audit-log?merchant_id={merchant}")).await.ok();
    assert!(log["total"].as_u64() >= Some(4), "{log}");
    assert_ne!(gateway.run(&["merchant", "show", "999999"]).status, Some(0));
}

async fn migrating_twice_changes_nothing(database: Database) {
    let gateway = Gateway::start(database).await;
    assert_eq!(printed(&gateway, &["migrate"])["applied"], json!([]));
    gateway.v1().get("/api/v1/balance").await.ok();
}

async fn the_database_refuses_to_rewrite_the_books(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("MXN", 1_000).await;
    for statement in [
        "UPDATE entries SET amount = amount + 1",
        "DELETE FROM entries",
        "UPDATE audit_log SET actor_name = 'nobody'",
        "DELETE FROM audit_log",
        "UPDATE balances SET available = -1 WHERE available > 0",
        "UPDATE balances SET frozen = -1 WHERE available > 0",
    ] {
        assert!(gateway.execute_sql(statement).is_err(), "{statement} was let through");
    }
    gateway.check();
}

async fn a_bad_configuration_stops_the_start(database: Database) {
    let gateway = Gateway::start(database).await;
    for (name, value, said) in [
        ("QUIPU__COLOUR", "red", "colour"),
        ("QUIPU__LIMITS__NONSENSE", "1", "nonsense"),
        ("QUIPU__SIMULATOR__DELAY", "soon", "simulator.delay"),
        ("QUIPU__MASTER_KEY", "short", "master_key"),
        ("QUIPU__DATABASE_URL", "mysql://x/y", "database_url"),
    ] {
        let output = gateway.run_elsewhere(&[(name, value)], &["serve", "--dev"]);
        let told = output.stderr.to_lowercase();
        assert!(output.status != Some(0) && output.status != Some(124), "{name}: {:?}", output.status);
        assert!(told.contains(said), "{name}: {}", output.stderr);
        assert!(!told.contains("panicked"), "{name}: {}", output.stderr);
    }
    // Production takes no key that happens to lie about, and makes none.
    let output = gateway.run_elsewhere(&[], &["serve"]);
    assert!(output.status != Some(0) && output.status != Some(124), "{:?}", output.status);
    assert!(output.stderr.contains("master_key"), "{}", output.stderr);
}
