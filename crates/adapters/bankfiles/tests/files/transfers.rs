//! Files of transfers.

use quipu_bankfiles::{Transfers, account_misfit, transfer_misfit, write_transfers};
use quipu_kernel::{Amount, Currency, Timestamp};
use quipu_payments::{BankAccount, Debtor, PayIdType, Proxy, ProxyKind, Transfer, WalletScheme};

use super::assert_valid;

fn amount(units: i64) -> Amount {
    Amount::new(units).expect("in range")
}

fn transfer(number: &str, clearing_code: Option<&str>, swift: Option<&str>) -> Transfer {
    Transfer {
        end_to_end_id: "pay_1763683200000_abcdefghjkmn".to_owned(),
        amount: amount(123_456),
        recipient: "Ana <Pérez> & Söhne".to_owned(),
        address: Some("Calle Ñandú 5, ".repeat(12)),
        tax_id: None,
        account: BankAccount {
            number: number.to_owned(),
            swift: swift.map(str::to_owned),
            clearing_code: clearing_code.map(str::to_owned),
            ..BankAccount::default()
        },
        remittance: Some("order-1".to_owned()),
    }
}

/// An account that is known by another name only.
fn named(kind: ProxyKind, name: &str) -> BankAccount {
    BankAccount { proxy: Some(Proxy { kind, name: name.to_owned() }), ..BankAccount::default() }
}

fn written(debtor: &Debtor, currency: Currency, transfers: &[Transfer]) -> Vec<u8> {
    let mut file = Vec::new();
    let contents = Transfers {
        message_id: "exp_1763683200000_abcdefgh",
        created_at: Timestamp::from_millis(1_763_683_200_123),
        currency,
        debtor,
        transfers,
    };
    write_transfers(&mut file, &contents).expect("memory takes it");
    file
}

#[test]
fn a_file_of_transfers_fits_the_published_schema() {
    let debtor = Debtor {
        name: "Quipu Pty".to_owned(),
        account: BankAccount {
            number: "DE89370400440532013000".to_owned(),
            swift: Some("DEUTDEFF".to_owned()),
            ..BankAccount::default()
        },
    };
    let transfers = [
        transfer("032180000118359719", None, None),
        transfer("12345678", Some("062000"), None),
        transfer("GE29NB0000000101904917", None, Some("TBCBGE22")),
        transfer("ZZ&&", None, Some("notabic1")),
        Transfer { address: None, remittance: None, ..transfer("ana@example.com", None, None) },
    ];
    let file = written(&debtor, Currency::MXN, &transfers);
    assert_valid(&file, "pain.001.001.09");
    let text = String::from_utf8(file).expect("UTF-8");
    assert!(text.contains("<InstdAmt Ccy=\"MXN\">1234.56</InstdAmt>"), "{text}");
    assert!(text.contains("<NbOfTxs>5</NbOfTxs>") && text.contains("<CtrlSum>6172.80</CtrlSum>"), "{text}");
    assert!(text.contains("<BtchBookg>false</BtchBookg>"), "{text}");
    assert!(text.contains("Ana &lt;Pérez&gt; &amp; Söhne"), "{text}");
    let unknown_bank = Debtor {
        account: BankAccount { number: "646180157000000004".to_owned(), ..BankAccount::default() },
        ..debtor
    };
    assert_valid(&written(&unknown_bank, Currency::MXN, &transfers[..1]), "pain.001.001.09");
}

