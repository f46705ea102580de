//! The destination of a partner payout (docs/API.md, "Create").

use quipu_kernel::{Fields, Problems, StoreError, Tenant, wire_names};
use quipu_merchants::{Beneficiary, BeneficiaryKind, RouteBook, judge_iban, judge_swift};
use serde::{Deserialize, Serialize};

use crate::details::address::is_email;

wire_names! {
    /// The kind of name by which a wallet is found.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum WalletScheme {
        /// 8 to 15 digits.
        Phone = "phone",
        /// An e-mail address.
        Email = "email",
        /// 6 to 12 digits.
        NationalPassport = "national_passport",
        /// 1 to 100 ASCII letters, digits, underscores and hyphens.
        ReferenceId = "reference_id",
    }
}

impl WalletScheme {
    /// The problem of `value` as a name of this kind, if it has one.
    fn problem_with(self, value: &str) -> Option<&'static str> {
        let digits = |least: usize, most: usize| {
            (least..=most).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit())
        };
        let reference = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let (fits, rule) = match self {
            Self::Phone => (digits(8, 15), "must be 8 to 15 digits"),
            Self::Email => (is_email(value), "must be an e-mail address"),
            Self::NationalPassport => (digits(6, 12), "must be 6 to 12 digits"),
            Self::ReferenceId => (
                (1..=100).contains(&value.len()) && value.bytes().all(reference),
                "must be 1 to 100 ASCII letters, digits, underscores and hyphens",
            ),
        };
        (!fits).then_some(rule)
    }
}

/// A bank account abroad with its holder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BankBeneficiary {
    /// International bank account number: 15 to 34 capitals and digits.
    pub iban: String,
    /// Business identifier code: 8 or 11 capitals and digits. A saved SEPA beneficiary may have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swift: Option<String>,
    /// The name of the account's holder.
    pub beneficiary_name: String,
    /// The name of the bank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beneficiary_bank: Option<String>,
    /// Postal address of the beneficiary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Text that goes with the payout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// A destination in exactly one form, written as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Destination {
    /// A wallet.
    Wallet {
        /// The kind of name.
        scheme: WalletScheme,
        /// The name of the wallet.
        value: String,
    },
    /// A bank account: a saved beneficiary's, or one given in the request.
    Bank(BankDestination),
    /// A saved SEPA beneficiary.
    Sepa(SavedAccount),
}

/// A bank account in one of two forms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum BankDestination {
    /// A saved beneficiary.
    Saved(SavedAccount),
    /// An account given in the request.
    Given {
        /// The account.
        bank: BankBeneficiary,
    },
}

/// The account of a saved beneficiary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedAccount {
    /// The number of the beneficiary.
    #[serde(rename = "ibanAccountId")]
    pub id: BeneficiaryNumber,
    /// The account, looked up when the payment was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank: Option<BankBeneficiary>,
}

/// The number of a saved beneficiary, from 1 to 2147483647. It is written as a decimal text without leading zeros, so
/// that each number has one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BeneficiaryNumber(i32);

impl TryFrom<String> for BeneficiaryNumber {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        let number = text.parse().ok().filter(|_| plain);
        number.map(Self).ok_or("must be a decimal string from 1 to 2147483647")
    }
}

impl From<BeneficiaryNumber> for String {
    fn from(number: BeneficiaryNumber) -> Self {
        number.0.to_string()
    }
}

impl Destination {
    /// The bank account, if the destination has one.
    pub const fn bank(&self) -> Option<&BankBeneficiary> {
        match self {
            Self::Wallet { .. } => None,
            Self::Bank(BankDestination::Given { bank }) => Some(bank),
            Self::Bank(BankDestination::Saved(saved)) | Self::Sepa(saved) => saved.bank.as_ref(),
        }
    }

    /// The name of the wallet and its kind, if the destination is one.
    pub const fn wallet(&self) -> Option<(WalletScheme, &str)> {
        match self {
            Self::Wallet { scheme, value } => Some((*scheme, value.as_str())),
            Self::Bank(_) | Self::Sepa(_) => None,
        }
    }
}

