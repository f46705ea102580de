//! The facts that a payer copies or checks, one a line.

use quipu_payments::{BankDetails, CryptoDetails, Destination, PayIdDetails, Payment, Payout, WayToPay};

use crate::{
    account_number::AccountNumber,
    money::{self, Shown},
    voucher::Voucher,
    words::Words,
};

/// One line of a list of facts.
pub(crate) struct Fact {
    /// The label of the line.
    pub(crate) label: String,
    /// The value.
    pub(crate) value: Value,
    /// The text that the copy button copies, if the line has one.
    pub(crate) copy: Option<String>,
}

/// The value of a line.
pub(crate) enum Value {
    /// An amount of money.
    Amount(Shown),
    /// Groups that are read one at a time. On the page only a visual space stands between them, so that copied text
    /// contains no space.
    Groups(Vec<String>),
}

/// Builds lines with labels in one language.
pub(crate) struct Facts {
    words: Words,
    lines: Vec<Fact>,
}

impl Facts {
    /// The lines that a payer needs to pay; empty for methods that lead to another site.
    pub(crate) fn of_deposit(payment: &Payment, words: Words) -> Vec<Fact> {
        let mut facts = Self { words, lines: Vec::new() };
        let (terms, way) = (payment.terms(), payment.state().instructions.way_to_pay());
        match way {
            Some(WayToPay::Bank(details)) => {
                facts.amount(payment);
                facts.bank(details, AccountNumber::of(terms.method, terms.currency));
            }
            Some(WayToPay::PayId(details)) => {
                facts.payid(details);
                facts.amount(payment);
            }
            Some(WayToPay::Voucher(details)) => {
                for (label, number) in Voucher::new(details).numbers() {
                    facts.copied(label, number);
                }
                facts.amount(payment);
            }
            Some(WayToPay::Crypto(details)) => facts.crypto(details, payment),
            Some(WayToPay::Redirect(_)) | None => {}
        }
        facts.lines
    }

    /// The destination of a payout, only as far as its recipient needs it to recognise it: anybody who has
    /// the address of the page can open it.
    pub(crate) fn of_payout(payout: &Payout, payment: &Payment, words: Words) -> Vec<Fact> {
        let mut facts = Self { words, lines: Vec::new() };
        let Payout {
            recipient_name,
            bsb,
            bank_account,
            payid,
            partner_destination,
            bank_code: _,
            account_type: _,
            beneficiary_tax_id: _,
            payid_type: _,
        } = payout;
        if let Some(name) = recipient_name {
            facts.plain("field-recipient", name);
        }
        if let Some(bsb) = bsb {
            facts.plain("field-bsb", &grouped_bsb(bsb));
        }
        if let Some(account) = bank_account {
            let number = AccountNumber::of(payment.terms().method, payment.terms().currency);
            facts.plain(number.label(), &masked(account));
        }
        if let Some(payid) = payid {
            facts.plain("field-payid", &masked(payid));
        }
        if let Some(destination) = partner_destination {
            facts.destination(destination);
        }
        facts.lines
    }

    fn amount(&mut self, payment: &Payment) {
        let shown = money::shown(payment.terms().amount.minor(), payment.terms().currency);
        let copy = Some(shown.plain.clone());
        self.line("field-amount", Value::Amount(shown), copy);
    }

    fn bank(&mut self, details: &BankDetails, number: AccountNumber) {
        self.copied("field-account-holder", &details.account_holder);
        if let Some(bsb) = &details.bsb {
            self.line("field-bsb", Value::Groups(vec![grouped_bsb(bsb)]), Some(bsb.clone()));
        }
        let account = &details.account_number;
        self.line(number.label(), Value::Groups(groups(account)), Some(account.clone()));
        self.copied("field-bank", &details.bank_name);
        if let Some(swift) = &details.swift_code {
            self.copied("field-swift", swift);
        }
        self.copied("field-purpose", &details.purpose);
    }

    fn payid(&mut self, details: &PayIdDetails) {
        self.copied("field-payid", &details.payid);
        self.plain("field-payid-name", &details.payid_name);
        self.copied("field-purpose", &details.reference);
    }

    /// How much of the asset it takes is known if the address for wallets says so; otherwise the price is shown.
    fn crypto(&mut self, details: &CryptoDetails, payment: &Payment) {
        self.plain("field-asset", &details.asset);
        self.plain("field-network", &details.network);
        self.copied("field-address", &details.address);
        if let Some(amount) = amount_of(&details.uri) {
            let shown = Value::Groups(vec![amount.to_owned(), details.asset.clone()]);
            self.line("field-amount", shown, Some(amount.to_owned()));
        } else {
            let price = money::shown(payment.terms().amount.minor(), payment.terms().currency);
            self.line("field-price", Value::Amount(price), None);
        }
    }

    fn destination(&mut self, destination: &Destination) {
        if let Some(account) = destination.bank() {
            self.plain("field-recipient", &account.beneficiary_name);
        }
        let iban = || destination.bank().map(|account| account.iban.as_str());
        if let Some(number) = destination.wallet().map(|(_, name)| name).or_else(iban) {
            self.plain("field-destination", &masked(number));
        }
    }

