//! Bank files of the `manual` rail.

use quipu_tests::{Database, Gateway, Merchant, draft, on_both_databases};
use serde_json::{Value, json};

on_both_databases!(
    submitted_withdrawals_go_into_one_file_each,
    a_withdrawal_by_any_method_has_a_debtor,
    what_no_file_can_name_is_left_out_and_what_cannot_be_written_takes_nothing,
    a_statement_completes_pays_out_returns_and_parks,
    money_that_comes_twice_is_parked_whatever_reference_it_has,
    of_two_files_at_once_one_has_the_money_that_a_person_confirmed,
    a_malformed_statement_changes_nothing,
    an_import_that_fails_half_way_tells_how_far_it_came_and_is_finished_by_the_next,
);

/// A merchant whose SPEI route and Argentine withdrawals are on the manual rail.
pub(super) async fn merchant_by_hand(gateway: &Gateway) -> Merchant {
    let merchant = gateway.merchant().await;
    let account = json!({
        "bank_name": "Bank", "swift_code": "DEUTDEFF", "account_holder": "Quipu", "account_number": "646180157000000004",
    });
    merchant
        .edit_routes(|route| {
            if route["method"] == "spei" {
                route["rail"] = json!("manual");
                route["instructions"] = account.clone();
            }
        })
        .await;
    merchant
}

async fn withdrawal(gateway: &Gateway, merchant: &Merchant, submit: bool) -> String {
    let payout = json!({ "bank_account": "032180000118359719", "recipient_name": "Ana" });
    let id = merchant.create(&draft::withdrawal("MXN", "spei", 500, payout)).await;
    if submit {
        gateway.operator().post_empty(&format!("/operator/v1/payments/{id}/submit")).await.data();
    }
    id
}

pub(super) fn export(gateway: &Gateway, merchant: &Merchant) -> Value {
    let id = merchant.id.to_string();
    let out = gateway.data_folder().join("out.xml").display().to_string();
    // Sent to the bank.
    let _removed = std::fs::remove_file(&out);
    let words = [
        "bank",
        "export",
        "--merchant",
        &id,
        "--environment",
        "test",
        "--currency",
        "MXN",
        "--method",
        "spei",
        "--out",
        &out,
    ];
    serde_json::from_str(gateway.run(&words).ok()).expect("JSON")
}

pub(super) fn import(gateway: &Gateway, file: &str) -> Result<Value, String> {
    import_as(gateway, "statement.xml", file)
}

fn import_as(gateway: &Gateway, name: &str, file: &str) -> Result<Value, String> {
    let path = gateway.data_folder().join(name);
    std::fs::write(&path, file).expect("a file");
    let output = gateway.run(&["bank", "import", &path.display().to_string()]);
    match output.status {
        Some(0) => Ok(serde_json::from_str(&output.stdout).expect("JSON")),
        _ => Err(output.stderr),
    }
}

pub(super) fn entry(reference: &str, credit: bool, amount: &str, text: &str, returned: bool) -> String {
    let indicator = if credit { "CRDT" } else { "DBIT" };
    let reason = if returned { "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>" } else { "" };
    format!(
        "<Ntry><Amt Ccy=\"MXN\">{amount}</Amt><CdtDbtInd>{indicator}</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>\
         <AcctSvcrRef>{reference}</AcctSvcrRef><NtryDtls><TxDtls><Refs><EndToEndId>{text}</EndToEndId></Refs>\
         {reason}</TxDtls></NtryDtls></Ntry>"
    )
}

pub(super) fn statement(entries: &[String]) -> String {
    format!(
        "<Document xmlns=\"urn:iso:std:iso:20022:tech:xsd:camt.053.001.08\"><BkToCstmrStmt><Stmt><Id>S1</Id>\
         <Acct><Id><Othr><Id>646180157000000004</Id></Othr></Id></Acct>{}</Stmt></BkToCstmrStmt></Document>",
        entries.concat()
    )
}

