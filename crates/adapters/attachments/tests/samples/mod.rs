//! Uploads and files that the tests of both stores share.

use std::sync::Arc;

use quipu_kernel::{Clock, Entropy, Environment, MerchantId, SystemClock, Tenant, base32};
use quipu_signing::SystemEntropy;
use quipu_tickets::{AttachmentId, ContentType, FileRefused, FileStore, TicketId, Upload};

pub(crate) const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n and what follows it, which nobody decodes here at all, long as it may be";

pub(crate) fn entropy() -> Arc<dyn Entropy> {
    Arc::new(SystemEntropy)
}

/// A name that no other test has.
pub(crate) fn unique() -> String {
    base32(&SystemEntropy, 16)
}

pub(crate) fn upload(kind: ContentType) -> Upload {
    let now = SystemClock.now();
    Upload {
        tenant: Tenant::new(MerchantId(7), Environment::Test),
        ticket: TicketId::new(now, &SystemEntropy),
        id: AttachmentId::new(now, &SystemEntropy),
        filename: "../../etc/passwd".to_owned(),
        content_type: kind,
        issued_at: now,
        expires_at: now.plus(std::time::Duration::from_mins(10)),
        arrival: None,
        spent: false,
        revision: 1,
    }
}

/// All bytes of an object.
pub(crate) async fn bytes(store: &dyn FileStore, object: &str) -> Result<Vec<u8>, FileRefused> {
    let mut outgoing = store.open(object).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = outgoing.read().await? {
        assert!(piece.len() <= 1 << 20, "read in pieces");
        bytes.extend_from_slice(&piece);
    }
    assert_eq!(outgoing.size(), bytes.len() as u64);
    Ok(bytes)
}