    fn plain(&mut self, label: &str, value: &str) {
        self.line(label, Value::Groups(vec![value.to_owned()]), None);
    }

    fn copied(&mut self, label: &str, value: &str) {
        self.line(label, Value::Groups(vec![value.to_owned()]), Some(value.to_owned()));
    }

    fn line(&mut self, label: &str, value: Value, copy: Option<String>) {
        self.lines.push(Fact { label: self.words.say(label), value, copy });
    }
}

/// The amount in an address for wallets, such as `0.01` in `bitcoin:bc1q?amount=0.01`.
fn amount_of(uri: &str) -> Option<&str> {
    let uri = uri.split_once('#').map_or(uri, |(uri, _)| uri);
    let (_, query) = uri.split_once('?')?;
    let amount = query.split('&').find_map(|part| part.strip_prefix("amount="))?;
    let is_number = amount.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_positive = amount.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    (is_number && is_positive && amount.matches('.').count() <= 1).then_some(amount)
}

/// Splits a long number into groups of four.
fn groups(number: &str) -> Vec<String> {
    let is_long_number = number.len() > 6 && number.bytes().all(|byte| byte.is_ascii_digit());
    if !is_long_number {
        return vec![number.to_owned()];
    }
    let fours = number.as_bytes().chunks(4);
    fours.map(|four| String::from_utf8_lossy(four).into_owned()).collect()
}

fn grouped_bsb(bsb: &str) -> String {
    match bsb.split_at_checked(3) {
        Some((bank, branch)) if !branch.is_empty() => format!("{bank}-{branch}"),
        _ => bsb.to_owned(),
    }
}

/// The last four characters behind a mask, or fewer of a short text; of an e-mail address its first one and its domain.
fn masked(text: &str) -> String {
    if let Some((name, domain)) = text.split_once('@') {
        return format!("{}••••@{domain}", name.chars().take(1).collect::<String>());
    }
    let length = text.chars().count();
    let kept = if length > 8 { 4 } else { length.min(8) / 4 };
    format!("••••\u{a0}{}", text.chars().skip(length - kept).collect::<String>())
}

#[cfg(test)]
mod tests {
    use quipu_kernel::Currency;
    use quipu_merchants::Method;
    use quipu_payments::{BankBeneficiary, BankDestination, Instructions, Status, WalletScheme};

    use super::*;
    use crate::{language::Language, samples};

    #[test]
    fn long_numbers_are_read_in_fours_and_other_texts_whole() {
        assert_eq!(groups("032180000118359719"), ["0321", "8000", "0118", "3597", "19"]);
        assert_eq!(groups("1234567"), ["1234", "567"]);
        for whole in ["my.alias.ar", "1234567x", "123456", ""] {
            assert_eq!(groups(whole), [whole]);
        }
        for (bsb, shown) in [("062000", "062-000"), ("0620", "062-0"), ("062", "062"), ("0", "0"), ("", "")] {
            assert_eq!(grouped_bsb(bsb), shown);
        }
    }

    #[test]
    fn of_an_account_only_its_end_is_shown() {
        assert_eq!(masked("032180000118359719"), "••••\u{a0}9719");
        assert_eq!(masked("12345678"), "••••\u{a0}78");
        assert_eq!(masked("123"), "••••\u{a0}");
        assert_eq!(masked("ana.perez@example.com"), "a••••@example.com");
    }

    /// Each line as it is read, and what its button copies.
    fn told(facts: &[Fact]) -> Vec<(&str, String, Option<&str>)> {
        let value = |value: &Value| match value {
            Value::Amount(shown) => shown.text.clone(),
            Value::Groups(groups) => groups.join(" "),
        };
        facts.iter().map(|fact| (fact.label.as_str(), value(&fact.value), fact.copy.as_deref())).collect()
    }

    #[test]
    fn a_recipient_is_shown_no_more_of_the_account_than_its_end() {
        let payment = samples::unfilled_withdrawal();
        let shown = |payout: &Payout| {
            let facts = Facts::of_payout(payout, &payment, Words::of(Language::English));
            let lines = told(&facts).into_iter().map(|(label, value, copy)| {
                assert_eq!(copy, None, "nobody is to pay to it");
                format!("{label}: {value}")
            });
            lines.collect::<Vec<_>>()
        };
        let text = |text: &str| Some(text.to_owned());
        let everything = Payout {
            recipient_name: text("Ana Torres"),
            bsb: text("062000"),
            bank_account: text("123456789"),
            bank_code: text("4444"),
            account_type: text("savings"),
            beneficiary_tax_id: text("20-5555"),
            ..Payout::default()
        };
        let expected = ["Recipient’s name: Ana Torres", "BSB: 062-000", "Account number: ••••\u{a0}6789"];
        assert_eq!(shown(&everything), expected);
        let payid = Payout { payid: text("ana.perez@example.com"), ..Payout::default() };
        assert_eq!(shown(&payid), ["PayID: a••••@example.com"]);
        let to = |destination| Payout { partner_destination: Some(destination), ..Payout::default() };
        let wallet = Destination::Wallet { scheme: WalletScheme::Phone, value: "995123456789".to_owned() };
        let wallet = Payout { recipient_name: text("Nino"), ..to(wallet) };
        assert_eq!(shown(&wallet), ["Recipient’s name: Nino", "Destination: ••••\u{a0}6789"]);
        let bank = BankBeneficiary {
            iban: "GE29NB0000000101904917".to_owned(),
            swift: text("TBCBGE22"),
            beneficiary_name: "Nino Beridze".to_owned(),
            beneficiary_bank: text("TBC Bank"),
            address: text("7 Marjanishvili St"),
            reference: text("invoice 7"),
        };
        let bank = to(Destination::Bank(BankDestination::Given { bank }));
        assert_eq!(shown(&bank), ["Recipient’s name: Nino Beridze", "Destination: ••••\u{a0}4917"]);
        assert!(shown(&Payout::default()).is_empty());
    }

