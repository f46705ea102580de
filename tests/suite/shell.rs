//! The commands of the binary, as an operator types them.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use quipu_tests::{Database, Gateway, draft, on_both_databases};
use serde_json::{Value, json};

on_both_databases!(
    a_merchant_is_onboarded_from_the_shell,
    the_shell_can_do_what_onboarding_needs,
    an_operators_token_ends_at_its_time_or_by_a_command,
    support_and_onboarding_work_from_the_shell,
    what_the_shell_does_with_money_it_does_once_under_a_key,
    what_the_shell_refuses_it_explains,
    migrating_twice_changes_nothing,
    who_migrates_a_new_database_at_once_shares_the_migrations,
    the_database_refuses_to_rewrite_the_books,
    what_was_done_and_cannot_be_told_is_not_called_refused,
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

async fn the_shell_can_do_what_onboarding_needs(database: Database) {
    let gateway = Gateway::start(database).await;
    let created = printed(&gateway, &["merchant", "create", "--name", "Tienda"]);
    let id = created["merchant_id"].to_string();
    assert_eq!(printed(&gateway, &["merchant", "rename", &id, "--name", "Tienda 2"])["name"], "Tienda 2");
    assert_eq!(printed(&gateway, &["merchant", "show", &id])["name"], "Tienda 2");
    let rotated = printed(&gateway, &["merchant", "rotate-webhook-secret", &id, "--environment", "test"]);
    let secret = &rotated["default_webhook_secret"];
    assert!(secret.is_string() && secret != &created["default_webhook_secrets"]["test"], "{rotated}");
    let shown = gateway.operator().get(&format!("/operator/v1/merchants/{id}")).await.data();
    assert_eq!(&shown["default_webhook_secret"], secret);

    let mut routes = printed(&gateway, &["merchant", "routes", &id]);
    routes["routes"].as_array_mut().expect("a list").retain(|route| route["currency"] == "MXN");
    let file = gateway.data_folder().join("routes.json");
    std::fs::write(&file, routes.to_string()).expect("written");
    let file = file.to_str().expect("UTF-8");
    assert_eq!(printed(&gateway, &["merchant", "routes", &id, "--replace-by", file]), routes);
    assert_eq!(gateway.operator().get(&format!("/operator/v1/merchants/{id}/routes")).await.data(), routes);

    let beneficiary = gateway.data_folder().join("beneficiary.json");
    let body = json!({ "environment": "test", "kind": "sepa", "iban": "DE89370400440532013000", "beneficiaryName": "Ana" });
    std::fs::write(&beneficiary, body.to_string()).expect("written");
    let add = ["merchant", "beneficiaries", &id, "--add", beneficiary.to_str().expect("UTF-8")];
    assert_eq!(printed(&gateway, &add)["ibanAccountId"], "1");
    assert_eq!(printed(&gateway, &["merchant", "beneficiaries", &id])["total"], 1);
    let adjust = |amount| {
        let reason = ["--currency", "MXN", "--amount", amount, "--reason", "pre-funding"];
        gateway.run(&[&["merchant", "adjust", &id, "--environment", "live"], &reason[..]].concat())
    };
    adjust("1000").ok();
    let left: Value = serde_json::from_str(adjust("-400").ok()).expect("JSON is printed");
    assert_eq!((&left["available"], &left["frozen"]), (&json!(600), &json!(0)));
    assert!(adjust("-601").stderr.contains("does not cover"));
    assert!(adjust("0").stderr.contains("not zero"));

    let limited = ["key", "create", &id, "--environment", "live", "--standard-per-minute", "7"];
    let key = printed(&gateway, &limited);
    assert_eq!(key["rate_limits"]["standard_per_minute"], 7);
    let key_id = key["key_id"].as_str().expect("a text");
    printed(&gateway, &["key", "revoke", &id, key_id]);
    assert!(printed(&gateway, &["key", "list", &id])["data"][0]["revoked_at"].is_string());

    let switched = printed(&gateway, &["merchant", "switch", &id, "--to", "v2"]);
    assert_eq!(switched["credentials"].as_array().map(Vec::len), Some(2));
    let limited = ["credential", "create", &id, "--environment", "test", "--standard-per-minute", "7"];
    let issued = printed(&gateway, &limited);
    assert_eq!(issued["rate_limits"]["standard_per_minute"], 7);
    let secret = issued["secret"].as_str().expect("the secret, once");
    gateway.anonymous().with_hmac(&id, secret).get("/api/v2/balance").await.ok();
    let credential_id = issued["credential_id"].as_str().expect("a text");
    printed(&gateway, &["credential", "revoke", &id, credential_id]);
    let listed = gateway.run(&["credential", "list", &id]);
    assert!(listed.ok().contains(credential_id) && !listed.stdout.contains(secret), "{}", listed.stdout);
}

async fn an_operators_token_ends_at_its_time_or_by_a_command(database: Database) {
    let gateway = Gateway::start(database).await;
    let create = |rest: &[&str]| {
        printed(&gateway, &[&["operator", "create", "--name", "Ana", "--role", "viewer"], rest].concat())
    };
    let (brief, revoked) = (create(&["--expires-in", "2s"]), create(&[]));
    assert!(brief["expires_at"].is_string() && revoked["expires_at"].is_null(), "{brief} {revoked}");
    let read = async |made: &Value| {
        let operator = gateway.anonymous().with_bearer(made["token"].as_str().expect("the token, once"));
        operator.get("/operator/v1/payments").await
    };
    read(&revoked).await.ok();
    let id = revoked["operator_id"].as_str().expect("an identifier");
    assert_eq!(printed(&gateway, &["operator", "revoke", id]), json!({ "revoked": id }));
    for (made, code) in [(&revoked, "TOKEN_INVALID"), (&brief, "TOKEN_EXPIRED")] {
        let refused = quipu_tests::eventually("the token to end", async || {
            let answer = read(made).await;
            (answer.status != 200).then_some(answer)
        });
        refused.await.refused(401, code);
    }
}

async fn support_and_onboarding_work_from_the_shell(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, operator) = (gateway.merchant().await, gateway.operator());
    let id = merchant.id.to_string();

    let logo = gateway.data_folder().join("logo.png");
    let picture = STANDARD.decode(crate::pages::PIXEL).expect("base64");
    std::fs::write(&logo, picture).expect("written");
    let look = ["page", "set", &id, "--name", "Tienda", "--accent", "#b4232f", "--logo"];
    let set = printed(&gateway, &[&look[..], &[logo.to_str().expect("UTF-8")]].concat());
    let page = operator.get(&merchant.operator_path("/page")).await.data();
    assert_eq!((&page["name"], &page["accent"]), (&json!("Tienda"), &json!("#b4232f")));
    let path = set["logo"].as_str().expect("a path");
    assert!(page["logo_url"].as_str().is_some_and(|url| url.ends_with(path)), "{page}");
    assert_eq!(printed(&gateway, &["page", "unset", &id])["accent"], json!(null));

    let urls = ["--success-url", "https://shop.example/thanks"];
    printed(&gateway, &[&["merchant", "return-urls", &id], &urls[..]].concat());
    let shown = operator.get(&merchant.operator_path("")).await.data();
    assert_eq!(shown["return_urls"]["success_url"], "https://shop.example/thanks");

    let wanted =
        ["--environment", "test", "--url", "https://shop.example/hooks", "--events", "payment.failed"];
    let made = printed(&gateway, &[&["webhook", "create", &id], &wanted[..]].concat());
    assert!(made["secret"].as_str().is_some_and(|secret| secret.starts_with("whsec_")), "{made}");
    let listed = printed(&gateway, &["webhook", "list", &id, "--environment", "test"]);
    assert_eq!((&listed["data"][0]["id"], &listed["total"]), (&made["id"], &json!(1)));
    assert_eq!(merchant.api.get("/api/v1/webhooks").await.ok()["data"][0]["id"], made["id"]);

    let secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let told = gateway.bash(&format!(
        "echo {secret} | $QUIPU webhook create {id} --environment live --url https://shop.example/hooks --secret-file -"
    ));
    assert!(told.ok().contains(secret), "{}", told.stdout);

    let opened = merchant.api.post("/api/v1/tickets", &json!({ "title": "No money" })).await.json();
    let ticket = opened["data"]["ticket_id"].as_str().expect("an identifier").to_owned();
    assert_eq!(printed(&gateway, &["ticket", "list", "--merchant", &id])["data"][0]["ticket_id"], ticket);
    assert_eq!(printed(&gateway, &["ticket", "assign", &ticket, "--to", "Olga"])["assignee"], "Olga");
    assert_eq!(printed(&gateway, &["ticket", "assign", &ticket])["assignee"], json!(null));
    printed(&gateway, &["ticket", "comment", &ticket, "--body", "a note", "--internal"]);
    printed(&gateway, &["ticket", "comment", &ticket, "--body", "We look into it"]);
    assert_eq!(printed(&gateway, &["ticket", "comments", &ticket])["total"], 2);
    let heard = merchant.api.get(&format!("/api/v1/tickets/{ticket}/comments")).await.ok();
    assert_eq!((&heard["data"][0]["body"], &heard["total"]), (&json!("We look into it"), &json!(1)));
    let resolve = ["ticket", "move", &ticket, "--to", "in_progress"];
    assert_eq!(printed(&gateway, &resolve)["status"], "in_progress");
    let summary = ["--to", "resolved", "--resolution-summary", "It came"];
    printed(&gateway, &[&["ticket", "move", &ticket], &summary[..]].concat());
    assert_eq!(printed(&gateway, &["ticket", "show", &ticket])["resolution_summary"], "It came");

    let lines = printed(&gateway, &["audit", "--merchant", &id]);
    let told = |action: &str| {
        lines["data"].as_array().is_some_and(|all| all.iter().any(|it| it["action"] == action))
    };
    for action in ["merchant.page", "webhook.create", "ticket.assign", "ticket.move", "ticket.comment"] {
        assert!(told(action), "{action}: {lines}");
    }
}

