//! The running totals of one tenant in one currency.

use quipu_kernel::{Currency, Minor, OutOfRange};

use crate::{
    account::Account,
    transaction::{Entry, Reason, Transaction},
};

/// Why a transaction cannot be applied to a balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PostingError {
    /// `available` would fall below zero.
    #[error("the available balance does not cover it")]
    InsufficientFunds,
    /// `frozen` would fall below zero, which no sequence of allowed transitions can do.
    #[error("more would be released than is frozen")]
    FrozenShort,
    /// A total would leave ±(2^53 − 1) minor units.
    #[error("a balance would go beyond 2^53 - 1 minor units")]
    OutOfRange,
}

impl From<OutOfRange> for PostingError {
    fn from(_: OutOfRange) -> Self {
        Self::OutOfRange
    }
}

/// Running totals in minor units. `available` and `frozen` are money; `deposit`, `withdrawal` and `commission` are the
/// memo totals of the balance types of those names; `adjustment` is the net of the operator's corrections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balance {
    /// The currency of all totals.
    pub currency: Currency,
    /// Free for withdrawals; never negative.
    pub available: Minor,
    /// Reserved by open withdrawals; never negative.
    pub frozen: Minor,
    /// Completed deposits, gross, less refunds.
    pub deposit: Minor,
    /// Completed withdrawals, less returned ones.
    pub withdrawal: Minor,
    /// Fees charged.
    pub commission: Minor,
    /// Pre-funding and corrections, net.
    pub adjustment: Minor,
}

impl Balance {
    /// The balance before the first transaction.
    pub const fn zero(currency: Currency) -> Self {
        Self {
            currency,
            available: Minor::ZERO,
            frozen: Minor::ZERO,
            deposit: Minor::ZERO,
            withdrawal: Minor::ZERO,
            commission: Minor::ZERO,
            adjustment: Minor::ZERO,
        }
    }

    /// The balance after `transaction`, which must be of the same currency, or the reason why it cannot be
    /// applied.
    pub fn after(mut self, transaction: &Transaction) -> Result<Self, PostingError> {
        for entry in transaction.entries() {
            self.add(transaction.reason(), *entry)?;
            // Money that is missing is reported before a total that leaves its range.
            if self.available.is_negative() {
                return Err(PostingError::InsufficientFunds);
            }
            if self.frozen.is_negative() {
                return Err(PostingError::FrozenShort);
            }
        }
        // available + frozen must stay in range: it is shown as the main balance, and releasing all frozen money would
        // produce it.
        self.available.checked_add(self.frozen)?;
        Ok(self)
    }

    /// Adds one entry to the total that it counts in, without judging the result.
    ///
    /// Entries on the platform's accounts count in the merchant's totals with the opposite sign: money that
    /// leaves clearing comes from a deposit, or back from a withdrawal or refund. The reason of the
    /// transaction tells which.
    pub fn add(&mut self, reason: Reason, entry: Entry) -> Result<(), OutOfRange> {
        let amount = entry.amount;
        match entry.account {
            Account::Available => self.available = self.available.checked_add(amount)?,
            Account::Frozen => self.frozen = self.frozen.checked_add(amount)?,
            Account::Revenue => self.commission = self.commission.checked_add(amount)?,
            Account::Adjustments => self.adjustment = self.adjustment.checked_sub(amount)?,
            Account::Clearing => match reason {
                Reason::WithdrawalCompleted | Reason::WithdrawalReturned => {
                    self.withdrawal = self.withdrawal.checked_add(amount)?;
                }
                Reason::DepositCompleted
                | Reason::Refund
                | Reason::WithdrawalCreated
                | Reason::WithdrawalReleased
                | Reason::Adjustment => self.deposit = self.deposit.checked_sub(amount)?,
            },
        }
        Ok(())
    }

