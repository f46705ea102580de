//! The accounts between which money moves.

use quipu_kernel::wire_names;

wire_names! {
    /// An account of the ledger, within one tenant and currency.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Account {
        /// The merchant's money, free for withdrawals.
        Available = "available",
        /// The merchant's money, reserved by open withdrawals.
        Frozen = "frozen",
        /// The platform's money at the rails.
        Clearing = "clearing",
        /// Fees the platform earned.
        Revenue = "revenue",
        /// The other side of pre-funding and corrections.
        Adjustments = "adjustments",
    }
}