/// The members of all forms together.
const MEMBERS: [&str; 5] = ["kind", "scheme", "value", "ibanAccountId", "bank"];

/// Notes every member that this form does not have. A `null` member of another form is ignored.
fn refuse_others(fields: &Fields<'_>, form: &[&str], problems: &mut Problems) {
    let left_out = MEMBERS.into_iter().filter(|name| !fields.has(name));
    let known: Vec<&str> = form.iter().copied().chain(left_out).collect();
    fields.refuse_unknown(&known, problems);
}

const BOTH_FORMS: &str = "must not be sent together with ibanAccountId";

impl Destination {
    /// Reads `partnerDestination`, which must have exactly one form and nothing else.
    pub(crate) fn read(fields: &Fields<'_>, problems: &mut Problems) -> Option<Self> {
        match fields.required_text("kind", 140, problems)? {
            "wallet" => Self::read_wallet(fields, problems),
            "bank" => Self::read_bank(fields, problems),
            "sepa" => Self::read_sepa(fields, problems),
            _ => {
                problems.add(&fields.path("kind"), "must be one of wallet, bank, sepa");
                None
            }
        }
    }

    fn read_wallet(fields: &Fields<'_>, problems: &mut Problems) -> Option<Self> {
        refuse_others(fields, &["kind", "scheme", "value"], problems);
        let scheme: Option<WalletScheme> = fields.required_parsed("scheme", problems);
        let value = fields.required_text("value", 254, problems);
        let (scheme, value) = scheme.zip(value)?;
        if let Some(problem) = scheme.problem_with(value) {
            problems.add(&fields.path("value"), problem);
        }
        Some(Self::Wallet { scheme, value: value.to_owned() })
    }

    fn read_bank(fields: &Fields<'_>, problems: &mut Problems) -> Option<Self> {
        refuse_others(fields, &["kind", "ibanAccountId", "bank"], problems);
        match (fields.has("ibanAccountId"), fields.has("bank")) {
            (true, inline) => {
                if inline {
                    problems.add(&fields.path("bank"), BOTH_FORMS);
                }
                let saved = SavedAccount::read(fields, problems)?;
                Some(Self::Bank(BankDestination::Saved(saved)))
            }
            (false, true) => {
                let bank = BankBeneficiary::read(&fields.object("bank", problems)?, problems)?;
                Some(Self::Bank(BankDestination::Given { bank }))
            }
            (false, false) => {
                problems.add(&fields.path("ibanAccountId"), "is required where there is no bank");
                None
            }
        }
    }

    fn read_sepa(fields: &Fields<'_>, problems: &mut Problems) -> Option<Self> {
        refuse_others(fields, &["kind", "ibanAccountId", "bank"], problems);
        if fields.has("bank") {
            problems.add(&fields.path("bank"), "must not be sent: a SEPA beneficiary has to be a saved one");
        }
        fields.require("ibanAccountId", problems);
        SavedAccount::read(fields, problems).map(Self::Sepa)
    }

    /// Whether it names a saved beneficiary.
    pub(crate) const fn is_saved(&self) -> bool {
        matches!(self, Self::Bank(BankDestination::Saved(_)) | Self::Sepa(_))
    }

    /// The same destination without the account that was looked up.
    pub(crate) fn without_account(mut self) -> Self {
        if let Some((_, saved)) = self.saved_mut() {
            saved.bank = None;
        }
        self
    }

    /// The saved beneficiary that it names, with its kind.
    const fn saved_mut(&mut self) -> Option<(BeneficiaryKind, &mut SavedAccount)> {
        match self {
            Self::Wallet { .. } | Self::Bank(BankDestination::Given { .. }) => None,
            Self::Bank(BankDestination::Saved(saved)) => Some((BeneficiaryKind::Bank, saved)),
            Self::Sepa(saved) => Some((BeneficiaryKind::Sepa, saved)),
        }
    }

