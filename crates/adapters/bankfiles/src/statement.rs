//! Reading `camt.053` and `camt.054`.

use std::io::BufRead;

use quipu_kernel::{Amount, Currency};
use quipu_payments::{BankEntry, Side, says_nothing};

use crate::{
    minor_units::minor,
    problem::StatementProblem,
    walk::{Cursor, Step, walk},
};

/// Details of one batched entry, at most. The reader holds one entry at a time.
const MOST_DETAILS: usize = 100_000;
/// Texts of one detail, at most.
const MOST_TEXTS: usize = 64;
/// Characters of a reference that count.
const MOST_IN_REFERENCE: usize = 64;
/// Characters of a text that stands in for a reference.
const MOST_IN_STAND_IN: usize = 24;
/// Characters of a day.
const DAY: usize = 10;

/// Reads a statement and hands over each booked movement, in the order of the file. Entries that are only
/// expected, and those of nothing, are passed over. Where this fails, whatever was handed over must be
/// forgotten.
pub fn read_statement(file: impl BufRead, mut each: impl FnMut(BankEntry)) -> Result<(), StatementProblem> {
    let mut statement = Statement::default();
    let mut known = false;
    walk(file, |step, cursor| {
        if matches!(step, Step::Begin) {
            if cursor.is_at("Document/BkToCstmrStmt") || cursor.is_at("Document/BkToCstmrDbtCdtNtfctn") {
                known = is_statement(cursor);
            }
            statement.begin(cursor);
            return Ok(());
        }
        statement.end(cursor, &mut each)
    })?;
    if known { Ok(()) } else { Err(StatementProblem::NotAStatement) }
}

fn is_statement(cursor: &Cursor) -> bool {
    cursor.namespace().is_some_and(|name| name.contains("camt.053.") || name.contains("camt.054."))
}

/// What is known of the statement so far.
#[derive(Default)]
struct Statement {
    /// The number of the statement; its pages have the same.
    number: usize,
    /// The page of the message, unless it is the first.
    page: Option<String>,
    /// Its identifier as the bank gave it, and that of the one before.
    names: (String, String),
    id: String,
    account: String,
    /// Entries of the file so far, by which problems are told.
    entries: usize,
    /// Entries of the statement so far, by which movements without a reference are told apart: the same
    /// statement may come alone and behind others.
    place: usize,
    entry: Option<Movement>,
    details: Vec<Movement>,
    detail: Option<Movement>,
}

/// An entry, or one of the details of a batched one.
#[derive(Debug, Default)]
struct Movement {
    amount: Option<(String, String)>,
    indicator: Option<String>,
    status: Option<String>,
    is_return: bool,
    bank_reference: Option<String>,
    booked: Option<String>,
    end_to_end_id: Option<String>,
    texts: Vec<String>,
    /// What names the file of orders that the bank booked in one sum.
    batch: Vec<String>,
    reason: Vec<String>,
}

impl Statement {
    fn begin(&mut self, cursor: &Cursor) {
        if cursor.is_at("Ntry") {
            self.entries += 1;
            self.place += 1;
            self.entry = Some(Movement::default());
            self.details.clear();
        } else if cursor.is_at("Ntry/NtryDtls/TxDtls") {
            self.detail = Some(Movement::default());
        } else if cursor.is_at("TxDtls/RtrInf")
            && let Some(detail) = &mut self.detail
        {
            detail.is_return = true;
        } else if cursor.is_at("BkToCstmrStmt/Stmt") || cursor.is_at("BkToCstmrDbtCdtNtfctn/Ntfctn") {
            self.number += 1;
            self.place = 0;
            self.names = (String::new(), std::mem::take(&mut self.names.0));
            self.id.clear();
            self.account.clear();
        }
    }

    fn end(&mut self, cursor: &Cursor, each: &mut impl FnMut(BankEntry)) -> Result<(), StatementProblem> {
        if cursor.is_at("Ntry") {
            return self.finish(each);
        }
        if cursor.is_at("Ntry/NtryDtls/TxDtls") {
            if self.details.len() == MOST_DETAILS {
                return Err(StatementProblem::TooMany);
            }
            self.details.extend(self.detail.take());
            return Ok(());
        }
        let text = cursor.text();
        if text.is_empty() {
            return Ok(());
        }
        match (&mut self.detail, &mut self.entry) {
            (Some(detail), _) => detail.take_detail(cursor, text),
            (None, Some(entry)) => entry.take_entry(cursor, text),
            // The pages of a statement have one name, and each counts its entries anew.
            (None, None) if cursor.is_at("MsgPgntn/PgNb") => {
                self.page = (text != "1").then(|| short(text));
            }
            (None, None) if cursor.is_at("Stmt/Id") || cursor.is_at("Ntfctn/Id") => {
                text.clone_into(&mut self.names.0);
                self.id = short(text);
                self.id.extend(self.page.iter().flat_map(|page| ["/", page]));
            }
            (None, None) if cursor.is_at("StmtPgntn/PgNb") || cursor.is_at("NtfctnPgntn/PgNb") => {
                if text != "1" {
                    // Where it goes on behind the page before, its movements are numbered on.
                    self.number = self.number.saturating_sub(usize::from(self.names.0 == self.names.1));
                    self.id = format!("{}/{}", self.id, short(text));
                }
            }
            (None, None) if cursor.is_at("Acct/Id/IBAN") || cursor.is_at("Acct/Id/Othr/Id") => {
                self.account = short(text);
            }
            (None, None) => {}
        }
        Ok(())
    }