async fn what_the_shell_does_with_money_it_does_once_under_a_key(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    let id = merchant.id.to_string();
    merchant.fund("MXN", 900).await;
    let paid = merchant.create(&draft::deposit_mxn(100)).await;
    merchant.wait_for(&paid, "completed").await;
    let first = ["payment", "refund", &paid, "--amount", "40"];
    let told = gateway.run(&first);
    told.ok();
    let key = told.stderr.trim_end().rsplit(' ').next().expect("a key for whoever interrupts the command");
    assert_eq!(printed(&gateway, &[&first[..], &["--key", key]].concat())["replayed"], true);
    assert_eq!(printed(&gateway, &["payment", "refunds", &paid])["data"][0]["amount"], 40);
    let balances = printed(&gateway, &["merchant", "balances", &id, "--environment", "test"]);
    assert_eq!(balances["balances"][0]["available"], 960);
    let rest = ["payment", "refund", &paid, "--amount", "60", "--key", "the rest"];
    let mut refunded = printed(&gateway, &rest);
    refunded["replayed"] = json!(true);
    assert_eq!(printed(&gateway, &rest), refunded, "a key is answered with what it was answered first");
    assert_eq!(printed(&gateway, &["payment", "refunds", &paid])["total"], 2);

    let adjust = |amount| {
        let order =
            ["merchant", "adjust", &id, "--environment", "test", "--currency", "MXN", "--amount", amount];
        [&order[..], &["--reason", "a gift", "--key", "a gift"]].concat()
    };
    let given = printed(&gateway, &adjust("7"));
    let again = printed(&gateway, &adjust("7"));
    assert_eq!((&again["available"], &again["replayed"]), (&given["available"], &json!(true)));
    let other = gateway.run(&adjust("8"));
    assert!(other.stderr.contains("was used for something else"), "{}", other.stderr);
}

