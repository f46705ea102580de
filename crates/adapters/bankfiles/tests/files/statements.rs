//! Statements and notifications.

use quipu_bankfiles::{StatementProblem, read_statement};
use quipu_payments::{
    BankEntry,
    Side::{Credit, Debit},
};

use super::assert_valid;

const STATEMENT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>
<GrpHdr><MsgId>M1</MsgId><CreDtTm>2026-11-21T12:00:00Z</CreDtTm></GrpHdr>
<Stmt><Id>S1</Id><Acct><Id><Othr><Id>646180157000000004</Id></Othr></Id></Acct>
<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="MXN">99.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-11-21</Dt></Dt></Bal>
<Ntry><Amt Ccy="MXN">1000.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><AcctSvcrRef>R1</AcctSvcrRef>
 <BkTxCd><Prtry><Cd>TRF</Cd></Prtry></BkTxCd>
 <NtryDtls><TxDtls><Refs><EndToEndId>NOTPROVIDED</EndToEndId></Refs><Amt Ccy="MXN">1000.00</Amt><CdtDbtInd>CRDT</CdtDbtInd>
 <RmtInf><Ustrd>pay_1763683200000_abcdefghjkmn &amp; thanks &#x2713;</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>
<Ntry><Amt Ccy="MXN">5.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>PDNG</Cd></Sts><BkTxCd><Prtry><Cd>TRF</Cd></Prtry></BkTxCd></Ntry>
<Ntry><Amt Ccy="MXN">30.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><AcctSvcrRef>R2</AcctSvcrRef>
 <BkTxCd><Prtry><Cd>TRF</Cd></Prtry></BkTxCd>
 <NtryDtls><TxDtls><Refs><EndToEndId>first</EndToEndId></Refs><Amt Ccy="MXN">10.00</Amt><CdtDbtInd>DBIT</CdtDbtInd></TxDtls>
 <TxDtls><Refs><EndToEndId>second</EndToEndId></Refs><Amt Ccy="MXN">20.00</Amt><CdtDbtInd>DBIT</CdtDbtInd></TxDtls></NtryDtls></Ntry>
<Ntry><Amt Ccy="MXN">20.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><AcctSvcrRef>R3</AcctSvcrRef>
 <BkTxCd><Prtry><Cd>TRF</Cd></Prtry></BkTxCd>
 <NtryDtls><TxDtls><Refs><EndToEndId>second</EndToEndId></Refs><Amt Ccy="MXN">20.00</Amt><CdtDbtInd>CRDT</CdtDbtInd>
 <RtrInf><Rsn><Cd>AC04</Cd></Rsn><AddtlInf>closed account</AddtlInf></RtrInf></TxDtls></NtryDtls></Ntry>
</Stmt></BkToCstmrStmt></Document>"#;

fn read(file: &str) -> Result<Vec<BankEntry>, StatementProblem> {
    let mut entries = Vec::new();
    read_statement(file.as_bytes(), |entry| entries.push(entry)).map(|()| entries)
}

#[test]
fn a_statement_gives_its_booked_movements_one_by_one() {
    assert_valid(STATEMENT.as_bytes(), "camt.053.001.08");
    let entries = read(STATEMENT).expect("a statement");
    let told: Vec<_> = entries
        .iter()
        .map(|entry| (entry.reference.as_str(), entry.side, entry.is_return, entry.amount.get()))
        .collect();
    assert_eq!(
        told,
        [
            ("R1", Credit, false, 100_000),
            ("R2", Debit, false, 1_000),
            ("R2", Debit, false, 2_000),
            ("R3", Credit, true, 2_000),
        ]
    );
    assert!(entries.iter().all(|entry| entry.account == "646180157000000004" && entry.statement == 1));
    let sent_as = entries.iter().map(|entry| entry.end_to_end_id.as_deref());
    assert!(sent_as.eq(["NOTPROVIDED", "first", "second", "second"].map(Some)), "{entries:?}");
    assert!(entries[0].texts.contains(&"pay_1763683200000_abcdefghjkmn & thanks ✓".to_owned()));
    assert_eq!(entries[3].return_reason.as_deref(), Some("AC04 closed account"));
}