async fn submitted_withdrawals_go_into_one_file_each(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = merchant_by_hand(&gateway).await;
    merchant.fund("MXN", 10_000).await;
    let submitted = withdrawal(&gateway, &merchant, true).await;
    let waiting = withdrawal(&gateway, &merchant, false).await;
    let first = export(&gateway, &merchant);
    assert_eq!((&first["payments"], &first["earlier_export_id"]), (&json!(1), &json!(null)), "{first}");
    let file = std::fs::read_to_string(gateway.data_folder().join("out.xml")).expect("the file");
    assert!(file.contains(&submitted) && !file.contains(&waiting), "{file}");
    assert!(file.contains("<InstdAmt Ccy=\"MXN\">5.00</InstdAmt>"), "{file}");
    let again = export(&gateway, &merchant);
    assert_eq!((&again["payments"], &again["earlier_export_id"]), (&json!(0), &first["export_id"]));
    gateway.operator().post_empty(&format!("/operator/v1/payments/{waiting}/submit")).await.data();
    let second = export(&gateway, &merchant);
    assert_eq!(second["payments"], 1);
    // The command that made it may have been killed before it could tell.
    let earlier = (&second["earlier_export_id"], &second["earlier_created_at"]);
    assert_eq!(earlier, (&first["export_id"], &first["created_at"]), "{second}");
    let file = std::fs::read_to_string(gateway.data_folder().join("out.xml")).expect("the file");
    assert!(file.contains(&waiting) && !file.contains(&submitted), "{file}");
    let id = first["export_id"].as_str().expect("an identifier");
    let out = gateway.data_folder().join("again.xml").display().to_string();
    gateway.run(&["bank", "rewrite", id, "--out", &out]).ok();
    let file = std::fs::read_to_string(&out).expect("the file");
    assert!(file.contains(&submitted) && !file.contains(&waiting), "the first file, once more");
    let refused = gateway.run(&["bank", "rewrite", id, "--out", &out]);
    assert!(refused.status == Some(2) && refused.stderr.contains("exists already"), "{}", refused.stderr);
}

async fn a_statement_completes_pays_out_returns_and_parks(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = merchant_by_hand(&gateway).await;
    merchant.fund("MXN", 10_000).await;
    let deposit = merchant.create(&draft::deposit_mxn(1_000)).await;
    let short = merchant.create(&draft::deposit_mxn(1_000)).await;
    let paid = withdrawal(&gateway, &merchant, true).await;
    let returned = withdrawal(&gateway, &merchant, true).await;
    let failed = withdrawal(&gateway, &merchant, true).await;
    gateway.operator().post_empty(&format!("/operator/v1/payments/{failed}/fail")).await.data();
    let shouted = deposit.to_uppercase().replace('_', " ");
    let file = statement(&[
        entry("R1", true, "10.00", &shouted, false),
        entry("R2", true, "9.99", &short, false),
        entry("R3", false, "5.00", &paid, false),
        entry("R4", false, "5.00", &returned, false),
        entry("R5", true, "5.00", &returned, true),
        entry("R6", true, "3.00", "rent", false),
        // It left all the same, and came back: a person must see both.
        entry("R7", false, "5.00", &failed, false),
        entry("R8", true, "5.00", &failed, true),
    ]);
    let first = import(&gateway, &file).expect("a statement");
    let counts = |report: &Value| ["entries", "applied", "known", "parked"].map(|name| report[name].as_i64());
    assert_eq!(counts(&first), [Some(8), Some(4), Some(0), Some(4)], "{first}");
    let again = import(&gateway, &file).expect("a statement");
    assert_eq!(counts(&again), [Some(8), Some(0), Some(8), Some(0)], "{again}");
    for (id, status, of_the_bank) in [
        (&deposit, "completed", json!("R1")),
        (&short, "processing", json!(null)),
        (&paid, "completed", json!("R3")),
        (&returned, "refunded", json!("R4")),
    ] {
        let view = super::seen(&gateway, id).await;
        assert_eq!((&view["status"], &view["provider_reference"]), (&json!(status), &of_the_bank), "{id}");
    }
    assert_eq!(merchant.balance("MXN").await, (10_500, 0));
    assert_eq!(gateway.operator().get("/operator/v1/receipts?status=parked").await.ok()["total"], 4);
    gateway.check();
}

