//! Currency codes.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::unrecognised::Unrecognised;

/// A currency code: three ASCII capitals, as ISO 4217 writes them.
///
/// Only the form is checked. Which currencies a merchant may use is a matter of its routes, so a
/// well-formed code without a route is a business refusal, not a malformed request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Currency([u8; 3]);

impl Currency {
    /// Argentine peso.
    pub const ARS: Self = Self(*b"ARS");
    /// Australian dollar.
    pub const AUD: Self = Self(*b"AUD");
    /// Georgian lari, used by partner payouts.
    pub const GEL: Self = Self(*b"GEL");
    /// Sri Lankan rupee.
    pub const LKR: Self = Self(*b"LKR");
    /// Mexican peso.
    pub const MXN: Self = Self(*b"MXN");
    /// Turkish lira.
    pub const TRY: Self = Self(*b"TRY");
    /// Uruguayan peso.
    pub const UYU: Self = Self(*b"UYU");

    /// The six currencies a balance can be asked in by name (docs/API.md, "Balances").
    pub const IN_BALANCE_QUERIES: [Self; 6] =
        [Self::ARS, Self::AUD, Self::LKR, Self::MXN, Self::TRY, Self::UYU];

    /// How many digits follow the decimal point (ISO 4217): two for most currencies.
    pub fn decimals(&self) -> usize {
        match &self.0 {
            b"BIF" | b"CLP" | b"DJF" | b"GNF" | b"ISK" | b"JPY" | b"KMF" | b"KRW" | b"PYG" | b"RWF"
            | b"UGX" | b"UYI" | b"VND" | b"VUV" | b"XAF" | b"XOF" | b"XPF" => 0,
            b"BHD" | b"IQD" | b"JOD" | b"KWD" | b"LYD" | b"OMR" | b"TND" => 3,
            b"CLF" | b"UYW" => 4,
            _ => 2,
        }
    }

    /// The code as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl FromStr for Currency {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        match text.as_bytes() {
            &[a, b, c] if [a, b, c].iter().all(u8::is_ascii_uppercase) => Ok(Self([a, b, c])),
            _ => Err(Unrecognised { expected: "a currency code of three capital letters" }),
        }
    }
}

impl TryFrom<String> for Currency {
    type Error = Unrecognised;

    fn try_from(text: String) -> Result<Self, Unrecognised> {
        text.parse()
    }
}

impl From<Currency> for String {
    fn from(currency: Currency) -> String {
        currency.as_str().to_owned()
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_three_ascii_capitals_are_a_code() {
        assert_eq!("MXN".parse(), Ok(Currency::MXN));
        for text in ["", "mxn", "MX", "MXNN", "MX1", "ÄÖ", "M N"] {
            assert!(text.parse::<Currency>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_code_is_written_as_it_was_read() {
        assert_eq!(format!("{0} {0:?} {1}", Currency::MXN, String::from(Currency::AUD)), "MXN MXN AUD");
    }

    #[test]
    fn currencies_have_two_decimals_but_for_those_that_iso_4217_names() {
        let two = Currency::IN_BALANCE_QUERIES.map(|currency| currency.decimals());
        assert_eq!(two, [2; 6]);
        for (codes, decimals) in [
            ("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF", 0),
            ("EUR GEL USD", 2),
            ("BHD IQD JOD KWD LYD OMR TND", 3),
            ("CLF UYW", 4),
        ] {
            for code in codes.split(' ') {
                let currency: Currency = code.parse().expect("a code");
                assert_eq!(currency.decimals(), decimals, "{code}");
            }
        }
    }
}
