//! What handlers share: the use cases and ports that they call, the settings, and the bounds on what callers may use.

mod body_memory;
mod key_uses;
mod lookup_limit;
mod readiness;
mod settings;
mod test_events;
pub(crate) mod tokens;

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use actix_web::web::Bytes;
use quipu_commit::Commit;
use quipu_kernel::{Clock, Entropy};
use quipu_ledger::{Chains, LedgerReads};
use quipu_merchants::{CallerBook, Directory, Onboarding, RateLimiter, RouteBook};
use quipu_pages::GUIDES;
use quipu_payments::{
    AdjustBalance, CancelPayment, CreatePayment, CrossTenantReads, DecidePayment, PaymentReads,
    ProcessRailEvent, Rails, RefundPayment, ResolveReceipt,
};
use quipu_signing::Keyring;
use quipu_tickets::{SupportReads, TicketOffice, TicketReads};
use quipu_webhooks::{Courier, CreateEndpoint, Deliverer, DeliveryLog, Endpoints};

pub(crate) use body_memory::{AnswerMemory, BodyMemory, IN_A_HURRY, MemoryShare, Sender};
pub use key_uses::KeyUses;
pub(crate) use lookup_limit::Asked;
use lookup_limit::Lookups;
use readiness::LastLook;
pub use readiness::{Part, Readiness};
pub use settings::HttpSettings;
pub(crate) use settings::least_within;
pub(crate) use test_events::TEST_EVENTS;
use test_events::TestEvents;
pub(crate) use tokens::{Bearer, KeyKind, LONGEST, Tokens};

use crate::{stop::Stop, viewing::services::PageServices};

/// The use cases and ports that handlers of webhooks call.
#[derive(Clone)]
pub struct Webhooks {
    /// Creates endpoints.
    pub create: Arc<CreateEndpoint>,
    /// Reads and changes them.
    pub endpoints: Arc<dyn Endpoints>,
    /// The deliveries of each endpoint.
    pub log: Arc<dyn DeliveryLog>,
    /// Sends a test event.
    pub courier: Arc<dyn Courier>,
    /// The deliverer of this process.
    pub deliverer: Arc<dyn Deliverer>,
}

/// The use cases and ports that handlers call.
#[derive(Clone)]
pub struct Services {
    /// Creates payments.
    pub create: Arc<CreatePayment>,
    /// Cancels payments.
    pub cancel: Arc<CancelPayment>,
    /// Adjusts balances.
    pub adjust: Arc<AdjustBalance>,
    /// Carries out the decisions of staff about payments.
    pub decide: Arc<DecidePayment>,
    /// Refunds deposits.
    pub refund: Arc<RefundPayment>,
    /// Resolves parked receipts.
    pub resolve: Arc<ResolveReceipt>,
    /// Applies the events of rails.
    pub rail_events: Arc<ProcessRailEvent>,
    /// Reads payments of every merchant, for staff.
    pub all_payments: Arc<dyn CrossTenantReads>,
    /// Reads payments.
    pub payments: Arc<dyn PaymentReads>,
    /// Works on tickets.
    pub tickets: Arc<TicketOffice>,
    /// Reads tickets for their merchants.
    pub ticket_reads: Arc<dyn TicketReads>,
    /// Reads tickets for support.
    pub support_reads: Arc<dyn SupportReads>,
    /// Reads balances.
    pub ledger: Arc<dyn LedgerReads>,
    /// How far the entries and the audit log are sealed.
    pub chains: Arc<dyn Chains>,
    /// Looks up callers.
    pub caller_book: Arc<dyn CallerBook>,
    /// Routes and saved beneficiaries, for payments.
    pub routes: Arc<dyn RouteBook>,
    /// Merchants, their keys and routes, and staff, for the operator.
    pub directory: Arc<dyn Directory>,
    /// Changes them.
    pub onboarding: Arc<Onboarding>,
    /// The write path.
    pub commit: Arc<dyn Commit>,
    /// Counts requests.
    pub limiter: Arc<dyn RateLimiter>,
    /// Hashes, seals and signs.
    pub keyring: Arc<Keyring>,
    /// Random bytes.
    pub entropy: Arc<dyn Entropy>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Webhooks.
    pub webhooks: Webhooks,
    /// Rails by name.
    pub rails: Arc<Rails>,
    /// Whether the process is ready.
    pub readiness: Arc<dyn Readiness>,
    /// Collects when keys were last used; the application flushes it once more when it stops.
    pub key_uses: Arc<KeyUses>,
    /// Hosted pages.
    pub pages: PageServices,
    /// Signals long answers that the process is to stop.
    pub stop: Stop,
}

/// The documents of the interface, whose bytes all readers share.
pub(crate) struct Documents {
    pub(crate) of_merchants: Bytes,
    pub(crate) of_operators: Bytes,
}

/// Writes them for a public address with this path.
pub(crate) type Describe = fn(&str) -> Documents;

/// Everything that a request may need, built once.
pub(crate) struct AppState {
    pub(crate) services: Services,
    pub(crate) settings: HttpSettings,
    pub(crate) tokens: Tokens,
    pub(crate) lookups: Lookups,
    pub(crate) memory: BodyMemory,
    pub(crate) answers: AnswerMemory,
    pub(crate) test_events: TestEvents,
    /// The result of the last readiness check.
    pub(crate) looked: LastLook,
    describe: Describe,
    documents: OnceLock<Documents>,
    guides: OnceLock<HashMap<&'static str, Bytes>>,
}

impl AppState {
    pub(crate) fn new(services: Services, settings: HttpSettings, describe: Describe) -> Self {
        let tokens = Tokens::new(&services.keyring, &settings.public_url);
        Self {
            services,
            settings,
            tokens,
            lookups: Lookups::default(),
            memory: BodyMemory::default(),
            answers: AnswerMemory::default(),
            test_events: TestEvents::default(),
            looked: LastLook::default(),
            describe,
            documents: OnceLock::new(),
            guides: OnceLock::new(),
        }
    }

    /// The documents, written at the first request for one.
    pub(crate) fn documents(&self) -> &Documents {
        self.documents.get_or_init(|| (self.describe)(self.settings.root()))
    }

    /// The guides as pages by their names, written at the first request for one.
    pub(crate) fn guides(&self) -> &HashMap<&'static str, Bytes> {
        self.guides.get_or_init(|| {
            let root = self.settings.root();
            GUIDES.iter().map(|guide| (guide.name, guide.html(root).into())).collect()
        })
    }
}
