//! The kind of a payment.

use quipu_kernel::wire_names;
use quipu_merchants::Direction;

wire_names! {
    /// Deposit or withdrawal, and whether the payer or recipient uses a hosted page.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum PaymentType {
        /// A deposit.
        Deposit = "deposit",
        /// A withdrawal.
        Withdrawal = "withdrawal",
        /// A deposit with a hosted page.
        DepositPp = "deposit_pp",
        /// A withdrawal; the recipient may enter the destination on a hosted page.
        WithdrawalPp = "withdrawal_pp",
    }
}

impl PaymentType {
    /// Whether it has a hosted page.
    pub const fn has_page(self) -> bool {
        matches!(self, Self::DepositPp | Self::WithdrawalPp)
    }

    /// Whether this is a hosted withdrawal whose recipient is not known yet.
    pub(crate) const fn lacks_recipient(self, has_recipient: bool) -> bool {
        matches!(self, Self::WithdrawalPp) && !has_recipient
    }

    /// Whether money comes in or goes out.
    pub const fn direction(self) -> Direction {
        match self {
            Self::Deposit | Self::DepositPp => Direction::Deposit,
            Self::Withdrawal | Self::WithdrawalPp => Direction::Withdrawal,
        }
    }
}

wire_names! {
    /// The merchant's own classification of its traffic.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum TrafficType {
        /// First-time or ordinary traffic.
        Primary = "primary",
        /// Traffic of returning customers.
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
