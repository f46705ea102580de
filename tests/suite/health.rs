//! `/healthz`, `/readyz`, and starting and stopping.

use quipu_tests::{Database, Gateway, on_both_databases};

on_both_databases!(
    health_and_readiness_need_no_credentials,
    a_folder_of_files_that_is_away_is_named,
    it_stops_and_starts_again_on_the_same_data,
);

async fn health_and_readiness_need_no_credentials(database: Database) {
    let gateway = Gateway::start(database).await;
    gateway.anonymous().get("/healthz").await.ok();
    let ready = gateway.anonymous().get("/readyz").await;
    ready.ok();
    for part in ["database", "migrations", "attachments"] {
        assert!(ready.text.contains(part), "{part} is not named: {ready}");
    }
}

async fn a_folder_of_files_that_is_away_is_named(database: Database) {
    let gateway = Gateway::start(database).await;
    let (folder, away) = (gateway.data_folder().join("attachments"), gateway.data_folder().join("away"));
    std::fs::rename(&folder, &away).expect("moved away");
    let ready = quipu_tests::eventually("the folder to be missed", async || {
        let ready = gateway.anonymous().get("/readyz").await;
        (ready.status != 200).then_some(ready)
    })
    .await;
    assert_eq!(ready.status, 503, "{ready}");
    let told = ready.json();
    let fine = ["database", "migrations", "attachments"].map(|part| told["checks"][part] == true);
    assert_eq!(fine, [true, true, false], "{ready}");
    assert!(
        told["problems"]["attachments"].as_str().is_some_and(|why| why.contains("attachments_url")),
        "{ready}"
    );
    gateway.anonymous().get("/healthz").await.ok();
    std::fs::rename(&away, &folder).expect("moved back");
    quipu_tests::eventually("the folder to be found again", async || {
        (gateway.anonymous().get("/readyz").await.status == 200).then_some(())
    })
    .await;
}

/// Nodes of an older release may still work on it: a person decides when it is migrated.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shared_database_is_not_migrated_by_a_start() {
    let empty = Gateway::start(Database::Postgres).await.elsewhere().await;
    let key = std::fs::read_to_string(empty.data_folder().join("master.key")).expect("the key of --dev");
    let told = empty.run_under(&[("QUIPU__MASTER_KEY", key.trim())], &["serve"]);
    assert_eq!(told.status, Some(2), "{}", told.stderr);
    assert!(told.stderr.contains("quipu migrate"), "{}", told.stderr);
    let tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'";
    assert_eq!(empty.query_sql(tables), [""; 0], "nothing was made");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_answer_is_named_and_found_again() {
    let gateway = Gateway::start(Database::Postgres).await;
    let (server, name) = gateway.postgres_url().and_then(|url| url.rsplit_once('/')).expect("a URL");
    let server = |statement: &str| {
        let output = std::process::Command::new("psql")
            .args(["--no-psqlrc", "--set=ON_ERROR_STOP=1", "--command", statement])
            .arg(format!("{server}/postgres"))
            .output();
        assert!(output.expect("psql can be run").status.success(), "{statement}");
    };
    server(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"));
    server(&format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"));
    // A connection ends some time after it was told to.
    let ready = quipu_tests::eventually("the database to be missed", async || {
        let ready = gateway.anonymous().get("/readyz").await;
        (ready.status != 200).then_some(ready)
    })
    .await;
    assert_eq!((ready.status, &ready.json()["checks"]["database"]), (503, &false.into()), "{ready}");
    gateway.anonymous().get("/healthz").await.ok();
    let refused = quipu_tests::eventually("a read to be refused", async || {
        let answer = gateway.v1().get("/api/v1/payments").await;
        (answer.status != 200).then_some(answer)
    })
    .await;
    refused.refused(503, "OVERLOADED");
    assert!(!refused.text.contains(name) && !refused.text.contains("connect"), "{refused}");
    server(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true"));
    quipu_tests::eventually("the database to be found again", async || {
        (gateway.anonymous().get("/readyz").await.status == 200).then_some(())
    })
    .await;
    gateway.v1().get("/api/v1/payments").await.ok();
}

async fn it_stops_and_starts_again_on_the_same_data(database: Database) {
    let mut gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("MXN", 1_234).await;
    let before = gateway.credential("/v1/api_key");
    assert_eq!(gateway.terminate().await, Some(0));
    gateway.restart().await;
    assert_eq!(gateway.credential("/v1/api_key"), before, "the demo merchant is the same");
    assert_eq!(merchant.moved_to(&gateway).balance("MXN").await, (1_234, 0));
    gateway.check();
}
