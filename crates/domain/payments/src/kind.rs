//! What kind of payment a payment is.

use quipu_kernel::wire_names;
use quipu_merchants::Direction;

wire_names! {
    /// Which way the money goes, and whether the payer or recipient uses a hosted page.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum PaymentType {
        /// Money in.
        Deposit = "deposit",
        /// Money out.
        Withdrawal = "withdrawal",
        /// Money in, by a hosted page.
        DepositPp = "deposit_pp",
        /// Money out; the recipient may fill in where to on a hosted page.
        WithdrawalPp = "withdrawal_pp",
    }
}

impl PaymentType {
    /// Whether it has a hosted page.
    pub const fn has_page(self) -> bool {
        matches!(self, Self::DepositPp | Self::WithdrawalPp)
    }

    /// Which way the money goes.
    pub const fn direction(self) -> Direction {
        match self {
            Self::Deposit | Self::DepositPp => Direction::Deposit,
            Self::Withdrawal | Self::WithdrawalPp => Direction::Withdrawal,
        }
    }
}

wire_names! {
    /// The merchant's own sorting of its traffic.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum TrafficType {
        /// First-time or ordinary traffic.
        Primary = "primary",
        /// Returning traffic.
        Secondary = "secondary",
        /// Traffic of the merchant's most valued customers.
        Vip = "vip",
    }
}

wire_names! {
    /// The scheme that a `redirectpay` payment is restricted to.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum RedirectScheme {
        /// Visa cards.
        Visa = "VISA",
        /// Mastercard cards.
        Mc = "MC",
        /// The scheme's own wallet.
        RedirectPay = "REDIRECTPAY",
        /// Sri Lanka's QR scheme.
        Lqr = "LQR",
    }
}
