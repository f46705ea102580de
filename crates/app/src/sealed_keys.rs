//! What the database holds under the master keys: whether all of it can be opened, and the key of hosted pages.

use std::sync::Arc;

use anyhow::{Context, Error, Result, anyhow};
use quipu_merchants::PageStore as _;
use quipu_payments::PageLinks;
use quipu_signing::{OpenProblem, PageKey};

use crate::wire::Foundation;

const ANOTHER_MASTER_KEY: &str = "master_key is not the key that the secrets in the database were sealed with: set that one; \
    after a change of keys the former one belongs into retired_master_keys or, if others may have it, into leaked_master_keys";

/// The context to which the sealed page key is bound.
const PAGE_KEY: &str = "page-key";

/// Refuses master keys that leave a secret of this database sealed: its owner would not be recognised, or its
/// deliveries not be signed.
///
/// A database without secrets gets the key of hosted pages, sealed under the present master key.
pub(crate) async fn verify_all(foundation: &Foundation) -> Result<()> {
    let (_, missing) = known_and_missing(foundation).await?;
    if missing.is_empty() { page_key(foundation).await.map(drop) } else { Err(are_missing(&missing)) }
}

/// The same for a command, which goes on with a warning if it has some of the keys: it may be the one that replaces what
/// was sealed under a lost one.
pub(crate) async fn verify_some(foundation: &Foundation) -> Result<()> {
    let (known, missing) = known_and_missing(foundation).await?;
    if missing.is_empty() {
        return page_key(foundation).await.map(drop);
    }
    let problem = are_missing(&missing);
    if known.is_empty() {
        return Err(problem);
    }
    tracing::warn!(%problem, "some secrets in the database cannot be opened");
    Ok(())
}

fn are_missing(key_ids: &[String]) -> Error {
    anyhow!("{ANOTHER_MASTER_KEY} (missing: {})", key_ids.join(", "))
}

/// The identifiers of the master keys under which secrets of this database are sealed: those at hand, and the others.
async fn known_and_missing(foundation: &Foundation) -> Result<(Vec<String>, Vec<String>)> {
    let ids = foundation.store.master_key_ids().await?;
    Ok(ids.into_iter().partition(|key_id| foundation.keyring.holds(key_id)))
}

/// Makes the addresses of hosted pages, which begin with `public_url`. The first process that needs their key
/// makes it and seals it in the database for all.
pub(crate) async fn page_links(foundation: &Foundation, public_url: &str) -> Result<Arc<PageLinks>> {
    Ok(Arc::new(PageLinks::new(page_key(foundation).await?, public_url)))
}

async fn page_key(foundation: &Foundation) -> Result<PageKey> {
    let (keyring, entropy) = (&foundation.keyring, &*foundation.entropy);
    let offered = keyring.seal_secret(entropy, PAGE_KEY, PageKey::generate(entropy).secret());
    let kept = foundation.store.page_key(&offered).await.context("the page key cannot be read")?;
    let secret = keyring.open_secret(PAGE_KEY, &kept).map_err(|problem| match problem {
        OpenProblem::UnknownKey => anyhow!(ANOTHER_MASTER_KEY),
        OpenProblem::Malformed | OpenProblem::Tampered => {
            Error::new(problem).context("the page key in the database cannot be opened")
        }
    })?;
    PageKey::parse(&secret).context("the page key is broken")
}
