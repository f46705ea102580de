//! The recipient of a withdrawal (docs/API.md, "Create").

use quipu_kernel::{Currency, Fields, Problems, StoreError, Tenant, wire_names};
use quipu_merchants::{
    AccountCheck, Direction, Method, PAYOUT_FIELDS, Route, RouteBook, refused_payout_fields,
};
use serde::{Deserialize, Serialize};

use crate::details::{
    account_number, address::is_email, destination::Destination, kind::PaymentType, pairing::RequestedPairing,
};

wire_names! {
    /// The kind of a PayID.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum PayIdType {
        /// An e-mail address.
        Email = "email",
        /// A telephone number.
        Phone = "phone",
        /// An Australian business number.
        Abn = "abn",
    }
}

/// The recipient of a withdrawal. The members are those of the request; which of them a payment has depends
/// on its route.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Payout {
    /// The recipient's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipient_name: Option<String>,
    /// Account number: CBU, CLABE or the like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank_account: Option<String>,
    /// Bank routing code, if the route needs one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank_code: Option<String>,
    /// Account type, in the words that the route needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_type: Option<String>,
    /// The recipient's tax identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beneficiary_tax_id: Option<String>,
    /// A PayID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payid: Option<String>,
    /// The kind of PayID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payid_type: Option<PayIdType>,
    /// Bank-state-branch code, 6 digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bsb: Option<String>,
    /// A partner destination, which excludes every member above but `recipient_name`.
    #[serde(rename = "partnerDestination", skip_serializing_if = "Option::is_none")]
    pub partner_destination: Option<Destination>,
}

/// The rules whose breach is a slip in a number of the right length. A page that words problems itself recognises them by
/// these constants.
pub mod check_digit_rules {
    /// Of `bank_account`, for SPEI.
    pub const CLABE: &str = "must be a CLABE with a right check digit";
    /// Of `bank_account`, in ARS.
    pub const CBU: &str = "must be a CBU or CVU with right check digits, or an alias";
    /// Of `payid`, for an ABN.
    pub const ABN: &str = "must be an ABN with right check digits";
}

/// The rule of a `payid` that is to be an ABN and has not its length.
pub const ABN_LENGTH_RULE: &str = "must be 11 digits";

/// The most characters that any member may have.
const MAX_LENGTH: usize = 140;

const PARTNER: &str = "partnerDestination";

/// The members that a partner destination excludes.
const EXCLUDED_BY_PARTNER: [&str; 7] = {
    let [_recipient_name, account, code, kind, tax_id, payid, payid_type, bsb] = PAYOUT_FIELDS;
    [account, code, kind, tax_id, payid, payid_type, bsb]
};

/// The members that a withdrawal by this method in this currency always needs, besides those that its route
/// asks for.
pub(crate) const fn always_needed(method: Method, currency: Currency) -> &'static [&'static str] {
    match (method, currency) {
        (Method::Spei, _) => &["bank_account"],
        (Method::PayId, _) => &["payid", "payid_type"],
        (_, Currency::ARS) => &["recipient_name", "bank_account"],
        (Method::BankTransfer, Currency::AUD) => &["bsb", "bank_account"],
        (Method::BankTransfer, _) => &["bank_account"],
        (Method::CashStore | Method::Card | Method::Cash | Method::Crypto | Method::RedirectPay, _) => &[],
    }
}

impl Payout {
    /// Reads `payout`, which a withdrawal must have, a hosted withdrawal may have and a deposit must not
    /// have.
    pub(crate) fn of_request(
        body: &Fields<'_>,
        pairing: RequestedPairing,
        problems: &mut Problems,
    ) -> Option<Self> {
        let deposit = pairing.kind.is_some_and(|kind| kind.direction() == Direction::Deposit);
        if deposit && body.has("payout") {
            problems.add("payout", "must not be sent on a deposit");
            return None;
        }
        let needs_recipient = pairing.kind == Some(PaymentType::Withdrawal);
        if !body.has("payout") {
            if needs_recipient {
                problems.add("payout", "is required for a withdrawal");
            }
            return None;
        }
        let fields = body.object("payout", problems)?;
        let before = problems.messages().len();
        let payout = Self::read(&fields, pairing, problems);
        let is_empty = payout.as_ref().is_none_or(|payout| *payout == Self::default());
        if is_empty && needs_recipient && problems.messages().len() == before {
            problems.add("payout", "must name its recipient");
        }
        payout
    }

