//! The appearance of a merchant's hosted pages, and the port through which pages are stored.

use std::str::FromStr;

use async_trait::async_trait;
use quipu_kernel::{Fields, MerchantId, PaymentId, Problems, StoreError, Tenant, Unrecognised};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    audit::{Actor, AuditRecord},
    error::DirectoryError,
    merchant::MAX_NAME,
    onboarding::Onboarding,
};

/// A colour, written `#rrggbb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Accent([u8; 3]);

impl Accent {
    /// The colour with these parts of red, green and blue.
    pub const fn new(parts: [u8; 3]) -> Self {
        Self(parts)
    }

    /// Red, green and blue.
    pub const fn parts(self) -> [u8; 3] {
        self.0
    }

    /// The colour as six hexadecimal digits.
    pub fn hex(self) -> String {
        let [red, green, blue] = self.0;
        format!("{red:02x}{green:02x}{blue:02x}")
    }

    /// Reads six hexadecimal digits.
    pub fn of_hex(digits: &str) -> Option<Self> {
        let is_hex = digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let part = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
        is_hex.then(|| Some(Self([part(0)?, part(2)?, part(4)?])))?
    }
}

impl FromStr for Accent {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        let digits = text.strip_prefix('#');
        digits.and_then(Self::of_hex).ok_or(Unrecognised { expected: "a colour written #rrggbb" })
    }
}

impl TryFrom<String> for Accent {
    type Error = Unrecognised;

    fn try_from(text: String) -> Result<Self, Unrecognised> {
        text.parse()
    }
}

impl From<Accent> for String {
    fn from(accent: Accent) -> Self {
        format!("#{}", accent.hex())
    }
}

/// The appearance of a merchant's pages as the operator set it; for absent members the gateway's own applies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MerchantPage {
    /// The name shown to payers instead of the merchant's own.
    pub name: Option<String>,
    /// The accent colour.
    pub accent: Option<Accent>,
    /// The logo: hex of SHA-256 over the bytes of the picture, by which it is found.
    pub logo: Option<String>,
}

impl MerchantPage {
    /// Reads the name and the colour that staff wrote. A picture is sent in different ways, and becomes the logo
    /// once it was drawn.
    pub fn read(fields: &Fields<'_>, problems: &mut Problems) -> Self {
        let name = fields.filled_text("name", MAX_NAME, problems).map(str::to_owned);
        Self { name, accent: fields.parsed::<Accent>("accent", problems), logo: None }
    }

    /// How the audit log shows a merchant's page: as JSON, `null` if nothing is set.
    pub fn audited(page: Option<&Self>) -> Value {
        page.map_or(
            Value::Null,
            |page| json!({ "name": page.name, "accent": page.accent, "logo": page.logo }),
        )
    }
}

/// The store of hosted pages.
#[async_trait]
pub trait PageStore: Send + Sync {
    /// The payment whose page has an address with this hash.
    async fn payment_of(&self, hash: &str) -> Result<Option<(Tenant, PaymentId)>, StoreError>;

    /// The appearance of a merchant's pages, if it was set.
    async fn merchant_page(&self, merchant: MerchantId) -> Result<Option<MerchantPage>, StoreError>;

    /// Sets or unsets the appearance of a merchant's pages, with the picture of a new logo and the audit
    /// line, to which the store adds the former appearance, all or nothing. `NotFound` if there is no such
    /// merchant.
    async fn set_merchant_page(
        &self,
        merchant: MerchantId,
        page: Option<(MerchantPage, Option<Vec<u8>>)>,
        audit: AuditRecord,
    ) -> Result<(), DirectoryError>;

    /// The picture with this hash, as PNG.
    async fn logo(&self, hash: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// The sealed page key of the installation. The first key that is offered is stored, and every caller
    /// gets that one.
    async fn page_key(&self, offered: &str) -> Result<String, StoreError>;
}

impl Onboarding {
    /// The line of the audit log about a change of a merchant's pages. [`PageStore::set_merchant_page`] adds the
    /// appearance before the change.
    pub fn audit_of_page(
        &self,
        merchant: MerchantId,
        after: Option<&MerchantPage>,
        actor: Actor,
    ) -> AuditRecord {
        let audit = self.audit(self.clock.now(), actor, "merchant.page", Some(merchant));
        audit.about(format!("merchant/{merchant}/page")).changing(Value::Null, MerchantPage::audited(after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_six_hexadecimal_digits_after_a_hash_are_a_colour() {
        assert_eq!("#0F5c63".parse(), Ok(Accent::new([0x0f, 0x5c, 0x63])));
        for text in ["", "#", "0f5c63", "#0f5c6", "#0f5c633", "#0f5c6g", "#+f5c63", "#ääa", "red"] {
            assert!(text.parse::<Accent>().is_err(), "{text:?}");
        }
    }
}
