//! What a payment consists of: its kind, where the money comes from and goes to, and for whom.

pub(crate) mod account_number;
pub(crate) mod address;
pub(crate) mod customer;
pub(crate) mod destination;
pub(crate) mod instructions;
pub(crate) mod kind;
pub(crate) mod pairing;
pub(crate) mod payout;
