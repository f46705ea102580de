//! Connects the parts: one store behind all ports, the rails, the use cases.

use std::sync::Arc;

use anyhow::{Context, Result};
use quipu_attachments::{ChildThumbnails, LocalFiles, S3Files, S3Settings};
use quipu_commit::{Commit, NewsDesk, UsedKeys, WorkQueue};
use quipu_configuration::{FilesAt, Provider, Settings, WebhookSettings};
use quipu_delivery::{Dispatcher, HttpCourier, Parts, SenderSettings};
use quipu_http::{PageServices, Viewers, Webhooks};
use quipu_kernel::{Clock, Entropy, SystemClock};
use quipu_ledger::Chains;
use quipu_limits::{LocalLimiter, RedisLimiter};
use quipu_merchants::{CallerBook, Directory, Onboarding, RateLimiter, RouteBook};
use quipu_payments::{
    AdjustBalance, BankReads, CancelPayment, CreatePayment, CreationPorts, CrossTenantReads, DecidePayment,
    ExportPayouts, FillRecipient, PageLinks, PaymentReads, ProcessRailEvent, Rail, Rails, RaiseAlert,
    RefundPayment, ResolveReceipt, SettlePayment, SettlementPorts, SimulateScheme,
};
use quipu_rails::{HttpRail, Manual, Simulator};
use quipu_signing::{Keyring, SystemEntropy};
use quipu_store::{Store, StoreSettings};
use quipu_tickets::{FileStore, TicketOffice, TicketPeriods, TicketPorts};
use quipu_webhooks::{Courier, CreateEndpoint, Deliverer, DeliveryQueue, Signer};
use tokio::runtime::Handle;

use crate::{attention::LoudAttention, mode::Mode, steady_clock::SteadyClock};

/// The parts that every command needs: the database, the keys, the clock and the source of randomness.
#[derive(Clone)]
pub(crate) struct Foundation {
    pub(crate) store: Store,
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) steady_clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

impl Foundation {
    /// Opens the database. Its work runs on the runtime `store`.
    pub(crate) async fn open(settings: &Settings, keyring: Keyring, store: Handle) -> Result<Self> {
        Ok(Self {
            store: open_store(settings, store).await?,
            keyring: Arc::new(keyring),
            clock: Arc::new(SystemClock),
            steady_clock: Arc::new(SteadyClock::new(Arc::new(SystemClock))),
            entropy: Arc::new(SystemEntropy),
        })
    }

    pub(crate) fn directory(&self) -> Arc<dyn Directory> {
        Arc::new(self.store.clone())
    }

    pub(crate) fn caller_book(&self) -> Arc<dyn CallerBook> {
        Arc::new(self.store.clone())
    }

    pub(crate) fn routes(&self) -> Arc<dyn RouteBook> {
        Arc::new(self.store.clone())
    }

    pub(crate) fn commit(&self) -> Arc<dyn Commit> {
        Arc::new(self.store.clone())
    }

    pub(crate) fn payments(&self) -> Arc<dyn PaymentReads> {
        Arc::new(self.store.clone())
    }

    pub(crate) fn queue(&self) -> Arc<dyn WorkQueue> {
        Arc::new(self.store.clone())
    }

    pub(crate) fn used_keys(&self) -> Arc<dyn UsedKeys> {
        Arc::new(self.store.clone())
    }

    pub(crate) fn news(&self) -> Arc<dyn NewsDesk> {
        Arc::new(self.store.clone())
    }

    pub(crate) fn deliveries(&self) -> Arc<dyn DeliveryQueue> {
        Arc::new(self.store.clone())
    }

    pub(crate) fn chains(&self) -> Arc<dyn Chains> {
        Arc::new(self.store.clone())
    }

    /// The operator's use cases for merchants, keys and staff.
    pub(crate) fn onboarding(&self) -> Onboarding {
        let (clock, entropy) = (Arc::clone(&self.clock), Arc::clone(&self.entropy));
        Onboarding::new(self.directory(), Arc::clone(&self.keyring), clock, entropy)
    }

    pub(crate) fn all_payments(&self) -> Arc<dyn CrossTenantReads> {
        Arc::new(self.store.clone())
    }

    pub(crate) fn bank(&self) -> Arc<dyn BankReads> {
        Arc::new(self.store.clone())
    }

    pub(crate) fn rail_events(&self) -> ProcessRailEvent {
        let (clock, entropy) = (Arc::clone(&self.clock), Arc::clone(&self.entropy));
        ProcessRailEvent::new(self.commit(), self.all_payments(), clock, entropy)
            .with_attention(Arc::new(LoudAttention))
    }

    pub(crate) fn decide(&self) -> DecidePayment {
        DecidePayment::new(
            self.commit(),
            self.all_payments(),
            Arc::clone(&self.clock),
            Arc::clone(&self.entropy),
        )
    }

    pub(crate) fn refund(&self) -> RefundPayment {
        RefundPayment::new(
            self.commit(),
            self.all_payments(),
            Arc::clone(&self.clock),
            Arc::clone(&self.entropy),
        )
    }