#[test]
fn a_notification_tells_of_the_same_movement_under_the_same_name() {
    let notification = STATEMENT
        .replace("camt.053", "camt.054")
        .replace("BkToCstmrStmt", "BkToCstmrDbtCdtNtfctn")
        .replace("<Stmt>", "<Ntfctn>")
        .replace("</Stmt>", "</Ntfctn>");
    let (start, end) =
        (notification.find("<Bal>").expect("a balance"), notification.find("</Bal>").expect("its end"));
    let notification = format!("{}{}", &notification[..start], &notification[end + "</Bal>".len()..]);
    assert_valid(notification.as_bytes(), "camt.054.001.08");
    assert_eq!(read(&notification).expect("a notification"), read(STATEMENT).expect("a statement"));
}

#[test]
fn the_root_may_declare_other_namespaces_too() {
    let other = "urn:iso:std:iso:20022:tech:xsd:head.001.001.01";
    let beside = STATEMENT.replacen("<Document ", &format!("<Document xmlns:a=\"{other}\" "), 1);
    let after = STATEMENT.replacen("001.08\">", &format!("001.08\" xmlns:b=\"{other}\">"), 1);
    for file in [beside, after] {
        assert_eq!(read(&file).expect("a statement"), read(STATEMENT).expect("a statement"));
    }
}

#[test]
fn a_statement_may_lie_in_an_envelope() {
    let document = STATEMENT.split_once("?>\n").expect("a declaration").1;
    let head = "urn:iso:std:iso:20022:tech:xsd:head.003.001.01";
    let camt = "urn:iso:std:iso:20022:tech:xsd:camt.053.001.08";
    let plain = document.replacen(&format!(" xmlns=\"{camt}\""), "", 1);
    let prefixed = plain.replace('<', "<c:").replace("<c:/", "</c:");
    let expected = read(STATEMENT).expect("a statement");
    for file in [
        format!("<BizMsgEnvlp xmlns=\"{head}\"><Hdr/><Doc>{document}</Doc></BizMsgEnvlp>"),
        format!("<Exchange><Message>{document}</Message></Exchange>"),
        format!("<e:Envelope xmlns:e=\"{head}\" xmlns:c=\"{camt}\">{prefixed}</e:Envelope>"),
    ] {
        assert_eq!(read(&file).expect("a statement"), expected, "{file}");
    }
    let another = document.replace("camt.053", "pain.002");
    assert!(read(&format!("<Envelope xmlns=\"{camt}\">{another}</Envelope>")).is_err());
}

#[test]
fn a_movement_of_a_whole_file_of_orders_tells_which_file_it_was() {
    let batch = "<NtryDtls><Btch><MsgId>exp_1</MsgId><PmtInfId>exp_1</PmtInfId><NbOfTxs>2</NbOfTxs></Btch></NtryDtls>";
    let (start, end) = (
        STATEMENT.find("<NtryDtls><TxDtls><Refs><EndToEndId>first").expect("details"),
        STATEMENT.find("</TxDtls></NtryDtls></Ntry>\n<Ntry><Amt Ccy=\"MXN\">20.00").expect("their end"),
    );
    let file = format!("{}{batch}{}", &STATEMENT[..start], &STATEMENT[end + "</TxDtls></NtryDtls>".len()..]);
    assert_valid(file.as_bytes(), "camt.053.001.08");
    let entries = read(&file).expect("a statement");
    assert_eq!((entries[1].amount.get(), entries[1].texts.as_slice()), (3_000, &["exp_1".to_owned()][..]));
}

#[test]
fn what_is_no_whole_statement_is_refused() {
    for (what, file) in [
        ("cut off", &STATEMENT[..STATEMENT.len() - 20]),
        ("nothing", ""),
        ("no XML", "hello"),
        ("another document", "<Document xmlns=\"urn:iso:std:iso:20022:tech:xsd:pain.002.001.03\"/>"),
        ("another root", "<Statement/>"),
    ] {
        assert!(read(file).is_err(), "{what}");
    }
    for (from, to) in [
        ("<Amt Ccy=\"MXN\">10.00</Amt>", "<Amt Ccy=\"MXN\">10,00</Amt>"),
        ("<Amt Ccy=\"MXN\">10.00</Amt>", "<Amt Ccy=\"pesos\">10.00</Amt>"),
        ("<CdtDbtInd>DBIT</CdtDbtInd>", "<CdtDbtInd>BOTH</CdtDbtInd>"),
        ("</Ntry>", "</Entry>"),
        ("&amp;", "&bank;"),
        ("<Document", "<!DOCTYPE Document [<!ENTITY bank SYSTEM \"file:///etc/passwd\">]><Document"),
        ("</Document>", "</Document><Document/>"),
        ("</Document>", "</Document>more"),
        ("</Document>", "</Document><![CDATA[more]]>"),
        ("</Document>", "</Document>&#49;"),
        ("</Document>", "</Document>&amp;"),
        ("<Stmt>", &format!("{}<Stmt>", "<a>".repeat(100))),
    ] {
        assert!(read(&STATEMENT.replace(from, to)).is_err(), "{to}");
    }
}

