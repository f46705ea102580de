//! The status of a delivery.

use quipu_kernel::wire_names;

wire_names! {
    /// The status of a delivery.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum DeliveryStatus {
        /// It has not succeeded, and there will be another attempt.
        Pending = "pending",
        /// The receiver has accepted it.
        Delivered = "delivered",
        /// There are no more attempts, unless the merchant asks for a retry.
        Failed = "failed",
    }
}