    /// Reads `payout` of a request with this pairing. One without any member counts as absent where that is allowed, as it is
    /// for a hosted withdrawal; of a plain one the route still says which members it lacks.
    fn read(fields: &Fields<'_>, pairing: RequestedPairing, problems: &mut Problems) -> Option<Self> {
        let [account, code, kind, tax_id, payid, payid_type, bsb] = EXCLUDED_BY_PARTNER;
        let known = ["recipient_name", account, code, kind, tax_id, payid, payid_type, bsb, PARTNER];
        fields.refuse_unknown(&known, problems);
        let mut text = |name| fields.optional_text(name, MAX_LENGTH, problems);
        let mut payout = Self {
            recipient_name: text("recipient_name"),
            bank_account: text(account),
            bank_code: text(code),
            account_type: text(kind),
            beneficiary_tax_id: text(tax_id),
            payid: text(payid),
            payid_type: None,
            bsb: text(bsb),
            partner_destination: None,
        };
        if fields.has(PARTNER) {
            for name in EXCLUDED_BY_PARTNER.into_iter().filter(|name| fields.has(name)) {
                problems.add(&fields.path(name), "must not be combined with partnerDestination");
            }
            let destination = fields.object(PARTNER, problems);
            payout.partner_destination =
                destination.and_then(|destination| Destination::read(&destination, problems));
            return Some(payout);
        }
        if fields.value(payid_type).is_some_and(|value| value.as_str() != Some("")) {
            payout.payid_type = fields.parsed(payid_type, problems);
        }
        payout.judge_formats(fields, pairing.method, problems);
        let is_judged = payout != Self::default() || pairing.kind == Some(PaymentType::Withdrawal);
        if is_judged {
            let needed = pairing.method.zip(pairing.currency);
            let needed = needed.map_or(&[][..], |(method, currency)| always_needed(method, currency));
            for name in needed.iter().filter(|name| !fields.has(name) || is_blank(fields, name)) {
                problems.add(&fields.path(name), "is required");
            }
        }
        is_judged.then_some(payout)
    }

    fn judge_formats(&self, fields: &Fields<'_>, method: Option<Method>, problems: &mut Problems) {
        let mut judge = |name: &str, fits: bool, rule: &str| {
            if !fits {
                problems.add(&fields.path(name), rule);
            }
        };
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if let Some(account) = &self.bank_account {
            if method == Some(Method::Spei) {
                let fits = (10..=18).contains(&account.len()) && digits(account);
                judge("bank_account", fits, "must be 10 to 18 digits (a CLABE has 18)");
            } else {
                let admitted = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-';
                let fits = account.bytes().all(admitted);
                judge("bank_account", fits, "must be letters, digits, dots and hyphens");
            }
        }
        if let Some(bsb) = &self.bsb {
            judge("bsb", bsb.len() == 6 && digits(bsb), "must be 6 digits");
        }
        if let (Some(payid), Some(kind)) = (&self.payid, self.payid_type) {
            let (fits, rule) = kind.judge(payid);
            judge("payid", fits, rule);
        }
        let Some(method) = method else { return };
        let rule = match method {
            Method::PayId => "must not be sent with method payid",
            Method::BankTransfer
            | Method::Spei
            | Method::CashStore
            | Method::Card
            | Method::Cash
            | Method::Crypto
            | Method::RedirectPay => "is only for method payid",
        };
        for name in refused_payout_fields(method) {
            judge(name, !self.has(name), rule);
        }
    }

    /// Looks up the account of a saved beneficiary and stores it in the destination.
    pub(crate) async fn look_up(
        &mut self,
        book: &dyn RouteBook,
        tenant: Tenant,
        problems: &mut Problems,
    ) -> Result<(), StoreError> {
        match &mut self.partner_destination {
            Some(destination) => destination.look_up(book, tenant, problems).await,
            None => Ok(()),
        }
    }