#[test]
fn a_long_text_does_not_fill_the_memory() {
    let half = "x".repeat(10_000);
    let read =
        |text: &str| read(&STATEMENT.replace("pay_1763683200000_abcdefghjkmn &amp; thanks &#x2713;", text));
    for long in [half.repeat(2), format!("{half}&amp;{half}"), format!("{half}<![CDATA[{half}]]>")] {
        assert!(matches!(read(&long), Err(StatementProblem::TooLong)));
    }
    assert_eq!(read(&half).expect("a statement")[0].texts.last(), Some(&half), "it is twenty fields long");
}

#[test]
fn a_character_that_xml_does_not_allow_is_refused_however_it_is_written() {
    let read = |text: &str| read(&STATEMENT.replace("thanks", text));
    for text in
        ["&#0;", "&#x1;", "\u{1}", "&#xb;", "&#x1f;", "\u{1f}", "&#xfffe;", "\u{ffff}", "<![CDATA[\u{8}]]>"]
    {
        assert!(matches!(read(text), Err(StatementProblem::Malformed(_))), "{text:?}");
    }
    for text in ["&#9;", "&#xa;", "&#x85;", "&#xfffd;", "&#x1f600;", "\u{1f600}", "\t\r\n"] {
        assert!(read(text).is_ok(), "{text:?}");
    }
}

#[test]
fn a_movement_of_nothing_is_passed_over() {
    let file = STATEMENT.replace("<Amt Ccy=\"MXN\">10.00</Amt>", "<Amt Ccy=\"MXN\">0.00</Amt>");
    let entries = read(&file.replace("<Amt Ccy=\"MXN\">30.00</Amt>", "<Amt Ccy=\"MXN\">20.00</Amt>"));
    let amounts: Vec<_> = entries.expect("a statement").iter().map(|entry| entry.amount.get()).collect();
    assert_eq!(amounts, [100_000, 2_000, 2_000]);
}

#[test]
fn what_the_bank_gives_no_reference_is_told_apart_by_its_place_its_day_and_its_text() {
    let read = |from: &str, to: &str| {
        let plain = STATEMENT
            .replace("<AcctSvcrRef>R1</AcctSvcrRef>", "<BookgDt><Dt>2026-11-21</Dt></BookgDt>")
            .replace("<AcctSvcrRef>R2</AcctSvcrRef>", "");
        let entries = read(&plain.replace(from, to)).expect("a statement");
        entries.into_iter().map(|entry| entry.reference).collect::<Vec<_>>()
    };
    let told = read("", "");
    assert_eq!(told, ["S1#1/0/2026-11-21/NOTPROVIDEDpay_176368320", "S1#3/0//first", "S1#3/1//second", "R3"]);
    assert_eq!(read("2026-11-21</Dt></BookgDt>", "2026-11-22</Dt></BookgDt>")[1..], told[1..]);
    assert_ne!(read("2026-11-21</Dt></BookgDt>", "2026-11-22</Dt></BookgDt>")[0], told[0]);
    assert_ne!(read(">first<", ">other<")[1], told[1]);
}

#[test]
fn details_that_are_not_what_was_booked_are_one_movement() {
    let file = STATEMENT.replace("<Amt Ccy=\"MXN\">30.00</Amt>", "<Amt Ccy=\"MXN\">15.00</Amt>");
    let entries = read(&file).expect("a statement");
    assert_eq!(entries.iter().map(|entry| entry.amount.get()).collect::<Vec<_>>(), [100_000, 1_500, 2_000]);
    assert_eq!(entries[1].end_to_end_id, None, "neither is that of the whole");
    assert!(["first", "second"].iter().all(|text| entries[1].texts.iter().any(|told| told == text)));
}

