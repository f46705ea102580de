#![doc = include_str!("../README.md")]

mod account_number;
mod address;
mod adjust;
mod alert;
mod apply;
mod bank_entry;
mod bank_export;
mod callback;
mod cancel;
mod changes;
mod create;
mod customer;
mod decide;
mod decide_manually;
mod decision;
mod destination;
mod draft;
mod error;
mod hear;
mod instruct;
mod instructions;
mod kind;
pub mod methods;
mod moves;
mod once;
mod operator_view;
mod payload;
mod payment;
mod payout;
mod ports;
mod rail;
mod rail_answer;
mod rail_event;
mod rails;
mod receipt;
mod refund;
mod refund_payment;
mod resolve;
mod running_keys;
mod settle;
mod status;
mod unknown;
mod verdict;
mod view;
mod way;

#[cfg(test)]
mod tests;

pub use adjust::AdjustBalance;
pub use alert::{Alert, RaiseAlert};
pub use apply::{Happening, NotMoved};
pub use bank_entry::BankEntry;
pub use bank_export::{BankExport, ExportPayouts, ExportRoute, ExportedPayment};
pub use callback::{CallbackHeaders, NotVerified};
pub use cancel::CancelPayment;
pub use changes::{CustomerClaim, NewCustomer, Standing, put_moved, put_new};
pub use create::{CreatePayment, Creation};
pub use customer::Customer;
pub use decide_manually::DecidePayment;
pub use decision::ManualDecision;
pub use destination::{BankBeneficiary, Destination, WalletScheme};
pub use draft::Draft;
pub use error::{AdjustError, CancelError, CreateError, DecideError, HearError, SettleError};
pub use hear::{HearRail, Heard, HeardEvent, UNKNOWN_TENANT};
pub use instructions::{BankDetails, CryptoDetails, Instructions, PayIdDetails, VoucherDetails};
pub use kind::{PaymentType, RedirectScheme, TrafficType};
pub use once::{Answered, Once, RefusalForm};
pub use operator_view::{Doing, operator_receipt, operator_record};
pub use payment::{Due, DueAction, Failure, InRequestWebhook, Payment, State, Terms};
pub use payout::{PayIdType, Payout};
pub use ports::{
    AuditLine, BankReads, CallbackLine, EntryLine, EventLine, KeptRow, MoneyReads, PaymentFilter,
    PaymentReads, ReceiptFilter, SearchFilter, Timeline,
};
pub use rail::{Issued, Rail};
pub use rail_answer::{Arrival, Instructed, RailStatus, Submission};
pub use rail_event::{RailEvent, RailEventKind};
pub use rails::Rails;
pub use receipt::{NotResolved, ParkReason, Receipt, Resolution};
pub use refund::{NotRefundable, Refund};
pub use refund_payment::{RefundOrder, RefundPayment};
pub use resolve::ResolveReceipt;
pub use settle::SettlePayment;
pub use status::{Situation, Status, Trigger};
pub use verdict::Verdict;
pub use view::{PaymentRecord, creation_answer};