async fn money_that_comes_twice_is_parked_whatever_reference_it_has(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = merchant_by_hand(&gateway).await;
    merchant.fund("MXN", 10_000).await;
    let (one, other) = (
        merchant.create(&draft::deposit_mxn(1_000)).await,
        merchant.create(&draft::deposit_mxn(1_000)).await,
    );
    let confirmed = merchant.create(&draft::deposit_mxn(1_000)).await;
    gateway.operator().post_empty(&format!("/operator/v1/payments/{confirmed}/complete")).await.data();
    let paid = withdrawal(&gateway, &merchant, true).await;
    let detail = |text: &str| {
        format!(
            "<TxDtls><Refs><AcctSvcrRef>B1</AcctSvcrRef><EndToEndId>{text}</EndToEndId></Refs>\
             <Amt Ccy=\"MXN\">10.00</Amt></TxDtls>"
        )
    };
    let batch = format!(
        "<Ntry><Amt Ccy=\"MXN\">20.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>\
         <AcctSvcrRef>B1</AcctSvcrRef><NtryDtls>{}{}</NtryDtls></Ntry>",
        detail(&one),
        detail(&other)
    );
    let first = statement(&[
        batch,
        entry("FEE", false, "0.00", "a fee of nothing", false),
        entry("C1", true, "10.00", &confirmed, false),
        entry("W1", false, "5.00", &paid, false),
    ]);
    let counts = |report: &Value| ["entries", "applied", "known", "parked"].map(|name| report[name].as_i64());
    let report = import(&gateway, &first).expect("a statement");
    assert_eq!(
        counts(&report),
        [Some(4), Some(3), Some(1), Some(0)],
        "a person confirmed one before: {report}"
    );
    let second = statement(&[
        entry("B2", true, "10.00", &one, false),
        entry("B1", true, "10.00", &other, false),
        entry("C2", true, "10.00", &confirmed, false),
        entry("W2", false, "5.00", &paid, false),
        entry("W1", true, "5.00", &paid, true),
        entry("W3", true, "5.00", &paid, true),
    ]);
    let report = import(&gateway, &second).expect("a statement");
    assert_eq!(counts(&report), [Some(6), Some(1), Some(1), Some(4)], "{report}");
    for file in [&first, &second] {
        let report = import(&gateway, file).expect("a statement");
        assert_eq!(report["known"], report["entries"], "a file read twice changes nothing: {report}");
    }
    let receipts = gateway.operator().get("/operator/v1/receipts?status=parked").await.ok();
    let receipts = receipts["data"].as_array().expect("a list");
    let reasons: Vec<_> = receipts.iter().map(|receipt| &receipt["reason"]).collect();
    assert_eq!(reasons, [&json!("contradiction"); 4]);
    assert_eq!(merchant.balance("MXN").await, (13_000, 0));
    gateway.check();
}

async fn of_two_files_at_once_one_has_the_money_that_a_person_confirmed(database: Database) {
    const PAYMENTS: i64 = 30;
    let gateway = Gateway::start(database).await;
    let merchant = merchant_by_hand(&gateway).await;
    let mut confirmed = Vec::new();
    for _ in 0..PAYMENTS {
        let id = merchant.create(&draft::deposit_mxn(1_000)).await;
        gateway.operator().post_empty(&format!("/operator/v1/payments/{id}/complete")).await.data();
        confirmed.push(id);
    }
    let files = ["A", "B"].map(|file| {
        let entries = confirmed.iter().enumerate();
        let entries = entries.map(|(row, id)| entry(&format!("{file}{row}"), true, "10.00", id, false));
        (format!("{file}.xml"), statement(&entries.collect::<Vec<_>>()))
    });
    let reports = std::thread::scope(|at_once| {
        let gateway = &gateway;
        let imports =
            files.each_ref().map(|(name, file)| at_once.spawn(move || import_as(gateway, name, file)));
        imports.map(|import| import.join().expect("no panic").expect("a statement"))
    });
    let count = |name: &str| reports.iter().filter_map(|report| report[name].as_i64()).sum::<i64>();
    assert_eq!([count("known"), count("parked"), count("applied")], [PAYMENTS, PAYMENTS, 0], "{reports:?}");
    let receipts = gateway.operator().get("/operator/v1/receipts?status=parked&limit=100").await.ok();
    let receipts = receipts["data"].as_array().expect("a list");
    let mut parked: Vec<_> = receipts.iter().filter_map(|receipt| receipt["payment_id"].as_str()).collect();
    parked.sort_unstable();
    confirmed.sort_unstable();
    assert_eq!(parked, confirmed, "the second money of each");
    gateway.check();
}