    /// Whether the equation of double entry holds between the totals.
    pub fn is_balanced(&self) -> bool {
        let left = [self.available, self.frozen, self.withdrawal, self.commission];
        let right = [self.deposit, self.adjustment];
        left.iter().map(|total| total.get()).sum::<i64>()
            == right.iter().map(|total| total.get()).sum::<i64>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use quipu_kernel::Amount;

    use super::*;

    const MXN: Currency = Currency::MXN;

    fn amount(units: i64) -> Amount {
        Amount::new(units).expect("in range")
    }

    fn minor(units: i64) -> Minor {
        Minor::new(units).expect("in range")
    }

    #[test]
    fn a_withdrawal_moves_money_from_available_to_frozen_to_sent() {
        let funded = Balance::zero(MXN).after(&Transaction::adjustment(MXN, minor(1_000))).expect("funded");
        let created = Transaction::withdrawal_created(MXN, amount(900), minor(10)).expect("in range");
        let held = funded.after(&created).expect("covered");
        assert_eq!((held.available.get(), held.frozen.get()), (90, 910));
        let completed = Transaction::withdrawal_completed(MXN, amount(900), minor(10)).expect("in range");
        let sent = held.after(&completed).expect("frozen");
        let totals = [sent.available, sent.frozen, sent.withdrawal, sent.commission].map(Minor::get);
        assert_eq!(totals, [90, 0, 900, 10]);
    }

    #[test]
    fn what_is_not_covered_is_refused() {
        let withdrawal = Transaction::withdrawal_created(MXN, amount(1), Minor::ZERO).expect("in range");
        assert_eq!(Balance::zero(MXN).after(&withdrawal), Err(PostingError::InsufficientFunds));
        let mut partly_held = Balance::zero(MXN);
        (partly_held.available, partly_held.frozen) = (minor(5), minor(5));
        let greatest = Transaction::withdrawal_created(MXN, amount(quipu_kernel::MAX_MINOR), Minor::ZERO);
        assert_eq!(partly_held.after(&greatest.expect("in range")), Err(PostingError::InsufficientFunds));
        let released = Transaction::withdrawal_released(MXN, amount(1), Minor::ZERO).expect("in range");
        assert_eq!(Balance::zero(MXN).after(&released), Err(PostingError::FrozenShort));
        let deposit = Transaction::deposit_completed(MXN, amount(quipu_kernel::MAX_MINOR), Minor::ZERO)
            .expect("in range");
        let full = Balance::zero(MXN).after(&deposit).expect("in range");
        assert_eq!(full.after(&deposit), Err(PostingError::OutOfRange));
    }

    #[test]
    fn what_is_frozen_could_always_be_released() {
        let full = Balance::zero(MXN).after(&Transaction::adjustment(MXN, minor(quipu_kernel::MAX_MINOR)));
        let created = Transaction::withdrawal_created(MXN, amount(100), Minor::ZERO).expect("in range");
        let held = full.and_then(|full| full.after(&created)).expect("covered");
        let deposit = Transaction::deposit_completed(MXN, amount(1), Minor::ZERO).expect("in range");
        assert_eq!(held.after(&deposit), Err(PostingError::OutOfRange));
        let released = Transaction::withdrawal_released(MXN, amount(100), Minor::ZERO).expect("in range");
        assert_eq!(held.after(&released).map(|balance| balance.available.get()), Ok(quipu_kernel::MAX_MINOR));
    }

    fn any_transaction() -> impl Strategy<Value = Transaction> {
        (0..7, 1_i64..10_000, 0_i64..100).prop_map(|(kind, units, fee)| {
            let (units, fee) = (amount(units), minor(fee));
            let built = match kind {
                0 => Transaction::deposit_completed(MXN, units, fee),
                1 => Transaction::withdrawal_created(MXN, units, fee),
                2 => Transaction::withdrawal_completed(MXN, units, fee),
                3 => Transaction::withdrawal_released(MXN, units, fee),
                4 => Ok(Transaction::withdrawal_returned(MXN, units)),
                5 => Ok(Transaction::refund(MXN, units)),
                _ => Ok(Transaction::adjustment(
                    MXN,
                    units.minor().checked_sub(minor(5_000)).expect("in range"),
                )),
            };
            built.expect("in range")
        })
    }

    proptest! {
        #[test]
        fn whatever_happens_the_books_balance_and_nothing_is_negative(
            transactions in prop::collection::vec(any_transaction(), 0..60)
        ) {
            let mut balance = Balance::zero(MXN);
            for transaction in &transactions {
                if let Ok(after) = balance.after(transaction) {
                    balance = after;
                }
                prop_assert!(balance.is_balanced(), "{balance:?} after {transaction:?}");
                prop_assert!(!balance.available.is_negative() && !balance.frozen.is_negative());
            }
        }
    }
}
