#![doc = include_str!("../README.md")]

mod account_number;
mod address;
mod adjust;
mod apply;
mod callback;
mod cancel;
mod changes;
mod create;
mod customer;
mod decide;
mod decision;
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
mod rail_answer;
mod rail_event;
mod rails;
mod receipt;
mod refund;
mod running_keys;
mod settle;
mod status;
mod verdict;
mod view;
mod way;

#[cfg(test)]
mod tests;

pub use adjust::AdjustBalance;
pub use apply::{Happening, NotMoved};
pub use callback::{CallbackHeaders, NotVerified};
pub use cancel::CancelPayment;
pub use changes::NewCustomer;
pub use create::{CreatePayment, Creation};
pub use customer::Customer;
pub use decision::ManualDecision;
pub use destination::{BankBeneficiary, Destination, WalletScheme};
pub use draft::Draft;
pub use error::{AdjustError, CancelError, CreateError, SettleError};
pub use instructions::{BankDetails, CryptoDetails, Instructions, PayIdDetails, VoucherDetails};
pub use kind::{PaymentType, RedirectScheme, TrafficType};
pub use once::{Answered, Once, RefusalForm};
pub use payment::{Due, DueAction, Failure, InRequestWebhook, Payment, State, Terms};
pub use payout::{PayIdType, Payout};
pub use ports::{
    Issued, KeptRow, PaymentFilter, PaymentReads, Rail, RailStatus, Submission,
};
pub use rail_answer::{Arrival, Instructed, Standing, Submitted};
pub use rail_event::{RailEvent, RailEventKind};
pub use rails::Rails;
pub use receipt::{NotResolved, ParkReason, Receipt, Resolution};
pub use refund::{NotRefundable, Refund};
pub use settle::SettlePayment;
pub use status::{Situation, Status, Trigger};
pub use verdict::Verdict;
pub use view::{PaymentRecord, creation_answer};
