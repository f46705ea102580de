//! Who fills in where a withdrawal goes.

use quipu_tests::{Database, Gateway, draft::steered, on_both_databases};
use reqwest::Method;
use serde_json::{Value, json};

use super::{path_of, send_form, unfilled};

on_both_databases!(
    a_recipient_is_taken_once_and_judged_as_in_a_request,
    of_two_recipients_at_once_one_is_taken,
    whoever_comes_too_late_reads_how_the_payout_ended,
    nobody_is_paid_for_a_suspended_merchant,
    an_unfilled_withdrawal_expires_after_72_hours,
);

async fn a_recipient_is_taken_once_and_judged_as_in_a_request(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, visitor) = (gateway.merchant().await, gateway.anonymous());
    merchant.fund("AUD", 1_000).await;
    let created = merchant.api.create(&unfilled("AUD", "bank_transfer")).await.ok();
    assert_eq!((&created["status"], &created["payout"]), (&json!("pending"), &Value::Null));
    let (path, id) = (path_of(&created), created["transaction_id"].as_str().expect("an id"));
    let page = visitor.get(&path).await;
    for field in ["name=\"bsb\"", "name=\"bank_account\""] {
        assert!(page.text.contains(field), "{field}");
    }
    assert!(!page.text.contains("name=\"payid\""), "only what the route needs");
    let details = visitor.get(&format!("{path}/details")).await.ok();
    assert_eq!(details["recipient_required"], true);
    let form = format!("{path}/recipient");
    send_form(&visitor, &form, "bsb=12&bank_account=123456789").await.invalid("payout.bsb");
    send_form(&visitor, &form, "bsb=062000").await.invalid("payout.bank_account");
    send_form(&visitor, &form, "bsb=062000&bank_account=1&iban=x").await.invalid("payout.iban");
    let as_browser = [("content-type", "application/x-www-form-urlencoded"), ("accept", "text/html")];
    let wrong = visitor.send(Method::POST, &form, Some(b"bsb=12".to_vec()), &as_browser).await;
    assert!(wrong.status == 400 && wrong.text.contains("value=\"12\""), "the form comes back: {wrong}");
    assert_eq!(merchant.api.payment(id).await["status_version"], 1);
    let taken = send_form(&visitor, &form, "recipient_name=Ana&bsb=062000&bank_account=123456789").await;
    assert!(taken.status < 400, "{taken}");
    send_form(&visitor, &form, "bsb=062000&bank_account=987654321")
        .await
        .refused(400, "PAYMENT_ALREADY_PROCESSED");
    let record = merchant.wait_for(id, "completed").await;
    assert_eq!(
        record["payout"],
        json!({ "recipient_name": "Ana", "bsb": "062000", "bank_account": "123456789" })
    );
    assert_eq!(record["expires_at"], Value::Null, "it no longer waits for anybody");
    let page = visitor.get(&path).await;
    assert!(page.text.contains("6789") && !page.text.contains("123456789"), "the account is masked");
    gateway.check();
}

async fn of_two_recipients_at_once_one_is_taken(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, visitor) = (gateway.merchant().await, gateway.anonymous());
    merchant.fund("ARS", 1_000).await;
    let draft = steered(unfilled("ARS", "bank_transfer"), "hold");
    let form = format!("{}/recipient", path_of(&merchant.api.create(&draft).await.ok()));
    let (one, other) = tokio::join!(
        send_form(&visitor, &form, "recipient_name=One&bank_account=alias.one"),
        send_form(&visitor, &form, "recipient_name=Other&bank_account=alias.other"),
    );
    let taken = [&one, &other].iter().filter(|answer| answer.status < 400).count();
    assert_eq!(taken, 1, "{one}\n{other}");
}