#[test]
fn details_that_go_both_ways_are_told_apart_where_they_come_to_what_was_booked() {
    let second = "<Refs><EndToEndId>second</EndToEndId></Refs><Amt Ccy=\"MXN\">20.00</Amt><CdtDbtInd>DBIT";
    let opposite = second.replace("20.00", "4.00").replace("DBIT", "CRDT");
    for (booked, expected) in [
        ("6.00", &[(Debit, 1_000), (Credit, 400)][..]),
        ("14.00", &[(Debit, 1_400)]),
        ("4.00", &[(Debit, 400)]),
    ] {
        let file = STATEMENT.replacen(second, &opposite, 1).replacen(
            "<Ntry><Amt Ccy=\"MXN\">30.00</Amt>",
            &format!("<Ntry><Amt Ccy=\"MXN\">{booked}</Amt>"),
            1,
        );
        let entries = read(&file).expect("a statement");
        let of_batch = &entries[1..entries.len() - 1];
        let told: Vec<_> = of_batch.iter().map(|entry| (entry.side, entry.amount.get())).collect();
        assert_eq!(told, expected, "{booked}");
    }
}

#[test]
fn details_without_amounts_are_one_movement_with_all_their_texts() {
    let without = |amount: &str| {
        STATEMENT.replacen(&format!("<Amt Ccy=\"MXN\">{amount}</Amt><CdtDbtInd>DBIT"), "<CdtDbtInd>DBIT", 1)
    };
    let neither =
        without("10.00").replacen("<Amt Ccy=\"MXN\">20.00</Amt><CdtDbtInd>DBIT", "<CdtDbtInd>DBIT", 1);
    for file in [without("10.00"), without("20.00"), neither] {
        let entries = read(&file).expect("a statement");
        assert_eq!((entries.len(), entries[1].amount.get(), entries[1].is_return), (3, 3_000, false));
        assert_eq!(entries[1].texts, ["first", "second"]);
        let back = "</CdtDbtInd><RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf></TxDtls></NtryDtls>";
        let file = file.replacen("</CdtDbtInd></TxDtls></NtryDtls>", back, 1);
        let returned = &read(&file).expect("a statement")[1];
        assert_eq!((returned.is_return, returned.return_reason.as_deref()), (true, Some("AC04")));
    }
}

#[test]
fn a_reversal_undoes_a_movement() {
    for (word, is_return) in [("true", true), ("1", true), ("false", false), ("0", false)] {
        let reversal = format!("</Amt><CdtDbtInd>DBIT</CdtDbtInd><RvslInd>{word}</RvslInd><Sts>");
        let file = STATEMENT.replacen("</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>", &reversal, 1);
        assert_valid(file.as_bytes(), "camt.053.001.08");
        let told: Vec<_> = read(&file).expect("a statement").iter().map(|entry| entry.is_return).collect();
        assert_eq!(
            told,
            [false, is_return, is_return, true],
            "{word}: of all details, and of no other entry"
        );
    }
}

#[test]
fn a_problem_names_the_entry_by_its_place_in_the_file() {
    let (head, statement) = STATEMENT.split_once("<Stmt>").expect("a statement");
    let first = statement.replace("</BkToCstmrStmt></Document>", "");
    let told = |second: &str| {
        let file = format!("{head}<Stmt>{first}<Stmt>{second}");
        read(&file).expect_err("something is wrong").to_string()
    };
    for (from, to, problem) in [
        ("<Amt Ccy=\"MXN\">1000.00", "<Amt Ccy=\"MXN\">1000,00", "entry 5 has no valid amount"),
        ("<Sts><Cd>PDNG</Cd></Sts>", "", "entry 6 has no valid status"),
        ("<Amt Ccy=\"MXN\">10.00", "<Amt Ccy=\"pesos\">10.00", "entry 7 has no valid currency"),
        (
            "<Amt Ccy=\"MXN\">20.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>",
            "<Amt Ccy=\"MXN\">20.00</Amt><CdtDbtInd>CR</CdtDbtInd><Sts>",
            "entry 8 has no valid credit or debit indicator",
        ),
    ] {
        assert_eq!(told(&statement.replacen(from, to, 1)), problem, "{to}");
    }
}

