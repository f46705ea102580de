//! Transactions of entries that sum to zero.

use quipu_kernel::{Amount, Currency, Minor, OutOfRange, wire_names};

use crate::account::Account;

wire_names! {
    /// Why money moved. It decides in which total an entry on a platform account counts.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Reason {
        /// A deposit arrived.
        DepositCompleted = "deposit_completed",
        /// A withdrawal was accepted and its funds frozen.
        WithdrawalCreated = "withdrawal_created",
        /// A withdrawal was paid out.
        WithdrawalCompleted = "withdrawal_completed",
        /// A withdrawal failed, was cancelled or expired, and its funds are free again.
        WithdrawalReleased = "withdrawal_released",
        /// The bank sent a completed withdrawal back.
        WithdrawalReturned = "withdrawal_returned",
        /// A deposit was paid back, wholly or in part.
        Refund = "refund",
        /// The operator funded or corrected a balance.
        Adjustment = "adjustment",
    }
}

/// One side of a movement: a signed amount on one account. Positive adds to the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The account that changes.
    pub account: Account,
    /// The amount added to the account, in minor units; negative if it is taken away.
    pub amount: Minor,
}

/// Entries that do not sum to zero, which would make or lose money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the entries of a transaction must sum to zero")]
pub struct Unbalanced;

/// One movement of money of one tenant in one currency: entries that sum to zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    reason: Reason,
    currency: Currency,
    entries: Vec<Entry>,
}

impl Transaction {
    /// Admits `entries` that sum to zero; entries of zero are left out.
    pub fn new(reason: Reason, currency: Currency, entries: &[(Account, Minor)]) -> Result<Self, Unbalanced> {
        let sum: i128 = entries.iter().map(|(_, amount)| i128::from(amount.get())).sum();
        if sum != 0 {
            return Err(Unbalanced);
        }
        let entries = entries.iter().filter(|(_, amount)| *amount != Minor::ZERO);
        let entries = entries.map(|&(account, amount)| Entry { account, amount }).collect();
        Ok(Self { reason, currency, entries })
    }

    /// A deposit of `received` arrived and costs `fee`. `fee` may exceed `received` by at most what is available.
    pub fn deposit_completed(currency: Currency, received: Amount, fee: Minor) -> Result<Self, OutOfRange> {
        let received = received.minor();
        Ok(Self::balanced(
            Reason::DepositCompleted,
            currency,
            &[
                (Account::Clearing, received.negated()),
                (Account::Available, received.checked_sub(fee)?),
                (Account::Revenue, fee),
            ],
        ))
    }

    /// A withdrawal was accepted: its amount and fee are set aside.
    pub fn withdrawal_created(currency: Currency, amount: Amount, fee: Minor) -> Result<Self, OutOfRange> {
        let total = amount.minor().checked_add(fee)?;
        Ok(Self::balanced(
            Reason::WithdrawalCreated,
            currency,
            &[(Account::Available, total.negated()), (Account::Frozen, total)],
        ))
    }

    /// A withdrawal was paid out and its fee earned.
    pub fn withdrawal_completed(currency: Currency, amount: Amount, fee: Minor) -> Result<Self, OutOfRange> {
        let total = amount.minor().checked_add(fee)?;
        Ok(Self::balanced(
            Reason::WithdrawalCompleted,
            currency,
            &[
                (Account::Frozen, total.negated()),
                (Account::Clearing, amount.minor()),
                (Account::Revenue, fee),
            ],
        ))
    }

    /// A withdrawal will not be paid out: what was set aside is free again.
    pub fn withdrawal_released(currency: Currency, amount: Amount, fee: Minor) -> Result<Self, OutOfRange> {
        let total = amount.minor().checked_add(fee)?;
        Ok(Self::balanced(
            Reason::WithdrawalReleased,
            currency,
            &[(Account::Frozen, total.negated()), (Account::Available, total)],
        ))
    }

    /// The bank sent a completed withdrawal back; its fee stays earned.
    pub fn withdrawal_returned(currency: Currency, amount: Amount) -> Self {
        let amount = amount.minor();
        let entries = [(Account::Clearing, amount.negated()), (Account::Available, amount)];
        Self::balanced(Reason::WithdrawalReturned, currency, &entries)
    }

    /// `amount` of a completed deposit goes back to the payer; its fee stays earned.
    pub fn refund(currency: Currency, amount: Amount) -> Self {
        let amount = amount.minor();
        let entries = [(Account::Available, amount.negated()), (Account::Clearing, amount)];
        Self::balanced(Reason::Refund, currency, &entries)
    }

    /// The operator funds (positive) or corrects (negative) a balance.
    pub fn adjustment(currency: Currency, amount: Minor) -> Self {
        let entries = [(Account::Adjustments, amount.negated()), (Account::Available, amount)];
        Self::balanced(Reason::Adjustment, currency, &entries)
    }

    fn balanced(reason: Reason, currency: Currency, entries: &[(Account, Minor)]) -> Self {
        let transaction = Self::new(reason, currency, entries);
        transaction.unwrap_or_else(|Unbalanced| unreachable!("{reason:?} is built of equal sides"))
    }

    /// Why the money moved.
    pub const fn reason(&self) -> Reason {
        self.reason
    }

    /// The currency of all entries.
    pub const fn currency(&self) -> Currency {
        self.currency
    }

    /// The entries; they sum to zero.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_do_not_sum_to_zero_are_refused() {
        let one = Minor::new(1).expect("in range");
        let entries = [(Account::Available, one), (Account::Frozen, one)];
        assert_eq!(Transaction::new(Reason::Adjustment, Currency::MXN, &entries), Err(Unbalanced));
    }

    #[test]
    fn entries_of_nothing_are_left_out() {
        let amount = Amount::new(5).expect("in range");
        let transaction =
            Transaction::deposit_completed(Currency::MXN, amount, Minor::ZERO).expect("in range");
        assert_eq!(transaction.entries().len(), 2);
    }
}
