#![doc = include_str!("../README.md")]

mod account_number;
mod address;
mod adjust;
mod apply;
mod cancel;
mod changes;
mod create;
mod customer;
mod decide;
mod destination;
mod draft;
mod error;
mod instructions;
mod kind;
pub mod methods;
mod once;
mod payload;
mod payment;
mod payout;
mod ports;
mod rails;
mod running_keys;
mod settle;
mod status;
mod view;
mod way;

#[cfg(test)]
mod tests;

pub use adjust::AdjustBalance;
pub use apply::{Happening, NotMoved};
pub use cancel::CancelPayment;
pub use changes::{CustomerClaim, NewCustomer, Standing, put_moved, put_new};
pub use create::{CreatePayment, Creation};
pub use customer::Customer;
pub use destination::{BankBeneficiary, Destination, WalletScheme};
pub use draft::Draft;
pub use error::{AdjustError, CancelError, CreateError, SettleError};
pub use instructions::{BankDetails, CryptoDetails, Instructions, PayIdDetails, VoucherDetails};
pub use kind::{PaymentType, RedirectScheme, TrafficType};
pub use once::{Answered, Once, RefusalForm};
pub use payment::{Due, DueAction, Failure, InRequestWebhook, Payment, State, Terms};
pub use payout::{PayIdType, Payout};
pub use ports::{Issued, KeptRow, PaymentFilter, PaymentReads, Rail, RailStatus, Submission};
pub use rails::Rails;
pub use settle::SettlePayment;
pub use status::{Situation, Status, Trigger};
pub use view::{PaymentRecord, creation_answer};