async fn what_no_file_can_name_is_left_out_and_what_cannot_be_written_takes_nothing(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("AUD", 2_000).await;
    let debtor = json!({ "account_holder": "Quipu Pty", "account_number": "12345678", "bsb": "062000" });
    merchant
        .edit_routes(|route| {
            if route["currency"] == "AUD" && route["direction"] == "withdrawal" {
                (route["rail"], route["instructions"]) = (json!("manual"), debtor.clone());
            }
        })
        .await;
    let payid = "averyveryverylongname.averyveryverylongname@example.com.au";
    let submitted = async |method: &str, payout: Value| {
        let id = merchant.create(&draft::withdrawal("AUD", method, 500, payout)).await;
        gateway.operator().post_empty(&format!("/operator/v1/payments/{id}/submit")).await.data();
        id
    };
    let by_name =
        submitted("payid", json!({ "payid": payid, "payid_type": "email", "recipient_name": "a\u{fffe}b" }))
            .await;
    let to = |number: String| json!({ "bank_account": number, "bsb": "062000", "recipient_name": "Ana" });
    let too_long = submitted("bank_transfer", to("1".repeat(40))).await;
    let usual = submitted("bank_transfer", to("12345678".to_owned())).await;

    let export = |method: &str, out: &str| {
        let words = format!(
            "bank export --merchant {} --environment test --currency AUD --method {method} --out {out}",
            merchant.id
        );
        gateway.run(&words.split(' ').collect::<Vec<_>>())
    };
    let out = gateway.data_folder().join("out.xml").display().to_string();
    let told: Value = serde_json::from_str(export("bank_transfer", &out).ok()).expect("JSON");
    let file = std::fs::read_to_string(&out).expect("the file");
    assert!(file.contains(&usual) && !file.contains(&too_long), "{file}");
    assert_eq!((&told["payments"], &told["left_out"][0]["transaction_id"]), (&json!(1), &json!(too_long)));
    assert!(told["left_out"][0]["reason"].as_str().is_some_and(|why| why.contains("34")), "{told}");

    let refused = export("payid", &out);
    assert!(refused.status == Some(2) && refused.stderr.contains("exists already"), "{}", refused.stderr);
    let refused = export("payid", "/nowhere/out.xml");
    assert!(refused.status == Some(2) && refused.stderr.contains("/nowhere/out.xml"), "{}", refused.stderr);
    let out = gateway.data_folder().join("payid.xml").display().to_string();
    let told: Value = serde_json::from_str(export("payid", &out).ok()).expect("JSON");
    assert_eq!(told["payments"], 1, "{told}");
    let file = std::fs::read_to_string(&out).expect("the file");
    assert!(file.contains(&by_name) && file.contains(&format!("<Id>{payid}</Id>")), "{file}");
    assert!(file.contains("<Nm>ab</Nm>"), "XML cannot hold the character between them: {file}");
    gateway.check();
}

async fn a_malformed_statement_changes_nothing(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = merchant_by_hand(&gateway).await;
    let deposit = merchant.create(&draft::deposit_mxn(1_000)).await;
    let good = statement(&[entry("R1", true, "10.00", &deposit, false)]);
    let cut = &good[..good.len() - 30];
    let bad_last =
        statement(&[entry("R1", true, "10.00", &deposit, false), entry("R2", true, "ten", "x", false)]);
    let entity =
        good.replace("<Document", "<!DOCTYPE d [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><Document");
    for file in [cut, &bad_last, &entity, "hello", ""] {
        assert!(import(&gateway, file).is_err(), "{file}");
        assert_eq!(merchant.api.payment(&deposit).await["status"], "processing");
    }
    import(&gateway, &good).expect("a statement");
    assert_eq!(merchant.api.payment(&deposit).await["status"], "completed");
    gateway.check();
}

