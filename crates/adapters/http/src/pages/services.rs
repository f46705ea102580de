//! What pages need beside what every call needs.

use std::sync::Arc;

use quipu_merchants::PageStore;
use quipu_payments::{FillRecipient, PageLinks, PlayScheme};

use super::viewers::Viewers;

/// The use cases and ports of hosted pages.
#[derive(Clone)]
pub struct PageServices {
    /// Where pages are kept.
    pub store: Arc<dyn PageStore>,
    /// Makes their addresses.
    pub links: Arc<PageLinks>,
    /// Takes recipients.
    pub recipients: Arc<FillRecipient>,
    /// Plays schemes in the test environment.
    pub scheme: Arc<PlayScheme>,
    /// Who watches; the application lets it follow the news.
    pub viewers: Arc<Viewers>,
}