#[test]
fn a_recipient_is_named_with_bank_and_account_in_the_elements_made_for_them() {
    let debtor = Debtor {
        name: "Quipu".to_owned(),
        account: transfer("646180157000000004", Some("646"), Some("notabic1")).account,
    };
    let squeezed = |file: Vec<u8>| {
        let text = String::from_utf8(file).expect("UTF-8");
        text.lines().map(str::trim).collect::<String>()
    };
    let iban = "GE29NB0000000101904917";
    for (account, bank, number) in [
        (transfer("032180000118359719", None, None).account, "", "<Othr><Id>032180000118359719</Id></Othr>"),
        (
            transfer("12345678", Some("062000"), None).account,
            "<ClrSysMmbId><MmbId>062000</MmbId></ClrSysMmbId>",
            "<Othr><Id>12345678</Id></Othr>",
        ),
        (
            transfer(iban, None, Some("TBCBGE22")).account,
            "<BICFI>TBCBGE22</BICFI>",
            "<IBAN>GE29NB0000000101904917</IBAN>",
        ),
        (
            transfer(iban, Some("062000"), Some("TBCBGE22XXX")).account,
            "<BICFI>TBCBGE22XXX</BICFI>",
            "<IBAN>GE29NB0000000101904917</IBAN>",
        ),
        // Neither a BIC nor an IBAN by the schema.
        (
            transfer("GEX9NB0000000101904917", None, Some("12345678")).account,
            "<Othr><Id>12345678</Id></Othr>",
            "<Othr><Id>GEX9NB0000000101904917</Id></Othr>",
        ),
        (
            BankAccount {
                number: "12345678".to_owned(),
                ..named(ProxyKind::PayId(PayIdType::Email), "ana@example.com")
            },
            "",
            "<Othr><Id>12345678</Id></Othr>",
        ),
    ] {
        let sent = Transfer { account, ..transfer("1", None, None) };
        let file = written(&debtor, Currency::MXN, std::slice::from_ref(&sent));
        assert_valid(&file, "pain.001.001.09");
        let text = squeezed(file);
        let (_, order) = text.split_once("<CdtTrfTxInf>").expect("an order");
        let told =
            order.split_once("<CdtrAgt><FinInstnId>").and_then(|(_, rest)| rest.split_once("</FinInstnId>"));
        assert_eq!(told.map_or("", |(bank, _)| bank), bank, "{order}");
        assert!(order.contains(&format!("<CdtrAcct><Id>{number}</Id>")), "{order}");
        assert!(text.contains("<DbtrAcct><Id><Othr><Id>646180157000000004</Id>"), "{text}");
        assert!(text.contains("<DbtrAgt><FinInstnId><ClrSysMmbId><MmbId>646</MmbId>"), "{text}");
    }
    let long = "Calle Ñandú 5, ".repeat(20);
    let lines = |address: &str| {
        let sent = Transfer { address: Some(address.to_owned()), ..transfer("1", None, None) };
        let text = squeezed(written(&debtor, Currency::MXN, &[sent]));
        let lines =
            text.split("<AdrLine>").skip(1).map(|line| line.split_once('<').expect("an end").0.to_owned());
        lines.collect::<Vec<_>>()
    };
    assert_eq!(lines("Calle 5"), ["Calle 5"]);
    let told = lines(&long);
    assert_eq!(told.iter().map(|line| line.chars().count()).collect::<Vec<_>>(), [70, 70, 70]);
    assert!(long.starts_with(&told.concat()), "{told:?}");
}

