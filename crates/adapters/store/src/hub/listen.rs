//! Listens to the hints of the other nodes.

use std::{sync::Weak, time::Duration};

use diesel_async::SimpleAsyncConnection as _;
use futures_util::StreamExt as _;
use tokio::time::timeout;

use super::{
    Hub, PATIENCE,
    hints::{announce, heard_in},
};
use crate::{
    error::Fault,
    postgres::session::{Address, Session},
};

/// How long a connection is listened on before it is tested.
const LISTENING: Duration = Duration::from_secs(15);
/// The pause before the next attempt to connect to other nodes.
const RETRY: Duration = Duration::from_secs(1);

/// Listens for as long as there is the hub.
pub(super) async fn listen(hub: Weak<Hub>, listening: Address) {
    loop {
        if let Err(fault) = listen_once(&hub, &listening).await {
            tracing::debug!(%fault, "other nodes are not heard");
        }
        if hub.strong_count() == 0 {
            return;
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Listens on one connection until it fails.
async fn listen_once(hub: &Weak<Hub>, listening: &Address) -> Result<(), Fault> {
    let mut session = bounded(Session::begin(listening, "LISTEN quipu")).await?;
    if let Some(hub) = hub.upgrade() {
        // Tells the other nodes that this node exists; and the listeners here may have missed commits.
        bounded(announce(&hub.node, &mut session)).await?;
        hub.all_look_again();
    }
    loop {
        let next = {
            let mut notifications = std::pin::pin!(session.notifications_stream());
            timeout(LISTENING, notifications.next()).await
        };
        let Some(hub) = hub.upgrade() else { return Ok(()) };
        match next {
            // A connection that leads nowhere is as silent as one on which nothing happens.
            Err(_) => bounded(async { Ok(session.batch_execute("SELECT 1").await?) }).await?,
            Ok(None) => return Err(Fault::Silent),
            Ok(Some(Err(error))) => return Err(error.into()),
            Ok(Some(Ok(notification))) => {
                if let Some(heard) = heard_in(&notification.payload, &hub.node) {
                    hub.peer_heard();
                    if heard.directory {
                        hub.cache.forget();
                    }
                    hub.changed_elsewhere(heard.endpoints);
                    hub.publish_here(heard.news);
                }
            }
        }
    }
}

async fn bounded<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    timeout(PATIENCE, work).await.map_err(|_| Fault::Silent)?
}
