//! Writing `pain.001.001.09`.

use std::io::{self, Write};

use quick_xml::{
    Writer,
    events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event},
};
use quipu_kernel::{Currency, Timestamp};
use quipu_payments::{
    BankAccount, Debtor, NOT_PROVIDED, PayIdType, Proxy, ProxyKind, Transfer, WalletScheme,
};

use crate::minor_units::decimal;

const NAMESPACE: &str = "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09";
/// Characters of an account's number, of another name of it, of its type, of a bank's code or name, and of a person's
/// identifier, at most.
const ACCOUNT: usize = 34;
const PROXY: usize = 2_048;
const TYPE: usize = 35;
const BANK_CODE: usize = 35;
const PERSON: usize = 35;

/// Why this account cannot be written in a file; `None` if it can. A name is never cut short, since it
/// might become another account's.
pub fn account_misfit(account: &BankAccount) -> Option<&'static str> {
    if account.number.is_empty() && account.proxy.is_none() {
        return Some("there is no account number");
    }
    let complaints = [
        (is_whole(&account.number, ACCOUNT), "the account number does not fit: 34 characters at most"),
        (
            fits(account.proxy.as_ref().map(|proxy| proxy.name.as_str()), PROXY),
            "the name of the account does not fit: 2048 characters at most",
        ),
        (
            fits(account.account_type.as_deref(), TYPE),
            "the type of the account does not fit: 35 characters at most",
        ),
        (fits(account.swift.as_deref(), BANK_CODE), "the SWIFT code does not fit: 35 characters at most"),
        (
            fits(account.clearing_code.as_deref(), BANK_CODE),
            "the bank code does not fit: 35 characters at most",
        ),
    ];
    complaints.into_iter().find(|(fits, _)| !fits).map(|(_, complaint)| complaint)
}

/// Why this transfer cannot be written in a file; `None` if it can.
pub fn transfer_misfit(transfer: &Transfer) -> Option<&'static str> {
    let complaint = "the tax identifier does not fit: 35 characters at most";
    let misfit = account_misfit(&transfer.account);
    misfit.or_else(|| (!fits(transfer.tax_id.as_deref(), PERSON)).then_some(complaint))
}

/// A file of transfers in one currency from one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfers<'a> {
    /// The file's identifier, at most 35 characters.
    pub message_id: &'a str,
    /// When it is written (UTC).
    pub created_at: Timestamp,
    /// The currency of all amounts.
    pub currency: Currency,
    /// The account that pays.
    pub debtor: &'a Debtor,
    /// The transfers; the schema demands at least one.
    pub transfers: &'a [Transfer],
}

/// Writes the file. Texts for people are cut to the lengths that the schema allows. Fails if `out` does, and
/// if an account or a transfer cannot be written.
pub fn write_transfers(out: impl Write, file: &Transfers<'_>) -> io::Result<()> {
    let misfit = account_misfit(&file.debtor.account);
    if let Some(misfit) = misfit.or_else(|| file.transfers.iter().find_map(transfer_misfit)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, misfit));
    }
    let mut xml = Xml(Writer::new_with_indent(out, b' ', 2));
    xml.0.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let document = BytesStart::new("Document").with_attributes([("xmlns", NAMESPACE)]);
    xml.0.write_event(Event::Start(document))?;
    xml.within("CstmrCdtTrfInitn", |xml| {
        xml.within("GrpHdr", |xml| {
            xml.leaf("MsgId", file.message_id, 35)?;
            xml.leaf("CreDtTm", &file.created_at.to_string(), 35)?;
            xml.totals(file)?;
            xml.within("InitgPty", |xml| xml.leaf("Nm", &file.debtor.name, 140))
        })?;
        xml.within("PmtInf", |xml| xml.payment_information(file))
    })?;
    xml.0.write_event(Event::End(BytesEnd::new("Document")))?;
    xml.0.get_mut().write_all(b"\n")
}

struct Xml<W: Write>(Writer<W>);

impl<W: Write> Xml<W> {
    fn within(&mut self, name: &str, inner: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        self.0.write_event(Event::Start(BytesStart::new(name)))?;
        inner(self)?;
        self.0.write_event(Event::End(BytesEnd::new(name)))
    }

