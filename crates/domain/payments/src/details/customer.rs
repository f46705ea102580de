//! The customer who pays or is paid.

use quipu_kernel::{CustomerId, Fields, Problems, fold_address};
use serde::{Deserialize, Serialize};

use crate::details::address::is_email;

/// A customer of a merchant as a payment names it. At least one member has a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Customer {
    /// The customer's number within the merchant and environment.
    pub id: CustomerId,
    /// E-mail address, at most 254 characters.
    pub email: Option<String>,
    /// Telephone number, at most 32 characters, as it was sent.
    pub phone: Option<String>,
    /// Name, at most 255 characters.
    pub name: Option<String>,
}

impl Customer {
    /// The form of the e-mail address by which customers are matched: it ignores case ([`fold_address`]).
    pub fn email_key(&self) -> Option<String> {
        self.email.as_deref().map(fold_address)
    }

    /// The form of the telephone number by which customers without an e-mail address are matched: its digits.
    pub fn phone_key(&self) -> Option<String> {
        let digits: String = self.phone.as_ref()?.chars().filter(char::is_ascii_digit).collect();
        (!digits.is_empty()).then_some(digits)
    }
}

/// The customer of a request: an existing one, or one to be matched or made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NamedCustomer {
    pub(crate) id: Option<CustomerId>,
    pub(crate) email: Option<String>,
    pub(crate) phone: Option<String>,
    pub(crate) name: Option<String>,
}

impl NamedCustomer {
    /// Reads `customer` and `customer_id`. Unknown members are ignored, and an empty text counts as absent.
    pub(crate) fn read(body: &Fields<'_>, id: Option<CustomerId>, problems: &mut Problems) -> Option<Self> {
        body.require("customer", problems);
        let fields = body.object("customer", problems)?;
        let before = problems.messages().len();
        let mut text = |name, max| fields.optional_text(name, max, problems);
        let (name, email, phone) = (text("name", 255), text("email", 254), text("phone", 32));
        if email.as_deref().is_some_and(|email| !is_email(email)) {
            problems.add("customer.email", "must be an e-mail address");
        }
        if phone.as_deref().is_some_and(|phone| !phone.bytes().any(|byte| byte.is_ascii_digit())) {
            problems.add("customer.phone", "must contain digits");
        }
        // A member that is there but wrong has its own problem; that there is none at all would be false.
        if problems.messages().len() == before && email.is_none() && phone.is_none() {
            if !body.has("customer_id") {
                problems.add("customer", "must have an email or a phone");
            } else if name.is_none() {
                problems.add("customer", "must have a name, an email or a phone");
            }
        }
        Some(Self { id, email, phone, name })
    }
}

pub(crate) fn read_id(body: &Fields<'_>, problems: &mut Problems) -> Option<CustomerId> {
    let id = CustomerId::admitted(body.integer("customer_id", problems)?);
    if id.is_none() {
        problems.add("customer_id", "must be an integer from 1 to 2^53 - 1");
    }
    id
}
