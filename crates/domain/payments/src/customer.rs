//! Who pays or is paid.

use quipu_kernel::CustomerId;
use serde::{Deserialize, Serialize};

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
    /// What an e-mail address is matched by: the address without regard to case.
    pub fn email_key(&self) -> Option<String> {
        self.email.as_ref().map(|email| email.to_lowercase())
    }

    /// What a telephone number is matched by, where there is no e-mail address: its digits.
    pub fn phone_key(&self) -> Option<String> {
        let digits: String = self.phone.as_ref()?.chars().filter(char::is_ascii_digit).collect();
        (!digits.is_empty()).then_some(digits)
    }
}
