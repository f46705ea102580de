//! What a store needs to know to open.

/// Where the database is and how many workers it gets. Not to be shown: the address may hold a password.
#[derive(Clone)]
pub struct StoreSettings {
    /// `sqlite://path` or `postgres://user:password@host/database`.
    pub url: String,
    /// PostgreSQL: how many lanes commit side by side, each with a connection of its own. SQLite has one writer.
    pub lanes: usize,
    /// How many queries are read side by side, each on a connection of its own.
    pub readers: usize,
    /// What this node is called in leases: unique among all that share the database.
    pub node: String,
}

impl StoreSettings {
    /// The defaults for a database: four lanes, four readers of a file (each keeps pages of its own) or eight
    /// connections to a server.
    pub fn new(url: impl Into<String>) -> Self {
        let mut settings =
            Self { url: url.into(), lanes: 4, readers: 4, node: uuid::Uuid::new_v4().to_string() };
        if settings.is_postgres() {
            settings.readers = 8;
        }
        settings
    }

    /// The path of an embedded database.
    pub(crate) fn sqlite_path(&self) -> Option<&str> {
        self.url.strip_prefix("sqlite://")
    }

    /// Whether the database is a PostgreSQL server.
    pub(crate) fn is_postgres(&self) -> bool {
        self.url.starts_with("postgres://") || self.url.starts_with("postgresql://")
    }
}
