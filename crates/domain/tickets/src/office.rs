//! The use cases of tickets, over one set of ports. `merchant` has the actions of merchants, `support` those
//! of support, `transfer` the upload and download of files, and `tend` the work that happens without a
//! request.

use std::{sync::Arc, time::Duration};

use quipu_commit::{Commit, Decided, act};
use quipu_kernel::{Clock, Entropy, IdSource, Tenant};
use quipu_merchants::AuditRecord;

use crate::{
    changes,
    decide::{Desk, TicketChange},
    error::TicketError,
    ids::TicketId,
    ports::{FileStore, SupportReads, Thumbnails, TicketReads},
    ticket::{NoSuchStep, Ticket},
};

/// The ports that the use cases need.
pub struct TicketPorts {
    /// The write path.
    pub commit: Arc<dyn Commit>,
    /// The reads of merchants.
    pub reads: Arc<dyn TicketReads>,
    /// The reads of support.
    pub support: Arc<dyn SupportReads>,
    /// The store of files.
    pub files: Arc<dyn FileStore>,
    /// The maker of thumbnails.
    pub thumbnails: Arc<dyn Thumbnails>,
    /// The source of the current time.
    pub clock: Arc<dyn Clock>,
    /// The source of randomness.
    pub entropy: Arc<dyn Entropy>,
}

/// The periods that the configuration sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TicketPeriods {
    /// How long a resolved ticket waits for more before it closes by itself.
    pub close_after: Duration,
    /// How long an upload URL lives.
    pub upload_expires_in: Duration,
    /// How long a download URL lives.
    pub download_expires_in: Duration,
}

impl Default for TicketPeriods {
    fn default() -> Self {
        Self {
            close_after: Duration::from_hours(7 * 24),
            upload_expires_in: Duration::from_mins(10),
            download_expires_in: Duration::from_mins(5),
        }
    }
}

/// The use cases of tickets.
pub struct TicketOffice {
    pub(crate) ports: TicketPorts,
    pub(crate) periods: TicketPeriods,
    pub(crate) comment_ids: IdSource,
}

impl TicketOffice {
    /// The use cases over these ports.
    pub fn new(ports: TicketPorts, periods: TicketPeriods) -> Self {
        Self { ports, periods, comment_ids: IdSource::default() }
    }

    /// The periods that the configuration sets.
    pub const fn periods(&self) -> TicketPeriods {
        self.periods
    }

    pub(crate) fn desk(&self) -> Desk<'_> {
        let (at, entropy) = (self.ports.clock.now(), self.ports.entropy.as_ref());
        Desk { at, entropy, comment_ids: &self.comment_ids }
    }

    pub(crate) async fn ticket(&self, tenant: Tenant, id: &TicketId) -> Result<Ticket, TicketError> {
        self.ports.reads.ticket(tenant, id).await?.ok_or(TicketError::NotFound)
    }

    /// Decides and commits, again whenever the ticket has changed in between. `audit` makes the line of the
    /// audit log for a change by support.
    pub(crate) async fn change(
        &self,
        tenant: Tenant,
        id: &TicketId,
        decide: impl Fn(Desk<'_>, &Ticket) -> Result<TicketChange, NoSuchStep> + Send + Sync,
        audit: impl Fn(Desk<'_>, &TicketChange) -> Option<AuditRecord> + Send + Sync,
    ) -> Result<TicketChange, TicketError> {
        let decide = |ticket: Ticket| {
            let desk = self.desk();
            let change = decide(desk, &ticket)?;
            let mut changes = changes::of_ticket(change.clone(), desk.at, self.periods.close_after);
            if let Some(line) = audit(desk, &change) {
                changes.add(line);
            }
            Ok(Decided::change(changes, change))
        };
        act(&*self.ports.commit, || self.ticket(tenant, id), decide).await
    }
}

/// No line of the audit log, which records only what the operator's staff do.
pub(crate) fn unaudited(_: Desk<'_>, _: &TicketChange) -> Option<AuditRecord> {
    None
}