#[test]
fn a_single_detail_that_contradicts_its_entry_does_not_count() {
    let quoted = STATEMENT.replacen(
        "<Amt Ccy=\"MXN\">1000.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>",
        "<Amt Ccy=\"MXN\">990.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>",
        1,
    );
    assert_ne!(quoted, STATEMENT);
    let entry = &read(&quoted).expect("a statement")[0];
    assert_eq!((entry.amount.get(), entry.side), (99_000, Debit));
    assert!(entry.texts.iter().any(|text| text.starts_with("pay_")), "its texts count: {:?}", entry.texts);
    // The other way round, and as a return.
    let (head, last) = STATEMENT.rsplit_once("<CdtDbtInd>CRDT</CdtDbtInd>").expect("an indicator");
    let quoted = format!("{head}<CdtDbtInd>DBIT</CdtDbtInd>{last}");
    let entry = &read(&quoted).expect("a statement")[3];
    assert_eq!((entry.amount.get(), entry.side, entry.is_return), (2_000, Credit, true));
}

#[test]
fn a_word_that_stands_for_no_reference_is_none() {
    let without = |from: &str| {
        let plain = STATEMENT.replace("<AcctSvcrRef>R3</AcctSvcrRef>", from);
        read(&plain).expect("a statement").pop().expect("an entry").reference
    };
    let stand_in = without("");
    assert!(stand_in.starts_with("S1#4/0/"), "{stand_in}");
    for word in ["NONREF", "NotProvided", "noref"] {
        assert_eq!(without(&format!("<AcctSvcrRef>{word}</AcctSvcrRef>")), stand_in);
    }
    assert_eq!(without("<AcctSvcrRef>NONREF1</AcctSvcrRef>"), "NONREF1");
}

#[test]
fn a_statement_gives_its_movements_the_same_references_alone_and_behind_another() {
    let plain =
        STATEMENT.replace("<AcctSvcrRef>R1</AcctSvcrRef>", "").replace("<AcctSvcrRef>R2</AcctSvcrRef>", "");
    let (head, statement) = plain.split_once("<Stmt>").expect("a statement");
    let second = statement.replace("<Id>S1</Id>", "<Id>S2</Id>");
    let first = statement.replace("</BkToCstmrStmt></Document>", "");
    let references = |file: &str| {
        let entries = read(file).expect("a file").into_iter().rev().take(4);
        entries.map(|entry| entry.reference).collect::<Vec<_>>()
    };
    let both = references(&format!("{head}<Stmt>{first}<Stmt>{second}"));
    assert_eq!(both, references(&format!("{head}<Stmt>{second}")));
}

#[test]
fn the_day_is_told_beside_the_banks_own_reference_and_pages_are_one_statement() {
    let day = "<BookgDt><DtTm>2026-11-21T23:30:00-05:00</DtTm></BookgDt>";
    let dated = STATEMENT.replace("<AcctSvcrRef>R1", &format!("{day}<AcctSvcrRef>R1"));
    let days = read(&dated).expect("a statement").into_iter().map(|entry| entry.day).collect::<Vec<_>>();
    assert_eq!(days[..2], [Some("20261121".to_owned()), Some(String::new())]);
    assert!(read(&dated.replace("<AcctSvcrRef>R1</AcctSvcrRef>", "")).expect("a statement")[0].day.is_none());

    let (head, statement) = STATEMENT.split_once("<Stmt>").expect("a statement");
    let first = statement.replace("</BkToCstmrStmt></Document>", "");
    let numbers = |second: &str| {
        let file = format!("{head}<Stmt>{first}<Stmt>{}", statement.replace("<Id>S1</Id>", second));
        let entries = read(&file).expect("two statements");
        (entries[0].statement, entries.last().expect("an entry").statement)
    };
    let page = |id: &str, page: u32| {
        numbers(&format!(
            "<Id>{id}</Id><StmtPgntn><PgNb>{page}</PgNb><LastPgInd>true</LastPgInd></StmtPgntn>"
        ))
    };
    assert_eq!((page("S1", 2), page("S2", 2), page("S1", 1)), ((1, 1), (1, 2), (1, 2)));
    assert_eq!(numbers("<Id>S2</Id>"), (1, 2));
}

#[test]
fn an_element_with_thousands_of_attributes_is_refused() {
    use std::fmt::Write as _;
    let mut many = String::from("<Document");
    (0..1_000).for_each(|number| write!(many, " a{number}=\"\"").expect("a string takes it"));
    assert!(read(&STATEMENT.replacen("<Document", &many, 1)).is_err());
}

