#![doc = include_str!("../README.md")]

mod changes;
mod customer;
mod destination;
mod idempotency;
mod instructions;
mod kind;
mod payment;
mod payout;
mod ports;
mod status;

pub use changes::{Changes, Committed, CustomerClaim, Nonce, PaymentChange};
pub use customer::Customer;
pub use destination::{BankBeneficiary, Destination, WalletScheme};
pub use idempotency::{Answer, AnswerForm, Audience, IdempotencyKey, IdempotencyRecord, KeptAnswer};
pub use instructions::{BankDetails, CryptoDetails, Instructions, PayIdDetails, VoucherDetails};
pub use kind::{PaymentType, RedirectScheme, TrafficType};
pub use payment::{Due, DueAction, Failure, InRequestWebhook, Payment, State, Terms};
pub use payout::{PayIdType, Payout};
pub use ports::{
    Commit, CommitError, DueQueue, Issued, PaymentFilter, PaymentReads, Rail, RailStatus, Refusal, Submission,
};
pub use status::{Situation, Status, Trigger};
