//! What the number of an account is called.

use quipu_kernel::Currency;
use quipu_merchants::Method;

/// The kind of number by which a method knows an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccountNumber {
    /// A CLABE of Mexico.
    Clabe,
    /// A CBU, a CVU or an alias of Argentina.
    Cbu,
    /// The address of a wallet.
    Address,
    /// A number of another bank.
    Other,
}

impl AccountNumber {
    /// The kind of this method and currency.
    pub(crate) const fn of(method: Method, currency: Currency) -> Self {
        match (method, currency) {
            (Method::Spei, _) => Self::Clabe,
            (Method::Crypto, _) => Self::Address,
            (_, Currency::ARS) => Self::Cbu,
            (
                Method::BankTransfer
                | Method::CashStore
                | Method::Card
                | Method::Cash
                | Method::PayId
                | Method::RedirectPay,
                _,
            ) => Self::Other,
        }
    }

    /// The key of the message that names it.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Clabe => "field-clabe",
            Self::Cbu => "field-cbu",
            Self::Address => "field-wallet-address",
            Self::Other => "field-bank-account",
        }
    }

    /// The key of the message that says what it looks like, if there is one.
    pub(crate) const fn hint(self) -> Option<&'static str> {
        match self {
            Self::Clabe => Some("hint-clabe"),
            Self::Cbu => Some("hint-cbu"),
            Self::Address | Self::Other => None,
        }
    }

    /// The key of the message that says that an entered one has not its form.
    pub(crate) const fn misfit(self) -> &'static str {
        match self {
            Self::Clabe => "problem-clabe",
            Self::Cbu | Self::Address | Self::Other => "problem-account",
        }
    }

    /// The number of digits of an entered one that is taken for digits only, and the key of the message that says so.
    pub(crate) const fn length(self) -> Option<(usize, &'static str)> {
        match self {
            Self::Clabe => Some((18, "problem-clabe")),
            Self::Cbu => Some((22, "problem-cbu")),
            Self::Address | Self::Other => None,
        }
    }

    /// Whether it has digits only.
    pub(crate) const fn is_digits(self) -> bool {
        match self {
            Self::Clabe => true,
            Self::Cbu | Self::Address | Self::Other => false,
        }
    }
}