    #[test]
    fn a_payer_copies_what_a_bank_or_a_shop_asks_for() {
        let facts = |method, currency, change: fn(&mut Instructions)| {
            let mut shown = samples::instructions(method);
            change(&mut shown);
            let payment = samples::deposit(method, currency, Status::Processing, shown);
            Facts::of_deposit(&payment, Words::of(Language::English))
        };
        let amount = |text: &str| ("Amount", text.to_owned(), Some("1234.56"));
        let plain = |label, text: &'static str| (label, text.to_owned(), Some(text));
        let bank = facts(Method::BankTransfer, Currency::AUD, |shown| {
            let details = shown.bank_details.as_mut().expect("an account");
            (details.bsb, details.swift_code) = (Some("062000".to_owned()), Some("DEUTDEFF".to_owned()));
        });
        let expected = [
            amount("$1,234.56"),
            plain("Account holder", "Quipu"),
            ("BSB", "062-000".to_owned(), Some("062000")),
            ("Account number", "2850 5909 4009 0418 1352 01".to_owned(), Some(samples::ACCOUNT)),
            plain("Bank", "Bank of Nowhere"),
            plain("SWIFT / BIC", "DEUTDEFF"),
            plain("Payment reference", samples::ID),
        ];
        assert_eq!(told(&bank), expected);
        let payid = facts(Method::PayId, Currency::AUD, |_| ());
        let expected = [
            plain("PayID", "pay@quipu.example"),
            ("PayID name", "Quipu".to_owned(), None),
            plain("Payment reference", samples::ID),
            amount("$1,234.56"),
        ];
        assert_eq!(told(&payid), expected);
        let voucher = facts(Method::Cash, Currency::MXN, |_| ());
        assert_eq!(told(&voucher), [plain("Number for the counter", samples::ID), amount("$1,234.56")]);
        assert!(facts(Method::Card, Currency::TRY, |_| ()).is_empty(), "its scheme's page tells it");
    }

    #[test]
    fn a_payer_by_crypto_is_told_how_much_to_send_or_what_it_costs() {
        let told = |uri: &str| {
            let mut shown = samples::instructions(Method::Crypto);
            uri.clone_into(&mut shown.crypto_details.as_mut().expect("an address").uri);
            let payment = samples::deposit(Method::Crypto, Currency::GEL, Status::Processing, shown);
            let fact = Facts::of_deposit(&payment, Words::of(Language::English)).pop().expect("a fact");
            let value = match fact.value {
                Value::Amount(shown) => shown.with_code(),
                Value::Groups(groups) => groups.join(" "),
            };
            (fact.label, value, fact.copy)
        };
        let amount = |text: &str| ("Amount".to_owned(), format!("{text} USDT"), Some(text.to_owned()));
        assert_eq!(told("tron:T1?amount=29.915204"), amount("29.915204"));
        assert_eq!(told("tron:T1?label=Aurora&amount=30#x"), amount("30"));
        let price = ("Price".to_owned(), "1\u{a0}234,56\u{a0}₾ GEL".to_owned(), None);
        for uri in ["tron:T1", "tron:T1?amount=", "tron:T1?amount=0", "tron:T1?amount=1e9", "amount=1"] {
            assert_eq!(told(uri), price, "{uri}");
        }
    }

    #[test]
    fn an_account_to_pay_into_is_named_as_payouts_name_it() {
        let table = [
            (Method::BankTransfer, Currency::ARS, "CBU, CVU or alias"),
            (Method::BankTransfer, Currency::UYU, "Account number"),
            (Method::BankTransfer, Currency::AUD, "Account number"),
            (Method::Spei, Currency::MXN, "CLABE"),
        ];
        for (method, currency, label) in table {
            let shown = samples::instructions(method);
            let payment = samples::deposit(method, currency, Status::Processing, shown);
            let facts = Facts::of_deposit(&payment, Words::of(Language::English));
            let account = facts.iter().find(|fact| fact.copy.as_deref() == Some(samples::ACCOUNT));
            assert_eq!(account.map(|fact| fact.label.as_str()), Some(label), "{method:?} {currency}");
        }
    }
}
