//! The settings of a gateway.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{Database, Gateway, ScratchFolder, TestDatabase};

/// The settings of a gateway. Limits are too high to matter and the simulator settles after 100 ms, unless a
/// test sets something else.
#[derive(Debug, Clone)]
pub struct Setup {
    pub(crate) database: Database,
    /// Another build of the gateway than the one under test.
    pub(crate) binary: Option<PathBuf>,
    pub(crate) environment: Vec<(String, String)>,
    /// The most descriptors that the process may have; `None` means as many as the test.
    pub(crate) descriptors: Option<usize>,
    pub(crate) serve: &'static [&'static str],
    /// Whether a start waits until all dependencies of the gateway are ready.
    pub(crate) waits_for_all: bool,
}

impl Setup {
    /// The settings of most scenarios.
    pub fn new(database: Database) -> Self {
        let plenty = "100000000";
        let setup = Self {
            database,
            binary: None,
            environment: Vec::new(),
            descriptors: None,
            serve: &["serve", "--dev"],
            waits_for_all: true,
        };
        setup
            .set("LISTEN", "127.0.0.1:0")
            .set("METRICS_LISTEN", "127.0.0.1:0")
            .set("SIMULATOR__DELAY", "100ms")
            .set("LIMITS__PAYMENT_CREATE_PER_MINUTE", plenty)
            .set("LIMITS__PAYMENT_CREATE_PER_10S", plenty)
            .set("LIMITS__STANDARD_PER_MINUTE", plenty)
            .set("LIMITS__UNAUTHENTICATED_PER_MINUTE", plenty)
            .set("LIMITS__PAGES_PER_MINUTE", plenty)
            .set("LIMITS__CALLBACKS_PER_MINUTE", plenty)
    }

    /// Sets the configuration key `QUIPU__{key}`, in capitals with double underscores between sections.
    pub fn set(mut self, key: &str, value: &str) -> Self {
        self.environment.retain(|(name, _)| name != &format!("QUIPU__{key}"));
        self.environment.push((format!("QUIPU__{key}"), value.to_owned()));
        self
    }

    /// Runs another build of the gateway.
    pub fn binary(mut self, path: &Path) -> Self {
        self.binary = Some(path.to_owned());
        self
    }

    /// Allows the process only so many descriptors.
    pub fn descriptors(mut self, most: usize) -> Self {
        self.descriptors = Some(most);
        self
    }

    /// Sets any other environment variable.
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts the gateway with another database address, which `change` makes from the usual one.
    pub async fn start_through(self, change: impl FnOnce(&str) -> String) -> Gateway {
        let database = TestDatabase::migrated(self.database).await;
        let url = change(database.url().expect("a database on a server"));
        let setup = self.set("DATABASE_URL", &url);
        Gateway::launch(setup, Arc::new(database), Arc::new(ScratchFolder::new())).await
    }

    /// Leaves a configuration key at its documented default.
    pub fn default_for(mut self, key: &str) -> Self {
        self.environment.retain(|(name, _)| name != &format!("QUIPU__{key}"));
        self
    }

    /// Moves rate limits to the bed's Redis.
    pub fn with_redis(self) -> Self {
        self.set("REDIS_URL", &crate::database::redis_url())
    }

    /// Starts the gateway although one of its dependencies will not be ready.
    pub async fn start_unready(mut self) -> Gateway {
        self.waits_for_all = false;
        self.start().await
    }

    /// Starts the gateway on its own empty database, and waits until it is ready.
    pub async fn start(self) -> Gateway {
        let database = match &self.binary {
            // Another release creates its own version of the tables.
            Some(_) => TestDatabase::create(self.database).await,
            None => TestDatabase::migrated(self.database).await,
        };
        Gateway::launch(self, Arc::new(database), Arc::new(ScratchFolder::new())).await
    }
}