#[test]
fn an_account_is_named_whole_or_not_at_all() {
    let debtor = Debtor {
        name: "Quipu Pty".to_owned(),
        account: BankAccount { number: "DE89370400440532013000".to_owned(), ..BankAccount::default() },
    };
    let to = |account: BankAccount| Transfer { account, ..transfer("1", None, None) };
    let payid = "averyveryverylongname.averyveryverylongname@example.com.au";
    let by_proxy = |name: &str| named(ProxyKind::PayId(PayIdType::Email), name);
    let file = written(
        &debtor,
        Currency::AUD,
        &[
            to(by_proxy(payid)),
            to(by_proxy("ana@example.com")),
            transfer("12345678", None, Some("12345678")),
            Transfer { recipient: "\u{fffe}".to_owned(), ..transfer("12345678\u{1fffe}", None, None) },
        ],
    );
    assert_valid(&file, "pain.001.001.09");
    let text = String::from_utf8(file).expect("UTF-8");
    for part in [payid, ">ana@example.com<", "<Id>12345678</Id>", "<Nm>NOTPROVIDED</Nm>"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let long = "1".repeat(36);
    for account in [
        BankAccount { number: long[..35].to_owned(), ..BankAccount::default() },
        BankAccount { number: "1\u{ffff}".to_owned(), ..BankAccount::default() },
        BankAccount { number: "1\u{7}".to_owned(), ..BankAccount::default() },
        BankAccount { number: "1".to_owned(), clearing_code: Some(long.clone()), ..BankAccount::default() },
        BankAccount { number: "1".to_owned(), swift: Some(long.clone()), ..BankAccount::default() },
        by_proxy(&"a".repeat(2_049)),
        BankAccount::default(),
    ] {
        assert!(account_misfit(&account).is_some(), "{account:?}");
        let contents = Transfers {
            message_id: "exp_1763683200000_abcdefgh",
            created_at: Timestamp::from_millis(1_763_683_200_123),
            currency: Currency::AUD,
            debtor: &debtor,
            transfers: &[to(account)],
        };
        let mut out = Vec::new();
        assert!(write_transfers(&mut out, &contents).is_err() && out.is_empty(), "nothing is written");
    }
}

#[test]
fn another_name_of_an_account_says_of_what_kind_it_is() {
    let debtor = Debtor { name: "Quipu".to_owned(), account: transfer("1", None, None).account };
    let kinds = [
        (ProxyKind::PayId(PayIdType::Email), "<Cd>EMAL</Cd>"),
        (ProxyKind::PayId(PayIdType::Phone), "<Cd>TELE</Cd>"),
        (ProxyKind::PayId(PayIdType::Abn), "<Prtry>abn</Prtry>"),
        (ProxyKind::Wallet(WalletScheme::Email), "<Cd>EMAL</Cd>"),
        (ProxyKind::Wallet(WalletScheme::Phone), "<Cd>TELE</Cd>"),
        (ProxyKind::Wallet(WalletScheme::NationalPassport), "<Prtry>national_passport</Prtry>"),
        (ProxyKind::Wallet(WalletScheme::ReferenceId), "<Prtry>reference_id</Prtry>"),
    ];
    for (kind, shown) in kinds {
        let transfer = Transfer { account: named(kind, "12345678"), ..transfer("1", None, None) };
        let file = written(&debtor, Currency::GEL, &[transfer]);
        assert_valid(&file, "pain.001.001.09");
        let text = String::from_utf8(file).expect("UTF-8").split_whitespace().collect::<String>();
        assert!(text.contains(&format!("<Prxy><Tp>{shown}</Tp><Id>12345678</Id></Prxy>")), "{text}");
    }
}

#[test]
fn the_recipients_tax_identifier_and_type_of_account_are_written_whole_or_not_at_all() {
    let debtor = Debtor { name: "Quipu".to_owned(), account: transfer("1", None, None).account };
    let to = |tax_id: &str, account_type: &str| {
        let known = transfer("0170099220000067797370", Some("017"), None);
        let account = BankAccount { account_type: Some(account_type.to_owned()), ..known.account };
        Transfer { tax_id: Some(tax_id.to_owned()), account, ..known }
    };
    let longest = "1".repeat(35);
    let wallet = named(ProxyKind::Wallet(WalletScheme::ReferenceId), "ana");
    let by_proxy = BankAccount { account_type: Some("savings".to_owned()), ..wallet };
    let with_proxy = Transfer { account: by_proxy, ..to("20-1", "savings") };
    let file = written(&debtor, Currency::MXN, &[to("20-1", "savings"), to(&longest, &longest), with_proxy]);
    assert_valid(&file, "pain.001.001.09");
    let text = String::from_utf8(file).expect("UTF-8").split_whitespace().collect::<String>();
    let (tax_id, savings) =
        ("<PrvtId><Othr><Id>20-1</Id></Othr></PrvtId>", "<Tp><Prtry>savings</Prtry></Tp>");
    assert!([tax_id, savings].iter().all(|part| text.contains(part)), "{text}");
    for (tax_id, account_type) in
        [("20-1\u{7}", "1"), ("1", &longest.replace('1', "11")), (&"1".repeat(36), "1")]
    {
        assert!(transfer_misfit(&to(tax_id, account_type)).is_some(), "{tax_id} {account_type}");
    }
}
