//! The form in which a recipient names the account for the money.

use std::collections::BTreeMap;

use quipu_kernel::Currency;
use quipu_merchants::Method;
use quipu_payments::{ABN_LENGTH_RULE, PayIdType, check_digit_rules};

use crate::{account_number::AccountNumber, words::Words};

/// A form as it was sent, and its problems: the messages of the domain, each beginning with its member.
#[derive(Debug, Clone, Default)]
pub struct Filled {
    /// The entered values, by member of `payout`.
    pub values: BTreeMap<String, String>,
    /// The problems, such as `payout.bsb must be 6 digits`.
    pub problems: Vec<String>,
}

/// A form to be filled in.
pub(crate) struct Form {
    pub(crate) fields: Vec<Field>,
    pub(crate) has_problems: bool,
}

/// A field of a form.
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) label: String,
    pub(crate) hint: Option<String>,
    pub(crate) value: String,
    pub(crate) problem: Option<String>,
    /// Whether a reader who has to correct the form begins here.
    pub(crate) is_first_wrong: bool,
    /// The element identifiers of hint and problem, for screen readers.
    pub(crate) described: Option<String>,
    pub(crate) complete: &'static str,
    pub(crate) keyboard: &'static str,
    /// The values of a choice with their labels.
    pub(crate) options: Vec<(&'static str, String)>,
}

impl Form {
    /// A form with these members of `payout`.
    pub(crate) fn new(
        members: &[String],
        method: Method,
        currency: Currency,
        filled: &Filled,
        words: Words,
    ) -> Self {
        let account = AccountNumber::of(method, currency);
        let field = |member: &String| Field::new(member, account, filled, words);
        let mut fields: Vec<_> = members.iter().map(field).collect();
        if let Some(first) = fields.iter_mut().find(|field| field.problem.is_some()) {
            first.is_first_wrong = true;
        }
        Self { fields, has_problems: !filled.problems.is_empty() }
    }
}

impl Field {
    fn new(member: &str, account: AccountNumber, filled: &Filled, words: Words) -> Self {
        let (label, hint) = label_and_hint(member, account);
        let value = filled.values.get(member).cloned().unwrap_or_default();
        let problem = filled.problems.iter().find_map(|problem| {
            let (path, rule) = problem.split_once(' ')?;
            let is_here = path.strip_prefix("payout.").unwrap_or(path) == member;
            is_here.then(|| words.say(problem_key(member, rule, account, &value)))
        });
        let ids = [hint.map(|_| "hint"), problem.as_ref().map(|_| "problem")];
        let ids: Vec<_> = ids.into_iter().flatten().map(|part| format!("{member}-{part}")).collect();
        let kinds = PayIdType::ALL.map(|kind| (kind.as_str(), kind_key(kind)));
        let options = if member == "payid_type" { &kinds[..] } else { &[] };
        let is_number = member == "bsb" || (member == "bank_account" && account.is_digits());
        Self {
            name: member.to_owned(),
            label: words.say(label),
            hint: hint.map(|key| words.say(key)),
            value,
            problem,
            is_first_wrong: false,
            described: (!ids.is_empty()).then(|| ids.join(" ")),
            complete: if member == "recipient_name" { "name" } else { "off" },
            keyboard: if is_number { "numeric" } else { "text" },
            options: options.iter().map(|(value, key)| (*value, words.say(key))).collect(),
        }
    }
}

fn label_and_hint(member: &str, account: AccountNumber) -> (&'static str, Option<&'static str>) {
    match member {
        "recipient_name" => ("field-recipient", None),
        "bank_account" => (account.label(), account.hint()),
        "bank_code" => ("field-bank-code", None),
        "account_type" => ("field-account-type", None),
        "beneficiary_tax_id" => ("field-tax-id", None),
        "payid" => ("field-payid", Some("hint-payid")),
        "payid_type" => ("field-payid-type", None),
        "bsb" => ("field-bsb", Some("hint-bsb")),
        _ => ("field-destination", None),
    }
}

/// The key of the label of a kind of PayID.
const fn kind_key(kind: PayIdType) -> &'static str {
    match kind {
        PayIdType::Email => "payid-email",
        PayIdType::Phone => "payid-phone",
        PayIdType::Abn => "payid-abn",
    }
}