    pub(crate) fn resolve(&self) -> ResolveReceipt {
        let (clock, entropy) = (Arc::clone(&self.clock), Arc::clone(&self.entropy));
        ResolveReceipt::new(self.commit(), self.all_payments(), self.routes(), clock, entropy)
    }

    pub(crate) fn export(&self) -> ExportPayouts {
        ExportPayouts::new(self.commit(), self.bank(), Arc::clone(&self.clock), Arc::clone(&self.entropy))
    }

    /// The parts for webhooks. Deliveries are sent from this process as soon as the dispatcher runs.
    /// `at_once` is the most attempts in progress.
    pub(crate) fn webhooks(
        &self,
        settings: &WebhookSettings,
        mode: Mode,
        at_once: usize,
    ) -> Result<Delivering> {
        let store = || Arc::new(self.store.clone());
        let (clock, entropy) = (|| Arc::clone(&self.clock), || Arc::clone(&self.entropy));
        let signer = Signer::new(Arc::clone(&self.keyring), self.caller_book(), clock());
        let sender = SenderSettings::of_system(settings.allow_private.unwrap_or(mode == Mode::Demo));
        let courier: Arc<dyn Courier> = Arc::new(HttpCourier::new(sender, signer, clock())?);
        let dispatcher = Dispatcher::new(Parts {
            queue: store(),
            courier: Arc::clone(&courier),
            clock: clock(),
            steady_clock: Arc::clone(&self.steady_clock),
            entropy: entropy(),
            policy: settings.policy.clone(),
            at_once,
        });
        let deliverer: Arc<dyn Deliverer> = Arc::new(dispatcher.clone());
        self.store.deliver_by(Arc::clone(&deliverer));
        let create = CreateEndpoint::new(store(), Arc::clone(&self.keyring), clock(), entropy());
        let webhooks =
            Webhooks { create: Arc::new(create), endpoints: store(), log: store(), courier, deliverer };
        Ok(Delivering { webhooks, dispatcher })
    }

    pub(crate) fn adjust(&self) -> AdjustBalance {
        AdjustBalance::new(self.commit(), Arc::clone(&self.clock))
    }
}

/// The dispatcher of webhooks, and the use cases about them that HTTP calls.
pub(crate) struct Delivering {
    pub(crate) webhooks: Webhooks,
    pub(crate) dispatcher: Dispatcher,
}

/// The message about a database that is not up to date.
pub(crate) const MIGRATE_FIRST: &str = "the database lacks migrations: run `quipu migrate` first";

/// Opens the configured database without migrating it. The store works on `runtime`.
pub(crate) async fn open_store(settings: &Settings, runtime: Handle) -> Result<Store> {
    Ok(Store::open(store_settings(settings), runtime).await?)
}

/// The settings of the store for the configured database.
pub(crate) fn store_settings(settings: &Settings) -> StoreSettings {
    StoreSettings {
        call: settings.call_deadline,
        lock: settings.lock_deadline,
        ..StoreSettings::new(settings.database_url.expose())
    }
}

/// The configured rails; addresses for payers begin with `public_url`.
pub(crate) fn rails(foundation: &Foundation, settings: &Settings, public_url: &str) -> Result<Rails> {
    let simulator = Simulator::new(settings.simulator_delay, public_url, Arc::clone(&foundation.clock));
    let mut rails: Vec<Arc<dyn Rail>> = vec![Arc::new(simulator), Arc::new(Manual)];
    for Provider { name, url, secret } in &settings.providers {
        let (questions, clock) = (settings.rail_questions.clone(), Arc::clone(&foundation.clock));
        let rail = HttpRail::new(name, url, secret.expose(), questions, clock);
        rails.push(Arc::new(rail.with_context(|| format!("rails.http.{name}.secret"))?));
    }
    Ok(Rails::new(rails))
}

/// The use cases that move payments.
pub(crate) struct UseCases {
    pub(crate) rails: Arc<Rails>,
    pub(crate) create: Arc<CreatePayment>,
    pub(crate) cancel: Arc<CancelPayment>,
    pub(crate) settle: Arc<SettlePayment>,
    pub(crate) adjust: Arc<AdjustBalance>,
    pub(crate) alert: Arc<RaiseAlert>,
    pub(crate) rail_events: Arc<ProcessRailEvent>,
    pub(crate) decide: Arc<DecidePayment>,
    pub(crate) refund: Arc<RefundPayment>,
    pub(crate) resolve: Arc<ResolveReceipt>,
    pub(crate) pages: PageServices,
}