    /// An element with a text of at most `most` characters.
    fn leaf(&mut self, name: &str, text: &str, most: usize) -> io::Result<()> {
        self.leaf_of(BytesStart::new(name), text, most)
    }

    fn leaf_of(&mut self, start: BytesStart<'_>, text: &str, most: usize) -> io::Result<()> {
        let end = start.to_end().into_owned();
        let text: String = text.chars().filter(|c| is_written(*c)).take(most).collect();
        let text = if text.is_empty() { NOT_PROVIDED } else { &text };
        self.0.write_event(Event::Start(start))?;
        self.0.write_event(Event::Text(BytesText::new(text)))?;
        self.0.write_event(Event::End(end))
    }

    fn totals(&mut self, file: &Transfers<'_>) -> io::Result<()> {
        self.leaf("NbOfTxs", &file.transfers.len().to_string(), 15)?;
        // The schema's sum has 18 digits. A file that needs more goes without.
        let sum = file.transfers.iter().try_fold(0_i64, |sum, one| sum.checked_add(one.amount.get()));
        match sum.filter(|sum| *sum < 1_000_000_000_000_000_000) {
            Some(sum) => self.leaf("CtrlSum", &decimal(sum, file.currency), 20),
            None => Ok(()),
        }
    }

    fn payment_information(&mut self, file: &Transfers<'_>) -> io::Result<()> {
        self.leaf("PmtInfId", file.message_id, 35)?;
        self.leaf("PmtMtd", "TRF", 3)?;
        // Each transfer is to be an entry of its own in the statement, by which its payment is found.
        self.leaf("BtchBookg", "false", 5)?;
        self.totals(file)?;
        let date = file.created_at.to_string();
        self.within("ReqdExctnDt", |xml| xml.leaf("Dt", &date, 10))?;
        self.within("Dbtr", |xml| xml.leaf("Nm", &file.debtor.name, 140))?;
        self.account("DbtrAcct", &file.debtor.account)?;
        self.agent("DbtrAgt", &file.debtor.account, true)?;
        for transfer in file.transfers {
            self.within("CdtTrfTxInf", |xml| xml.transfer(file.currency, transfer))?;
        }
        Ok(())
    }

    fn transfer(&mut self, currency: Currency, transfer: &Transfer) -> io::Result<()> {
        self.within("PmtId", |xml| xml.leaf("EndToEndId", &transfer.end_to_end_id, 35))?;
        self.within("Amt", |xml| {
            let amount = BytesStart::new("InstdAmt").with_attributes([("Ccy", currency.as_str())]);
            xml.leaf_of(amount, &decimal(transfer.amount.get(), currency), 20)
        })?;
        self.agent("CdtrAgt", &transfer.account, false)?;
        self.within("Cdtr", |xml| {
            xml.leaf("Nm", &transfer.recipient, 140)?;
            if let Some(address) = &transfer.address {
                xml.within("PstlAdr", |xml| xml.address_lines(address))?;
            }
            match &transfer.tax_id {
                Some(tax_id) => xml.person(tax_id),
                None => Ok(()),
            }
        })?;
        self.account("CdtrAcct", &transfer.account)?;
        match &transfer.remittance {
            Some(text) => self.within("RmtInf", |xml| xml.leaf("Ustrd", text, 140)),
            None => Ok(()),
        }
    }

    fn person(&mut self, identifier: &str) -> io::Result<()> {
        self.within("Id", |xml| {
            xml.within("PrvtId", |xml| xml.within("Othr", |xml| xml.leaf("Id", identifier, PERSON)))
        })
    }

    /// An address in lines of 70 characters.
    fn address_lines(&mut self, address: &str) -> io::Result<()> {
        let letters: Vec<char> = address.chars().filter(|c| is_written(*c)).collect();
        for line in letters.chunks(70).take(3) {
            self.leaf("AdrLine", &line.iter().collect::<String>(), 70)?;
        }
        Ok(())
    }

