#![doc = include_str!("../README.md")]

mod api_key;
mod audit;
mod bank_identifiers;
mod beneficiary;
mod credential;
mod error;
mod limit;
mod listing;
mod merchant;
mod onboarding;
mod operator;
mod page;
mod pairing;
mod payment_uri;
mod payout_fields;
mod ports;
mod route;
mod route_list;
mod scope;
mod usual_limits;

pub use api_key::{ApiKeyRecord, KeyEnvelope, NewApiKey, RateLimits};
pub use audit::{Actor, AuditRecord};
pub use bank_identifiers::{judge_iban, judge_swift};
pub use beneficiary::{Beneficiary, BeneficiaryKind, NewBeneficiary};
pub use credential::{HmacCredential, NewCredential};
pub use error::DirectoryError;
pub use limit::{Budget, BudgetKind, LimitsNotShared, RateDecision, RateLimiter, RateVerdict, Window};
pub use listing::{AuditFilter, MerchantFilter};
pub use merchant::{
    ApiVersion, FormerSecret, Merchant, MerchantChange, MerchantPatch, MerchantStatus, NewMerchant,
    ReturnUrls,
};
pub use onboarding::{Issued, Onboarding};
pub use operator::{NewOperator, Operator, Role};
pub use page::{Accent, MerchantPage, PageStore};
pub use pairing::{Unpaired, unpaired};
pub use payment_uri::is_payment_uri;
pub use payout_fields::{PAYOUT_FIELDS, refused_payout_fields};
pub use ports::{CallerBook, Directory, Merchants, RouteBook, Routing, Staff};
pub use route::{AccountCheck, Direction, MANUAL_RAIL, Method, Route, RouteKey, SIMULATOR_RAIL};
pub use route_list::{instruction_members, needed_instructions, parse_routes};
pub use scope::{Scope, Scopes};
pub use usual_limits::{AddressBudget, KeyBudget, UsualLimits};