/// The key of the message that says the domain's rule in the words of the page.
fn problem_key(member: &str, rule: &str, account: AccountNumber, value: &str) -> &'static str {
    match member {
        _ if rule == "is required" => "problem-required",
        "bank_account" if [check_digit_rules::CLABE, check_digit_rules::CBU].contains(&rule) => {
            // The rule is of the check digits, but a number of another length has none.
            let length = value.trim().len();
            let wrong = account.length().filter(|(digits, _)| *digits != length);
            wrong.map_or("problem-slip", |(_, key)| key)
        }
        "bank_account" => account.misfit(),
        "bsb" => "problem-bsb",
        // Told only that it does not fit its kind, a recipient may choose another kind, which takes a mistyped
        // ABN as a telephone number.
        "payid" if rule == check_digit_rules::ABN => "problem-abn-slip",
        "payid" if rule == ABN_LENGTH_RULE => "problem-abn",
        "payid" => "problem-payid",
        _ => "problem-other",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use quipu_merchants::PAYOUT_FIELDS;

    use super::*;
    use crate::language::Language;

    #[test]
    fn each_member_that_a_route_may_ask_for_has_a_label_of_its_own() {
        let members = PAYOUT_FIELDS.map(str::to_owned);
        for method in Method::ALL {
            let (filled, words) = (Filled::default(), Words::of(Language::English));
            let form = Form::new(&members, method, Currency::AUD, &filled, words);
            let labels: BTreeSet<_> = form.fields.iter().map(|field| field.label.as_str()).collect();
            assert_eq!(labels.len(), members.len(), "{method:?} {labels:?}");
            assert!(!labels.contains(words.say("field-destination").as_str()), "{method:?}");
        }
    }

    #[test]
    fn a_slip_in_an_account_and_a_wrong_length_are_told_apart() {
        let slip = "The account number has a typing error. Please check every digit.";
        let clabe = "A CLABE has 18 digits. Digits only, without spaces or hyphens.";
        let cbu = "A CBU or CVU has 22 digits, an alias 6 to 20 letters, digits, dots and hyphens.";
        let (spei, transfer) = ((Method::Spei, Currency::MXN), (Method::BankTransfer, Currency::ARS));
        let table = [
            (spei, check_digit_rules::CLABE, "032180000118359718", slip),
            (spei, check_digit_rules::CLABE, "03218000011835971", clabe),
            (transfer, check_digit_rules::CBU, "2850590940090418135202", slip),
            (transfer, check_digit_rules::CBU, "285059094009041813520", cbu),
            (transfer, check_digit_rules::CBU, "a.b", cbu),
        ];
        for ((method, currency), rule, entered, said) in table {
            let filled = Filled {
                values: BTreeMap::from([("bank_account".to_owned(), entered.to_owned())]),
                problems: vec![format!("payout.bank_account {rule}")],
            };
            let members = ["bank_account".to_owned()];
            let form = Form::new(&members, method, currency, &filled, Words::of(Language::English));
            assert_eq!(form.fields[0].problem.as_deref(), Some(said), "{entered}");
        }
    }

    #[test]
    fn a_rule_is_told_as_what_to_correct() {
        let table = [
            ("payid", ABN_LENGTH_RULE, "An ABN has 11 digits, without spaces."),
            ("payid", check_digit_rules::ABN, "The ABN has a typing error. Please check every digit."),
            ("payid", "must be an e-mail address", "This does not fit the kind of PayID you chose."),
            (
                "payid",
                "must be a telephone number of 8 to 15 digits",
                "This does not fit the kind of PayID you chose.",
            ),
            ("payid", "is required", "Please fill this in."),
            ("bsb", "must be 6 digits", "A BSB has 6 digits. Digits only, without spaces or hyphens."),
            (
                "bank_account",
                "must be 10 to 18 digits (a CLABE has 18)",
                "A CLABE has 18 digits. Digits only, without spaces or hyphens.",
            ),
        ];
        for (member, rule, said) in table {
            let problem = format!("payout.{member} {rule}");
            let filled = Filled { values: BTreeMap::new(), problems: vec![problem.clone()] };
            let (members, words) = ([member.to_owned()], Words::of(Language::English));
            let form = Form::new(&members, Method::Spei, Currency::MXN, &filled, words);
            assert_eq!(form.fields[0].problem.as_deref(), Some(said), "{problem}");
        }
    }

    #[test]
    fn a_problem_stands_at_its_field_in_the_readers_language() {
        let filled = Filled {
            values: BTreeMap::from([("bsb".to_owned(), "12".to_owned())]),
            problems: vec![
                "payout.bsb must be 6 digits".to_owned(),
                "payout.bank_account is required".to_owned(),
            ],
        };
        let members = ["bsb".to_owned(), "bank_account".to_owned(), "recipient_name".to_owned()];
        let spanish = Words::of(Language::Spanish);
        let form = Form::new(&members, Method::BankTransfer, Currency::AUD, &filled, spanish);
        let problems: Vec<_> = form.fields.iter().map(|field| field.problem.as_deref()).collect();
        let bsb = "Un BSB tiene 6 dígitos. Solo dígitos, sin espacios ni guiones.";
        assert_eq!(problems, [Some(bsb), Some("Complete este campo."), None]);
        assert_eq!(
            form.fields.iter().map(|field| field.is_first_wrong).collect::<Vec<_>>(),
            [true, false, false]
        );
        assert_eq!(form.fields[0].value, "12");
        assert_eq!(form.fields[0].described.as_deref(), Some("bsb-hint bsb-problem"));
    }
}
