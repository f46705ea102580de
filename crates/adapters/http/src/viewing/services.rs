//! The services of pages, besides those of every call.

use std::sync::Arc;

use quipu_merchants::PageStore;
use quipu_payments::{FillRecipient, PageLinks, SimulateScheme};

use crate::viewing::viewers::Viewers;

/// The use cases and ports of hosted pages.
#[derive(Clone)]
pub struct PageServices {
    /// Stores pages.
    pub store: Arc<dyn PageStore>,
    /// Makes their addresses.
    pub links: Arc<PageLinks>,
    /// Takes the details of recipients.
    pub recipients: Arc<FillRecipient>,
    /// Simulates payment schemes in the test environment.
    pub scheme: Arc<SimulateScheme>,
    /// The viewers of pages; the application makes it follow commits.
    pub viewers: Arc<Viewers>,
}
