#![doc = include_str!("../README.md")]

mod alert;
mod bank;
mod cancel;
mod choice;
mod consequence;
mod create;
mod details;
mod error;
mod history;
mod payment;
mod ports;
mod rail;
mod rail_events;
mod request;
mod scheme;
mod settle;
mod staff;

#[cfg(test)]
mod tests;

pub use alert::{Alert, RaiseAlert};
pub use bank::entry::{BankEntry, MovementNames, Side};
pub use bank::file::{BankExport, ExportRoute, ExportStretch, ExportedPayment};
pub use bank::not_provided::{NOT_PROVIDED, says_nothing};
pub use bank::transfer::{BankAccount, Debtor, Proxy, ProxyKind, Transfer};
pub use cancel::{CancelPayment, CancelReason};
pub use create::keyed::{Answered, KeyedRequest, RefusalForm};
pub use create::methods;
pub use create::recipient::{FillError, FillRecipient, recipient_members};
pub use create::{CreatePayment, CreationPorts};
pub use details::account_number::clabe_check_digit;
pub use details::customer::Customer;
pub use details::destination::{
    BankBeneficiary, BankDestination, BeneficiaryNumber, Destination, SavedAccount, WalletScheme,
};
pub use details::instructions::{
    BankDetails, CryptoDetails, Instructions, PayIdDetails, VoucherDetails, WayToPay,
};
pub use details::kind::{PaymentType, RedirectScheme, TrafficType};
pub use details::payout::{ABN_LENGTH_RULE, PayIdType, Payout, check_digit_rules};
pub use error::{CancelError, CreateError, DecideError, NotAllowed, RailEventError, SettleError};
pub use history::receipt::{NotResolved, ParkReason, Receipt, ReceiptStatus, Resolution, Resolved};
pub use history::received::{RailEventOutcome, ReceivedEvent, filed_under, named_by};
pub use history::timeline::{
    AuditLine, CallbackLine, DeliveryLine, EntryLine, EventLine, StatusLine, Timeline,
};
pub use payment::apply::{NotMoved, TransitionContext};
pub use payment::changes::{BeforeChange, Changed, CustomerClaim, NewCustomer, put_moved, put_new};
pub use payment::counters::{COUNTER, counter_of_day, day_of_counter};
pub use payment::decision::ManualDecision;
pub use payment::failure::{Failure, FailureCode};
pub use payment::page_links::{PageAddress, PageLinks};
pub use payment::payload::events;
pub use payment::refund::{NotRefundable, Refund};
pub use payment::status::{Situation, Status, Trigger};
pub use payment::stored_events::{StoredEvent, contradictions};
pub use payment::view::{PaymentRecord, creation_answer};
pub use payment::{Due, DueAction, InRequestWebhook, Payment, State, Terms};
pub use ports::{
    BankReads, CrossTenantReads, KeptKey, PaymentFilter, PaymentReads, ReceiptFilter, SearchFilter,
};
pub use rail::answer::{Arrival, Capacity, Instructed, RailStatus, Reservation, Reserved, Submission};
pub use rail::callback::{CallbackHeaders, NotVerified};
pub use rail::event::{RailEvent, RailEventKind, provider_reference};
pub use rail::rails::Rails;
pub use rail::{CIRCUIT_OPEN_FOR, IssuedInstructions, Rail};
pub use rail_events::{Attention, ProcessRailEvent};
pub use request::creation::Creation;
pub use request::draft::Draft;
pub use request::invalid::InvalidDraft;
pub use scheme::{SchemeDecision, SimulateScheme};
pub use settle::{SettlePayment, SettlementPorts};
pub use staff::action::StaffAction;
pub use staff::adjust::{AdjustBalance, Adjustment};
pub use staff::attempt::{AttemptError, StaffAttempt, StaffCall, StaffRequest, Undecided};
pub use staff::bank_export::{ExportPayouts, Exported};
pub use staff::decide_manually::{DecidePayment, DecisionNote};
pub use staff::recorded::Recorded;
pub use staff::refund_payment::{RefundOrder, RefundPayment};
pub use staff::resolve::ResolveReceipt;
pub use staff::view::{operator_receipt, operator_record, operator_timeline};