impl UseCases {
    /// The use cases over the configured rails; addresses for payers begin with `public_url`.
    pub(crate) fn over(
        foundation: &Foundation,
        settings: &Settings,
        public_url: &str,
        links: Arc<PageLinks>,
        viewers: Arc<Viewers>,
    ) -> Result<Self> {
        let clock = || Arc::clone(&foundation.clock);
        let entropy = || Arc::clone(&foundation.entropy);
        let rails = Arc::new(rails(foundation, settings, public_url)?);
        let rail_events = Arc::new(foundation.rail_events());
        let (commit, payments) = (foundation.commit(), foundation.payments());
        let create = CreatePayment::new(CreationPorts {
            commit: Arc::clone(&commit),
            reads: Arc::clone(&payments),
            route_book: foundation.routes(),
            rails: Arc::clone(&rails),
            clock: clock(),
            entropy: entropy(),
        })
        .with_redirectpay_cancel_after(settings.redirectpay_cancel_after)
        .with_redirectpay_alert_after(settings.redirectpay_alert_after)
        .with_page_links(Arc::clone(&links))
        .with_reports_to(Arc::clone(&rail_events));
        let alert = RaiseAlert::new(Arc::clone(&commit), Arc::clone(&payments), clock());
        let pages = pages(foundation, Arc::clone(&rails), Arc::clone(&rail_events), links, viewers);
        let cancel = CancelPayment::new(Arc::clone(&commit), Arc::clone(&payments), clock(), entropy());
        let settle = SettlePayment::new(SettlementPorts {
            commit,
            queue: foundation.queue(),
            reads: payments,
            rails: Arc::clone(&rails),
            rail_events: Arc::clone(&rail_events),
            clock: clock(),
            entropy: entropy(),
        });
        Ok(Self {
            rails,
            alert: Arc::new(alert),
            rail_events,
            decide: Arc::new(foundation.decide()),
            refund: Arc::new(foundation.refund()),
            resolve: Arc::new(foundation.resolve()),
            create: Arc::new(create),
            cancel: Arc::new(cancel),
            settle: Arc::new(settle),
            adjust: Arc::new(foundation.adjust()),
            pages,
        })
    }
}

/// The parts that hosted pages need.
fn pages(
    foundation: &Foundation,
    rails: Arc<Rails>,
    rail_events: Arc<ProcessRailEvent>,
    links: Arc<PageLinks>,
    viewers: Arc<Viewers>,
) -> PageServices {
    let (commit, payments) = (foundation.commit(), foundation.payments());
    let clock = Arc::clone(&foundation.clock);
    let recipients = FillRecipient::new(
        Arc::clone(&commit),
        Arc::clone(&payments),
        foundation.routes(),
        rails,
        Arc::clone(&clock),
    );
    PageServices {
        store: Arc::new(foundation.store.clone()),
        links,
        recipients: Arc::new(recipients),
        scheme: Arc::new(SimulateScheme::new(commit, payments, rail_events, clock)),
        viewers,
    }
}

/// The configured store of attachments.
fn files(foundation: &Foundation, settings: &Settings) -> Result<Arc<dyn FileStore>> {
    let entropy = Arc::clone(&foundation.entropy);
    Ok(match &settings.attachments.at {
        FilesAt::Folder(folder) => {
            let pace = settings.attachments.bytes_per_second;
            let opened = LocalFiles::open(folder.clone(), entropy, pace);
            Arc::new(opened.with_context(|| format!("attachments_url: {}", folder.display()))?)
        }
        FilesAt::Bucket { bucket, prefix } => {
            let settings = S3Settings {
                bucket: bucket.clone(),
                prefix: prefix.clone(),
                endpoint: settings.attachments.endpoint.clone(),
                region: settings.attachments.region.clone(),
                credentials: settings.attachments.credentials.clone(),
            };
            Arc::new(S3Files::connect(&settings, entropy).context("attachments_url")?)
        }
    })
}

/// The use cases of tickets.
pub(crate) fn ticket_office(foundation: &Foundation, settings: &Settings) -> Result<Arc<TicketOffice>> {
    let program = std::env::current_exe().context("the path of this program cannot be found")?;
    let ports = TicketPorts {
        commit: foundation.commit(),
        reads: Arc::new(foundation.store.clone()),
        support: Arc::new(foundation.store.clone()),
        files: files(foundation, settings)?,
        thumbnails: Arc::new(ChildThumbnails::new(program)),
        clock: Arc::clone(&foundation.clock),
        entropy: Arc::clone(&foundation.entropy),
    };
    let periods = TicketPeriods {
        close_after: settings.tickets_auto_close_after,
        upload_expires_in: settings.attachments.upload_expires_in,
        download_expires_in: settings.attachments.download_expires_in,
    };
    Ok(Arc::new(TicketOffice::new(ports, periods)))
}

/// The rate limiter: in memory, or in Redis if one is configured.
pub(crate) async fn limiter(settings: &Settings, clock: Arc<dyn Clock>) -> Result<Arc<dyn RateLimiter>> {
    match &settings.redis_url {
        None => Ok(Arc::new(LocalLimiter::new(clock))),
        Some(url) => {
            let limiter = RedisLimiter::connect(url.expose(), RedisLimiter::PATIENCE, clock).await;
            Ok(Arc::new(limiter.context("redis_url")?))
        }
    }
}