    /// Hands over the entry that ends: its details one by one where each has an amount, else the entry as a whole.
    fn finish(&mut self, each: &mut impl FnMut(BankEntry)) -> Result<(), StatementProblem> {
        let (Some(mut entry), number) = (self.entry.take(), self.entries) else { return Ok(()) };
        if entry.status.as_deref() != Some("BOOK") {
            // Without a status it is no entry of any version.
            return match entry.status {
                Some(_) => Ok(()),
                None => Err(StatementProblem::Entry { entry: number, what: "status" }),
            };
        }
        let mut details = std::mem::take(&mut self.details);
        if let [only] = details.as_mut_slice() {
            // A bank may quote the original transfer of what it returns, with its own amount and direction; the
            // account moved by those of the entry.
            only.amount = entry.amount.take().or(only.amount.take());
            only.indicator = entry.indicator.take().or(only.indicator.take());
            only.texts.append(&mut entry.texts);
        }
        let apart = !details.is_empty() && details.iter().all(|detail| detail.amount.is_some());
        // Details that are more or less than what was booked cannot all be so.
        let apart = apart && adds_up(&entry, &details);
        if !apart {
            for detail in details {
                entry.texts.extend(detail.texts);
                entry.is_return |= detail.is_return;
                entry.reason.extend(detail.reason);
            }
            self.entry_of(&entry, &entry, 0)?.map(each);
            return Ok(());
        }
        for (index, detail) in details.iter().enumerate() {
            self.entry_of(&entry, detail, index)?.map(&mut *each);
        }
        Ok(())
    }

    /// What one movement tells; `None` if it moves nothing.
    fn entry_of(
        &self,
        entry: &Movement,
        detail: &Movement,
        index: usize,
    ) -> Result<Option<BankEntry>, StatementProblem> {
        let wrong = |what| StatementProblem::Entry { entry: self.entries, what };
        let (currency, amount) = detail.amount.as_ref().ok_or_else(|| wrong("amount"))?;
        let currency: Currency = currency.parse().map_err(|_| wrong("currency"))?;
        let units = minor(amount, currency).ok_or_else(|| wrong("amount"))?;
        let indicator = detail.indicator.as_ref().or(entry.indicator.as_ref());
        let side = match indicator.map(String::as_str) {
            Some("CRDT") => Side::Credit,
            Some("DBIT") => Side::Debit,
            _ => return Err(wrong("credit or debit indicator")),
        };
        if units == 0 {
            return Ok(None);
        }
        let reason = detail.reason.join(" ");
        Ok(Some(BankEntry {
            statement: self.number,
            account: self.account.clone(),
            reference: self.reference_of(entry, detail, index),
            day: (detail.bank_reference.is_some() || entry.bank_reference.is_some()).then(|| entry.day()),
            side,
            is_return: detail.is_return || entry.is_return,
            amount: Amount::new(units).map_err(|_| wrong("amount"))?,
            currency,
            end_to_end_id: detail.end_to_end_id.clone(),
            texts: [detail.texts.as_slice(), &detail.batch].concat(),
            return_reason: (!reason.is_empty()).then_some(reason),
        }))
    }

    fn reference_of(&self, entry: &Movement, detail: &Movement, index: usize) -> String {
        match (&detail.bank_reference, &entry.bank_reference) {
            (Some(own), _) => short(own),
            (None, Some(of_entry)) => short(of_entry),
            (None, None) => {
                let day: String = entry.booked.iter().flat_map(|day| day.chars()).take(DAY).collect();
                let text: String =
                    detail.texts.iter().flat_map(|text| text.chars()).take(MOST_IN_STAND_IN).collect();
                format!("{}#{}/{index}/{day}/{text}", self.id, self.place)
            }
        }
    }
}