async fn an_import_that_fails_half_way_tells_how_far_it_came_and_is_finished_by_the_next(database: Database) {
    const FUNCTION: &str = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
        $$ BEGIN RAISE EXCEPTION 'told to'; END $$";
    let gateway = Gateway::start(database).await;
    let merchant = merchant_by_hand(&gateway).await;
    let mut deposits = Vec::new();
    for _ in 0..3 {
        deposits.push(merchant.create(&draft::deposit_mxn(1_000)).await);
    }
    let entries = deposits.iter().enumerate();
    let entries = entries.map(|(row, id)| entry(&format!("R{row}"), true, "10.00", id, false));
    let file = statement(&entries.collect::<Vec<_>>());
    let refused = format!(
        "CREATE TRIGGER refuse BEFORE UPDATE ON payments FOR EACH ROW WHEN (NEW.id = '{}')",
        deposits[1]
    );
    let (trigger, repair) = match database {
        Database::Sqlite => {
            (format!("{refused} BEGIN SELECT RAISE (ABORT, 'told to'); END"), "DROP TRIGGER refuse")
        }
        Database::Postgres => {
            gateway.execute_sql(FUNCTION).expect("the owner of a database may do this");
            (format!("{refused} EXECUTE FUNCTION refuse()"), "DROP TRIGGER refuse ON payments")
        }
    };
    gateway.execute_sql(&trigger).expect("the owner of a database may do this");
    let told = import(&gateway, &file).expect_err("told to fail");
    assert!(told.contains("1 of 3 entries") && told.contains("run the command again"), "{told}");
    let log = gateway.operator().get("/operator/v1/audit-log?limit=5").await.data();
    let line = |action: &str| {
        let lines = log.as_array().expect("lines").iter();
        lines.filter(|line| line["action"] == action).map(|line| line["after"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(line("bank.import.begun"), [json!({ "entries": 3 })]);
    let ended = line("bank.import").pop().expect("a line");
    assert_eq!((&ended["entries"], &ended["applied"]), (&json!(3), &json!(1)), "{ended}");
    gateway.execute_sql(repair).expect("the owner of a database may do this");
    let report = import(&gateway, &file).expect("a statement");
    assert_eq!((&report["applied"], &report["known"]), (&json!(2), &json!(1)), "{report}");
    assert_eq!(merchant.balance("MXN").await, (3_000, 0));
    if database == Database::Postgres {
        gateway.execute_sql("DROP FUNCTION refuse()").expect("the owner of a database may do this");
    }
    gateway.check();
}

async fn a_withdrawal_by_any_method_has_a_debtor(database: Database) {
    let gateway = Gateway::start(database).await;
    let merchant = gateway.merchant().await;
    merchant.fund("AUD", 1_000).await;
    merchant
        .edit_routes(|route| {
            if route["method"] == "payid" && route["direction"] == "withdrawal" {
                route["rail"] = json!("manual");
                route["instructions"] =
                    json!({ "account_holder": "Quipu Pty", "account_number": "12345678", "bsb": "062000" });
            }
        })
        .await;
    let payout = json!({ "payid": "ana@example.com", "payid_type": "email", "recipient_name": "Ana" });
    let id = merchant.create(&draft::withdrawal("AUD", "payid", 500, payout)).await;
    gateway.operator().post_empty(&format!("/operator/v1/payments/{id}/submit")).await.data();
    let out = gateway.data_folder().join("payid.xml").display().to_string();
    let words = format!(
        "bank export --merchant {} --environment test --currency AUD --method payid --out {out}",
        merchant.id
    );
    gateway.run(&words.split(' ').collect::<Vec<_>>()).ok();
    let file = std::fs::read_to_string(&out).expect("the file");
    assert!(["Quipu Pty", "12345678", "062000", &id].iter().all(|text| file.contains(text)), "{file}");
}