    /// Notes the problems of the recipient that come from the route's rules: further members, check digits.
    pub(crate) fn judge_by(&self, route: &Route, problems: &mut Problems) {
        for name in route.required_payout_fields.iter().filter(|name| !self.has(name)) {
            problems.add(&format!("payout.{name}"), "is required");
        }
        if route.account_check == AccountCheck::Enforce {
            self.judge_check_digits(route, problems);
        }
    }

    fn judge_check_digits(&self, route: &Route, problems: &mut Problems) {
        if let Some(account) = &self.bank_account {
            let (fits, rule) = match (route.method, route.currency) {
                (Method::Spei, _) => (account_number::is_clabe(account), check_digit_rules::CLABE),
                (_, Currency::ARS) => (
                    account_number::is_cbu(account) || account_number::is_cbu_alias(account),
                    check_digit_rules::CBU,
                ),
                (
                    Method::BankTransfer
                    | Method::CashStore
                    | Method::Card
                    | Method::Cash
                    | Method::Crypto
                    | Method::PayId
                    | Method::RedirectPay,
                    _,
                ) => (true, ""),
            };
            if !fits {
                problems.add("payout.bank_account", rule);
            }
        }
        if let (Some(payid), Some(PayIdType::Abn)) = (&self.payid, self.payid_type)
            && !account_number::is_abn(payid)
        {
            problems.add("payout.payid", check_digit_rules::ABN);
        }
        if let Some(destination) = &self.partner_destination
            && let Some(bank) = destination.bank()
            && !account_number::has_iban_check_digits(&bank.iban)
        {
            let (field, rule) = if destination.is_saved() {
                ("ibanAccountId", "names an account whose IBAN has wrong check digits")
            } else {
                ("bank.iban", "must have right check digits")
            };
            problems.add(&format!("payout.partnerDestination.{field}"), rule);
        }
    }

    /// Whether it goes to a partner destination.
    pub(crate) const fn is_partner(&self) -> bool {
        self.partner_destination.is_some()
    }

    fn has(&self, name: &str) -> bool {
        let Self {
            recipient_name,
            bank_account,
            bank_code,
            account_type,
            beneficiary_tax_id,
            payid,
            payid_type,
            bsb,
            partner_destination,
        } = self;
        match name {
            "recipient_name" => recipient_name.is_some(),
            "bank_account" => bank_account.is_some(),
            "bank_code" => bank_code.is_some(),
            "account_type" => account_type.is_some(),
            "beneficiary_tax_id" => beneficiary_tax_id.is_some(),
            "payid" => payid.is_some(),
            "payid_type" => payid_type.is_some(),
            "bsb" => bsb.is_some(),
            PARTNER => partner_destination.is_some(),
            _ => false,
        }
    }
}

/// Whether a member is a blank text, which counts as absent if the member is allowed.
fn is_blank(fields: &Fields<'_>, name: &str) -> bool {
    fields.value(name).and_then(serde_json::Value::as_str).is_some_and(|text| text.trim().is_empty())
}

impl PayIdType {
    /// Whether `payid` has the form of this kind, and the rule for that form in words.
    fn judge(self, payid: &str) -> (bool, &'static str) {
        match self {
            Self::Email => (is_email(payid), "must be an e-mail address"),
            Self::Phone => {
                let digits = payid.bytes().filter(u8::is_ascii_digit).count();
                let admitted = payid.bytes().all(|byte| byte.is_ascii_digit() || b"+- ()".contains(&byte));
                (admitted && (8..=15).contains(&digits), "must be a telephone number of 8 to 15 digits")
            }
            Self::Abn => {
                let fits = payid.len() == 11 && payid.bytes().all(|byte| byte.is_ascii_digit());
                (fits, ABN_LENGTH_RULE)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_member_that_a_route_may_ask_for_is_found_where_it_is_and_nowhere_else() {
        for name in PAYOUT_FIELDS {
            // The text is a kind of PayID too.
            let payout: Payout = serde_json::from_value(json!({ name: "email" })).expect("a payout");
            let found: Vec<_> = PAYOUT_FIELDS.into_iter().filter(|name| payout.has(name)).collect();
            assert_eq!(found, [name]);
        }
    }
}