async fn whoever_comes_too_late_reads_how_the_payout_ended(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, visitor) = (gateway.merchant().await, gateway.anonymous());
    merchant.fund("MXN", 4_000).await;
    let as_browser = [("content-type", "application/x-www-form-urlencoded"), ("accept", "text/html")];
    let send = async |created: &Value| {
        let form = format!("{}/recipient", path_of(created));
        let account = b"bank_account=032180000118359719".to_vec();
        visitor.send(Method::POST, &form, Some(account), &as_browser).await
    };
    let cancelled = merchant.api.create(&unfilled("MXN", "spei")).await.ok();
    let id = cancelled["transaction_id"].as_str().expect("an id");
    merchant.api.post(&format!("/api/v1/payments/{id}/cancel"), &json!({})).await.ok();
    let told = send(&cancelled).await;
    assert_eq!(told.status, 400, "{told}");
    assert!(told.text.contains("The payout was cancelled"), "{told}");
    assert!(!told.text.contains("already entered"), "{told}");
    let taken = merchant.api.create(&steered(unfilled("MXN", "spei"), "hold")).await.ok();
    assert!(send(&taken).await.status < 400);
    let told = send(&taken).await;
    assert!(told.status == 400 && told.text.contains("already entered"), "{told}");
    assert!(told.text.contains("9719") && told.text.contains("data-live=\"true\""), "the page of it: {told}");
    let again = visitor.get(&format!("{}/recipient", path_of(&taken))).await;
    let leads = again.header("location").is_some_and(|to| to.starts_with(&path_of(&taken)));
    assert!(again.status == 303 && leads, "the address leads to the page: {again}");
    let waiting = merchant.api.create(&steered(unfilled("MXN", "spei"), "hold")).await.ok();
    merchant.edit_routes(|route| route["enabled"] = json!(false)).await;
    let told = send(&waiting).await;
    assert!(
        told.status == 400 && told.text.contains("cannot take your account"),
        "the story says it: {told}"
    );
    let page = visitor.get(&path_of(&waiting)).await;
    assert!(page.status == 200 && page.text.contains("cannot take your account"), "{page}");
    assert!(!page.text.contains("name=\"bank_account\"") && page.text.contains("Fill in by"), "{page}");
    gateway.check();
}

async fn nobody_is_paid_for_a_suspended_merchant(database: Database) {
    let gateway = Gateway::start(database).await;
    let (merchant, visitor) = (gateway.merchant().await, gateway.anonymous());
    merchant.fund("MXN", 1_000).await;
    let path = path_of(&merchant.api.create(&unfilled("MXN", "spei")).await.ok());
    let turn = async |status: &str| {
        let own = format!("/operator/v1/merchants/{}", merchant.id);
        gateway.operator().patch(&own, &json!({ "status": status })).await.ok();
    };
    let fill =
        async || send_form(&visitor, &format!("{path}/recipient"), "bank_account=032180000118359719").await;
    turn("suspended").await;
    fill().await.refused(400, "METHOD_NOT_AVAILABLE");
    let page = visitor.get(&path).await;
    assert!(page.status == 200 && !page.text.contains("name=\"bank_account\""), "{page}");
    assert!(page.text.contains("cannot take your account"), "the story says it: {page}");
    turn("active").await;
    assert!(fill().await.status < 400);
    gateway.check();
}

async fn an_unfilled_withdrawal_expires_after_72_hours(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("MXN", 2_000).await;
    let created = merchant.api.create(&unfilled("MXN", "spei")).await.ok();
    let millis = |member: &str| quipu_kernel::Timestamp::parse(created[member].as_str().expect("an instant"));
    let (made, end) = (millis("created_at").expect("an instant"), millis("expires_at").expect("an instant"));
    assert_eq!(end.since(made), std::time::Duration::from_hours(72));
    let draft = steered(unfilled("MXN", "spei"), "expire");
    let expiring = merchant.api.create(&draft).await.ok();
    let id = expiring["transaction_id"].as_str().expect("an id");
    let record = merchant.wait_for(id, "expired").await;
    assert_eq!(record["failure"]["code"], "EXPIRED");
    let form = format!("{}/recipient", path_of(&expiring));
    let late = send_form(&gateway.anonymous(), &form, "bank_account=032180000118359719").await;
    late.refused(400, "PAYMENT_ALREADY_PROCESSED");
    gateway.check();
}
