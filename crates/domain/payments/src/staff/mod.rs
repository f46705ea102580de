//! What staff look at and decide.

pub(crate) mod action;
pub(crate) mod adjust;
pub(crate) mod attempt;
pub(crate) mod bank_export;
pub(crate) mod decide_manually;
pub(crate) mod recorded;
pub(crate) mod refund_payment;
pub(crate) mod resolve;
pub(crate) mod view;