impl Movement {
    /// The digits of the day on which it was booked; none if the bank does not tell it.
    fn day(&self) -> String {
        let day = self.booked.iter().flat_map(|booked| booked.chars()).take(DAY);
        day.filter(char::is_ascii_digit).collect()
    }

    fn take_entry(&mut self, cursor: &Cursor, text: &str) {
        if cursor.is_at("Ntry/Amt") {
            self.take_amount(cursor, text);
        } else if cursor.is_at("Ntry/CdtDbtInd") {
            self.indicator = Some(text.to_owned());
        } else if cursor.is_at("Ntry/RvslInd") {
            self.is_return |= text == "true" || text == "1";
        } else if cursor.is_at("Ntry/Sts") || cursor.is_at("Ntry/Sts/Cd") {
            self.status = Some(text.to_owned());
        } else if cursor.is_at("Ntry/Sts/Prtry") {
            // A bank's own word, which says nothing of booking, whatever it is.
            self.status = Some(String::new());
        } else if cursor.is_at("Ntry/AcctSvcrRef") {
            self.take_reference(text);
        } else if cursor.is_at("BookgDt/Dt") || cursor.is_at("BookgDt/DtTm") {
            self.booked = Some(text.to_owned());
        } else if cursor.is_at("Ntry/AddtlNtryInf") || cursor.is_at("Ntry/NtryRef") {
            self.take_text(text);
        } else if (cursor.is_at("NtryDtls/Btch/MsgId") || cursor.is_at("NtryDtls/Btch/PmtInfId"))
            && self.batch.len() < MOST_TEXTS
            && self.batch.last().is_none_or(|last| last != text)
        {
            self.batch.push(text.to_owned());
        }
    }

    fn take_detail(&mut self, cursor: &Cursor, text: &str) {
        const END_TO_END: &str = "Refs/EndToEndId";
        const NAMES: [&str; 11] = [
            END_TO_END,
            "Refs/InstrId",
            "Refs/TxId",
            "Refs/PmtInfId",
            "Refs/ClrSysRef",
            "RmtInf/Ustrd",
            "CdtrRefInf/Ref",
            "RfrdDocInf/Nb",
            "Strd/AddtlRmtInf",
            "TxDtls/AddtlTxInf",
            "Refs/Prtry/Ref",
        ];
        if cursor.is_at("TxDtls/Amt") || cursor.is_at("AmtDtls/TxAmt/Amt") {
            self.take_amount(cursor, text);
        } else if cursor.is_at("TxDtls/CdtDbtInd") {
            self.indicator = Some(text.to_owned());
        } else if cursor.is_at("Refs/AcctSvcrRef") {
            self.take_reference(text);
        } else if cursor.is_at("RtrInf/Rsn/Cd")
            || cursor.is_at("RtrInf/Rsn/Prtry")
            || cursor.is_at("RtrInf/AddtlInf")
        {
            self.reason.push(short(text));
        } else if NAMES.iter().any(|name| cursor.is_at(name)) {
            if cursor.is_at(END_TO_END) {
                self.end_to_end_id = Some(text.to_owned());
            }
            self.take_text(text);
        }
    }

    /// Banks that have no reference write one of some words in its place, the same for every movement.
    fn take_reference(&mut self, text: &str) {
        if !says_nothing(text) {
            self.bank_reference = Some(text.to_owned());
        }
    }

    fn take_amount(&mut self, cursor: &Cursor, text: &str) {
        if let (None, Some(currency)) = (&self.amount, cursor.currency()) {
            self.amount = Some((currency.to_owned(), text.to_owned()));
        }
    }

    fn take_text(&mut self, text: &str) {
        if self.texts.len() < MOST_TEXTS {
            self.texts.push(text.to_owned());
        }
    }
}

/// Whether the details come to what the entry books, as far as their amounts can be read: what cannot is a
/// problem of its own.
fn adds_up(entry: &Movement, details: &[Movement]) -> bool {
    let signed = |movement: &Movement| {
        let (currency, amount) = movement.amount.as_ref()?;
        let units = minor(amount, currency.parse().ok()?)?;
        let indicator = movement.indicator.as_ref().or(entry.indicator.as_ref())?;
        Some((currency.clone(), if indicator == "DBIT" { -i128::from(units) } else { units.into() }))
    };
    let Some((currency, booked)) = signed(entry) else { return true };
    let all: Option<Vec<_>> = details.iter().map(signed).collect();
    let Some(all) = all.filter(|all| all.iter().all(|(other, _)| *other == currency)) else { return true };
    all.into_iter().map(|(_, units)| units).sum::<i128>() == booked
}

fn short(text: &str) -> String {
    text.chars().take(MOST_IN_REFERENCE).collect()
}