#[test]
fn the_pages_of_a_statement_name_their_movements_apart() {
    let plain = STATEMENT.replace("<AcctSvcrRef>R1</AcctSvcrRef>", "");
    let page = |number: u32| {
        let pages =
            format!("<Id>S1</Id><StmtPgntn><PgNb>{number}</PgNb><LastPgInd>false</LastPgInd></StmtPgntn>");
        let file = plain.replace("<Id>S1</Id>", &pages);
        assert_valid(file.as_bytes(), "camt.053.001.08");
        read(&file).expect("a statement").remove(0).reference
    };
    let (first, second) = (page(1), page(2));
    assert_eq!(first, read(&plain).expect("a statement")[0].reference, "the first is like a whole one");
    assert!(second.starts_with("S1/2#1/0/") && second != first, "{second}");
    // The older versions count the pages of the whole message.
    let page = |number: u32| {
        let pages =
            format!("<MsgPgntn><PgNb>{number}</PgNb><LastPgInd>false</LastPgInd></MsgPgntn></GrpHdr>");
        let file = plain.replace("</GrpHdr>", &pages);
        assert_valid(file.as_bytes(), "camt.053.001.08");
        read(&file).expect("a statement").remove(0).reference
    };
    assert_eq!((page(1), page(2)), (first, second));
}

#[test]
fn a_page_without_a_statement_and_a_statement_of_two_pages_are_read_without_a_panic() {
    let pages = ["2", "3"].map(|number| format!("<StmtPgntn><PgNb>{number}</PgNb></StmtPgntn>")).concat();
    let outside = STATEMENT.replacen("<Stmt>", &format!("{pages}<Stmt>"), 1);
    let nameless = STATEMENT.replacen("<Id>S1</Id>", &format!("<Id></Id>{pages}"), 1);
    for file in [outside, nameless] {
        assert_ne!(file, STATEMENT);
        assert_eq!(read(&file).expect("a statement").len(), read(STATEMENT).expect("a statement").len());
    }
}

#[test]
fn an_entry_with_a_banks_own_status_is_passed_over() {
    for own in ["X", "BOOK"] {
        let own = format!("<Sts><Prtry>{own}</Prtry></Sts>");
        let file = STATEMENT.replace("<Sts><Cd>PDNG</Cd></Sts>", &own);
        assert_valid(file.as_bytes(), "camt.053.001.08");
        assert_eq!(read(&file).expect("a statement"), read(STATEMENT).expect("a statement"));
    }
}

#[test]
fn structured_texts_count_too() {
    for (structured, text) in [
        ("<RfrdDocInf><Nb>order-7</Nb></RfrdDocInf>", "order-7"),
        ("<CdtrRefInf><Ref>order-8</Ref></CdtrRefInf>", "order-8"),
        ("<AddtlRmtInf>order-9</AddtlRmtInf>", "order-9"),
    ] {
        let file =
            STATEMENT.replace("</Ustrd></RmtInf>", &format!("</Ustrd><Strd>{structured}</Strd></RmtInf>"));
        assert_valid(file.as_bytes(), "camt.053.001.08");
        assert!(read(&file).expect("a statement")[0].texts.contains(&text.to_owned()), "{structured}");
    }
}

#[test]
fn a_text_of_the_entry_counts_for_its_only_detail() {
    let file = STATEMENT.replace("<RmtInf>", "<AddtlTxInf>none</AddtlTxInf><RmtInf>").replace(
        "</NtryDtls></Ntry>\n<Ntry><Amt Ccy=\"MXN\">5.00",
        "</NtryDtls><AddtlNtryInf>of Ana</AddtlNtryInf></Ntry>\n<Ntry><Amt Ccy=\"MXN\">5.00",
    );
    let entries = read(&file).expect("a statement");
    assert!(entries[0].texts.contains(&"of Ana".to_owned()), "{:?}", entries[0].texts);
}

#[test]
fn what_cannot_be_read_is_not_called_malformed() {
    let folder = std::fs::File::open(env!("CARGO_MANIFEST_DIR")).expect("a folder");
    let problem = read_statement(std::io::BufReader::new(folder), |_| ()).expect_err("no file");
    assert!(matches!(problem, StatementProblem::Unreadable(_)), "{problem}");
}