    fn account(&mut self, name: &str, account: &BankAccount) -> io::Result<()> {
        let proxy = account.proxy.as_ref();
        let own = Some(account.number.as_str()).filter(|number| !number.is_empty());
        let shown = own.or(proxy.map(|proxy| proxy.name.as_str()));
        let number = shown.filter(|number| is_whole(number, ACCOUNT)).unwrap_or(NOT_PROVIDED);
        self.within(name, |xml| {
            xml.within("Id", |xml| {
                if is_iban(number) {
                    xml.leaf("IBAN", number, ACCOUNT)
                } else {
                    xml.within("Othr", |xml| xml.leaf("Id", number, ACCOUNT))
                }
            })?;
            if let Some(account_type) = &account.account_type {
                xml.within("Tp", |xml| xml.leaf("Prtry", account_type, TYPE))?;
            }
            proxy.map_or(Ok(()), |proxy| xml.within("Prxy", |xml| xml.proxy(proxy)))
        })
    }

    /// The kind by its code of ISO 20022 where that is certain, else in our own word.
    fn proxy(&mut self, proxy: &Proxy) -> io::Result<()> {
        let (element, kind) = match proxy.kind {
            ProxyKind::PayId(PayIdType::Email) | ProxyKind::Wallet(WalletScheme::Email) => ("Cd", "EMAL"),
            ProxyKind::PayId(PayIdType::Phone) | ProxyKind::Wallet(WalletScheme::Phone) => ("Cd", "TELE"),
            ProxyKind::PayId(kind @ PayIdType::Abn) => ("Prtry", kind.as_str()),
            ProxyKind::Wallet(scheme @ (WalletScheme::NationalPassport | WalletScheme::ReferenceId)) => {
                ("Prtry", scheme.as_str())
            }
        };
        self.within("Tp", |xml| xml.leaf(element, kind, TYPE))?;
        self.leaf("Id", &proxy.name, PROXY)
    }

    /// The bank. The payer's must stand there even where nothing is known of it.
    fn agent(&mut self, name: &str, account: &BankAccount, required: bool) -> io::Result<()> {
        let (swift, code) = (account.swift.as_deref(), account.clearing_code.as_deref());
        if swift.or(code).is_none() && !required {
            return Ok(());
        }
        self.within(name, |xml| {
            xml.within("FinInstnId", |xml| match (swift, code) {
                (Some(swift), _) if is_bic(swift) => xml.leaf("BICFI", swift, 11),
                (_, Some(code)) => xml.within("ClrSysMmbId", |xml| xml.leaf("MmbId", code, BANK_CODE)),
                (other, None) => {
                    xml.within("Othr", |xml| xml.leaf("Id", other.unwrap_or(NOT_PROVIDED), BANK_CODE))
                }
            })
        })
    }
}

/// Whether XML can hold a character (XML 1.0, section 2.2), and a bank's system is likely to.
fn is_written(letter: char) -> bool {
    !letter.is_control() && !matches!(letter, '\u{fffe}' | '\u{ffff}')
}

/// Whether a text is written as it is.
fn is_whole(text: &str, most: usize) -> bool {
    text.chars().count() <= most && text.chars().all(is_written)
}

/// Whether a text, if there is one, is written as it is.
fn fits(text: Option<&str>, most: usize) -> bool {
    text.is_none_or(|text| is_whole(text, most))
}

/// Whether a text has the form that the schema asks of an IBAN.
fn is_iban(text: &str) -> bool {
    let bytes = text.as_bytes();
    (15..=34).contains(&bytes.len())
        && bytes[..2].iter().all(u8::is_ascii_uppercase)
        && bytes[2..4].iter().all(u8::is_ascii_digit)
        && bytes[4..].iter().all(u8::is_ascii_alphanumeric)
}

/// Whether a text has the form that the schema asks of a BIC.
fn is_bic(text: &str) -> bool {
    let bytes = text.as_bytes();
    let capital_or_digit = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    matches!(bytes.len(), 8 | 11)
        && bytes.iter().all(capital_or_digit)
        && bytes[4..6].iter().all(u8::is_ascii_uppercase)
}