    /// Looks up the account of the saved beneficiary that it names, and stores it; notes a problem if there
    /// is none.
    pub(crate) async fn look_up(
        &mut self,
        book: &dyn RouteBook,
        tenant: Tenant,
        problems: &mut Problems,
    ) -> Result<(), StoreError> {
        let Some((kind, saved)) = self.saved_mut() else { return Ok(()) };
        match book.beneficiary(tenant, kind, saved.id.0).await? {
            Some(beneficiary) => saved.bank = Some(beneficiary.into()),
            None => problems.add("payout.partnerDestination.ibanAccountId", "names no saved beneficiary"),
        }
        Ok(())
    }
}

impl SavedAccount {
    fn read(fields: &Fields<'_>, problems: &mut Problems) -> Option<Self> {
        let text = fields.text("ibanAccountId", 140, problems)?;
        let number = BeneficiaryNumber::try_from(text.to_owned());
        let id = number.map_err(|rule| problems.add(&fields.path("ibanAccountId"), rule)).ok()?;
        Some(Self { id, bank: None })
    }
}

impl BankBeneficiary {
    fn read(fields: &Fields<'_>, problems: &mut Problems) -> Option<Self> {
        let known = ["iban", "swift", "beneficiaryName", "beneficiaryBank", "address", "reference"];
        fields.refuse_unknown(&known, problems);
        let iban = fields.required_text("iban", 140, problems);
        if let Some(iban) = iban {
            judge_iban(iban, &fields.path("iban"), problems);
        }
        let swift = fields.required_text("swift", 140, problems);
        if let Some(swift) = swift {
            judge_swift(swift, &fields.path("swift"), problems);
        }
        let beneficiary_name = read_filled(fields, "beneficiaryName", problems);
        let beneficiary_bank = read_filled(fields, "beneficiaryBank", problems);
        let address = read_filled(fields, "address", problems);
        let reference = fields.text("reference", 140, problems);
        Some(Self {
            iban: iban?.to_owned(),
            swift: swift.map(str::to_owned),
            beneficiary_name: beneficiary_name?.to_owned(),
            beneficiary_bank: beneficiary_bank.map(str::to_owned),
            address: address.map(str::to_owned),
            reference: reference.map(str::to_owned),
        })
    }
}

/// A text of at most 200 characters. A blank one is a problem, but is read: the account beside it has rules too.
fn read_filled<'a>(fields: &Fields<'a>, name: &str, problems: &mut Problems) -> Option<&'a str> {
    let text = fields.required_text(name, 200, problems)?;
    if text.trim().is_empty() {
        problems.add(&fields.path(name), "must not be blank");
    }
    Some(text)
}

impl From<Beneficiary> for BankBeneficiary {
    fn from(Beneficiary { details, .. }: Beneficiary) -> Self {
        Self {
            iban: details.iban,
            swift: details.swift,
            beneficiary_name: details.beneficiary_name,
            beneficiary_bank: details.beneficiary_bank,
            address: details.address,
            reference: details.reference,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_stored_in_the_form_in_which_it_was_sent() {
        let account = r#"{"iban":"GE29NB0000000101904917","beneficiaryName":"Nino"}"#;
        for stored in [
            r#"{"kind":"wallet","scheme":"phone","value":"995123456789"}"#.to_owned(),
            format!(r#"{{"kind":"bank","bank":{account}}}"#),
            format!(r#"{{"kind":"bank","ibanAccountId":"7","bank":{account}}}"#),
            format!(r#"{{"kind":"sepa","ibanAccountId":"2147483647","bank":{account}}}"#),
            r#"{"kind":"sepa","ibanAccountId":"7"}"#.to_owned(),
        ] {
            let read: Destination = serde_json::from_str(&stored).expect("a destination");
            assert_eq!(serde_json::to_string(&read).expect("JSON"), stored);
            assert_eq!(read.is_saved(), stored.contains("ibanAccountId"));
        }
        serde_json::from_str::<Destination>(r#"{"kind":"bank"}"#).expect_err("it leads nowhere");
    }
}