async fn what_the_shell_refuses_it_explains(database: Database) {
    let gateway = Gateway::start(database).await;
    let id = printed(&gateway, &["merchant", "create", "--name", "Tienda"])["merchant_id"].to_string();
    let (nobody, file) = ("999999", gateway.data_folder().join("wrong.json"));
    let payment = "pay_1763683200000_abcdefghjkmn";
    std::fs::write(&file, r#"{"routes": [{"environment": "moon"}]}"#).expect("written");
    let file = file.to_str().expect("UTF-8");
    for (arguments, said) in [
        (&["merchant", "show", nobody][..], "no merchant has the number"),
        (&["merchant", "suspend", nobody], "no merchant has the number"),
        (&["merchant", "switch", nobody, "--to", "v2"], "no merchant has the number"),
        (&["merchant", "routes", nobody], "no merchant has the number"),
        (&["page", "set", nobody], "no merchant has the number"),
        (&["page", "set", &id, "--accent", "red"], "#rrggbb"),
        (&["page", "set", &id, "--logo", file], "PNG or WebP"),
        (
            &["webhook", "create", nobody, "--environment", "test", "--url", "https://x.example"],
            "no merchant has the number",
        ),
        (&["webhook", "create", &id, "--environment", "live", "--url", "http://x.example"], "url must"),
        (&["ticket", "show", "00000000-0000-4000-8000-000000000000"], "no ticket has the identifier"),
        (&["merchant", "return-urls", &id, "--success-url", "javascript:x"], "http or https"),
        (&["audit", "--from", "yesterday"], "ISO 8601"),
        (&["merchant", "routes", &id, "--replace-by", file], "routes.0.environment must be"),
        (&["merchant", "routes", &id, "--replace-by", "nowhere"], "nowhere cannot be read"),
        (&["merchant", "create", "--name", ""], "must not be empty"),
        (&["merchant", "create", "--name", "a\nb"], "control characters"),
        (&["page", "set", &id, "--name", "  "], "must not be blank"),
        (&["payment", "complete", payment, "--rail-reference", "a\nb"], "control characters"),
        (&["payment", "fail", payment, "--reason", &"x".repeat(501)], "at most 500 characters"),
        (
            &["payment", "refund", payment, "--amount", "1", "--ticket", &"x".repeat(65)],
            "at most 64 characters",
        ),
        (&["merchant", "switch", &id, "--to", "v1"], "on this version already"),
        (&["key", "list", nobody], "no merchant has the number"),
        (&["key", "revoke", &id, "nothing"], "no such key"),
        (&["key", "create", &id], "--environment"),
        (&["key", "create", &id, "--environment", "prod"], "test, live"),
        (&["key", "create", &id, "--environment", "test", "--scopes", "payments.steal"], "known scopes"),
        (
            &["key", "create", &id, "--environment", "test", "--expires-at", "2020-01-01T00:00:00Z"],
            "in the future",
        ),
        (&["key", "create", &id, "--environment", "test", "--create-per-minute", "0"], "from 1 to"),
        (&["credential", "revoke", &id, "nothing"], "no such credential"),
        (&["operator", "create", "--name", "Ana", "--role", "boss"], "admin, finance, support, viewer"),
        (
            &["operator", "create", "--name", "Ana", "--role", "admin", "--expires-in", "0s"],
            "longer than nothing",
        ),
        (&["check", "--config", "nowhere.toml"], "nowhere.toml"),
    ] {
        let output = gateway.run(arguments);
        assert_eq!(output.status, Some(2), "{arguments:?}: {}", output.stderr);
        assert!(output.stderr.contains(said), "{arguments:?}: {}", output.stderr);
        assert_eq!(output.stdout, "", "{arguments:?}");
    }
}

async fn migrating_twice_changes_nothing(database: Database) {
    let gateway = Gateway::start(database).await;
    assert_eq!(printed(&gateway, &["migrate"])["applied"], json!([]));
    gateway.v1().get("/api/v1/balance").await.ok();
}

async fn who_migrates_a_new_database_at_once_shares_the_migrations(database: Database) {
    let empty = Gateway::start(database).await.elsewhere().await;
    let refused = empty.run(&["migrate", "--existing"]);
    assert_eq!(refused.status, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("restore a backup"), "{}", refused.stderr);
    let migrate = || printed(&empty, &["migrate"])["applied"].as_array().expect("a list").clone();
    let applied = std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(migrate)).collect();
        all.into_iter().flat_map(|one| one.join().expect("no panic")).collect::<Vec<_>>()
    });
    assert!(!applied.is_empty() && migrate().is_empty());
    let once: std::collections::BTreeSet<_> = applied.iter().map(ToString::to_string).collect();
    assert_eq!(once.len(), applied.len(), "{applied:?}");
    assert_eq!(printed(&empty, &["migrate", "--existing"])["applied"], json!([]));
    empty.check();
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_configuration_stops_the_start() {
    let gateway = Gateway::start(Database::Sqlite).await;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_read_tables_and_programs_read_json() {
    let gateway = Gateway::start(Database::Sqlite).await;
    printed(&gateway, &["merchant", "create", "--name", "Tienda"]);
    // `script` gives the command a terminal.
    let on_a_terminal =
        |words: &str| gateway.bash(&format!("script -qec \"$QUIPU {words}\" /dev/null")).ok().to_owned();
    let table = on_a_terminal("merchant list");
    let mut lines = table.lines().map(str::trim_end);
    let head: Vec<_> = lines.next().expect("a head").split_whitespace().collect();
    assert_eq!(head, ["MERCHANT_ID", "NAME", "API_VERSION", "STATUS", "CREATED_AT"]);
    assert!(lines.next().is_some_and(|line| line.contains("  Tienda  ")), "{table}");
    assert!(table.trim_end().ends_with("3 of 3"), "{table}");
    assert!(on_a_terminal("check").lines().any(|line| line.split_whitespace().eq(["clean", "true"])));
    let asked: Value = serde_json::from_str(&on_a_terminal("merchant list --json")).expect("JSON");
    assert_eq!(asked, printed(&gateway, &["merchant", "list"]));
}

async fn what_was_done_and_cannot_be_told_is_not_called_refused(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = printed(&gateway, &["merchant", "create", "--name", "Tienda"])["merchant_id"].to_string();
    let adjust =
        format!("$QUIPU merchant adjust {merchant} --environment test --currency UYU --amount 7 --reason x");
    let untold = gateway.bash(&format!("{adjust} > /dev/full"));
    assert_eq!(untold.status, Some(3), "{}", untold.stderr);
    let (_, repeat) = untold.stderr.rsplit_once("repeat it with ").expect("how to repeat it");
    let (key, _) = repeat.split_once(',').expect("the key");
    let again: Value = serde_json::from_str(gateway.bash(&format!("{adjust} {key}")).ok()).expect("JSON");
    assert_eq!((&again["replayed"], &again["available"]), (&json!(true), &json!(7)));

    // A pipe whose reader has ended. The answer of a change must be read; a list may be cut short.
    let without_reader = |words: &str| format!("exec 3> >(true); wait $!; $QUIPU {words} >&3");
    let unseen = gateway.bash(&without_reader("operator create --name Ana --role admin"));
    assert_eq!(unseen.status, Some(3));
    let staff = printed(&gateway, &["operator", "list"])["data"].to_string();
    let (_, id) = unseen.stderr.split_once("operator_id ").expect("who was made");
    assert!(staff.contains(id.split(')').next().expect("an identifier")), "{}", unseen.stderr);
    assert!(!unseen.stderr.contains("qp_op_"), "{}", unseen.stderr);
    assert_eq!(gateway.bash(&without_reader("merchant list")).status, Some(0));
    assert_eq!(gateway.bash("$QUIPU merchant list > /dev/full").status, Some(2));

    assert_eq!(gateway.bash("$QUIPU merchant show 999999 2> /dev/full").status, Some(2));
    // Nor does a word that is not UTF-8 stop it.
    let unread = gateway.bash(r"$QUIPU bank import $'\xff.xml'");
    assert!(unread.status == Some(2) && unread.stderr.contains("cannot be read"), "{}", unread.stderr);
}
