//! A session on a server: a connection, and what must be remembered about it.

use std::{
    error::Error,
    ops::{Deref, DerefMut},
    sync::{Arc, Weak},
    time::Duration,
};

use diesel::{
    QueryableByName, sql_query,
    sql_types::{BigInt, Bool, Integer, Nullable, Text},
};
use diesel_async::{AsyncPgConnection, RunQueryDsl as _, SimpleAsyncConnection as _};
use tokio::{sync::OwnedSemaphorePermit, time::timeout};
use tokio_postgres::{
    Config,
    config::{Host, TargetSessionAttrs},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{error::Fault, postgres::tls::Transport};

/// How long a server may take to stop a query without a waiting caller.
const CANCEL: Duration = Duration::from_secs(2);

/// A server and the timeline of its history. The number of a transaction is valid on one timeline only: where
/// a standby took over, it may have given the number to another transaction.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
pub(crate) struct Server {
    #[diesel(sql_type = Text)]
    system: String,
    #[diesel(sql_type = Text)]
    timeline: String,
    #[diesel(sql_type = Text)]
    started: String,
}

/// A process of the server. Its number alone may be given to another process later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, QueryableByName)]
pub(crate) struct Process {
    #[diesel(sql_type = Integer)]
    pub(crate) pid: i32,
    /// Microseconds since 1970.
    #[diesel(sql_type = BigInt)]
    pub(crate) since: i64,
}

/// The home of sessions, which makes them and takes them back.
pub(crate) trait Home: Send + Sync {
    /// Keeps a session that is in order.
    fn put_back(&self, session: Session);

    /// Closes a session that failed. If it fell silent or broke, the other sessions are not trusted either,
    /// and a new one ends on the server what this one may have left there.
    fn abandon(&self, session: Session, fault: &Fault);

    /// Does not trust the other sessions any more, since one fell silent.
    fn distrust_others(&self);

    /// Notes that the `COMMIT` of a given-up session waits for a synchronous standby, for which nothing can
    /// be done from here.
    fn keep_awaiting(&self, process: Process);

    /// Makes the next new session end on the server what a given-up session may have left there.
    fn end_later(&self, process: Process);
}

/// A session. Dropping it closes it; [`Session::put_back`] keeps it for the next user.
pub(crate) struct Session {
    conn: AsyncPgConnection,
    tls: MakeRustlsConnect,
    /// `None` if the server would not tell.
    pub(crate) server: Option<Server>,
    pub(crate) process: Option<Process>,
    /// The number of times that it was used.
    pub(crate) uses: u32,
    /// The age of the pool when it was made.
    pub(crate) age: u64,
    /// The pool that it belongs to.
    pub(crate) home: Option<Weak<dyn Home>>,
    /// The place in the pool that it takes while it is used.
    pub(crate) place: Option<OwnedSemaphorePermit>,
}

impl Deref for Session {
    type Target = AsyncPgConnection;

    fn deref(&self) -> &AsyncPgConnection {
        &self.conn
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut AsyncPgConnection {
        &mut self.conn
    }
}

/// What a session that was given up may have left on its server.
#[derive(Default)]
pub(crate) struct GivenUp {
    home: Option<Arc<dyn Home>>,
    process: Option<Process>,
    /// Whether it is known by now if the other sessions may have failed too.
    is_judged: bool,
}

impl GivenUp {
    /// Judges the other sessions by the first answer to a question about this one. If its `COMMIT` waits for
    /// a synchronous standby, its connection has not failed, and the others are in order. In every other case
    /// they are not trusted any more.
    pub(crate) fn judge(&mut self, awaits_standby: bool) {
        let is_judged = std::mem::replace(&mut self.is_judged, true);
        let Some(home) = &self.home else { return };
        match self.process.filter(|_| awaits_standby) {
            Some(process) => home.keep_awaiting(process),
            None if is_judged => {}
            None => home.distrust_others(),
        }
    }

    /// Has the leftover ended as soon as the server can be reached.
    pub(crate) fn end_later(mut self) {
        if !self.is_judged {
            self.judge(false);
        }
        if let Some((home, process)) = self.home.zip(self.process) {
            home.end_later(process);
        }
    }
}

/// Stops a query whose caller has gone away.
pub(crate) struct Stopper(tokio_postgres::CancelToken, MakeRustlsConnect);

impl Stopper {
    /// Asks the server to stop the query. If the request is lost, the query stops when its own time is over.
    pub(crate) async fn stop(self) {
        let _asked = timeout(CANCEL, self.0.cancel_query(self.1)).await;
    }
}

/// The address of a server, and whether TLS is used.
#[derive(Clone)]
pub(crate) struct Address {
    config: Config,
    transport: Transport,
}

impl Address {
    /// A new connection, which nobody drives yet.
    pub(crate) async fn connect(&self) -> Result<AsyncPgConnection, Fault> {
        let unconnected =
            |error: &dyn Error| Fault::Unconnected(format!("{}: {}", servers(&self.config), whole(error)));
        let (client, connection) =
            self.transport.connect(&self.config).await.map_err(|error| unconnected(&error))?;
        let conn = AsyncPgConnection::try_from_client_and_connection(client, connection).await;
        conn.map_err(|error| unconnected(&error))
    }
}

/// The hosts and ports that an address names.
fn servers(config: &Config) -> String {
    let ports = config.get_ports();
    let named = config.get_hosts().iter().enumerate().map(|(number, host)| {
        let port = ports.get(number).or(ports.first()).copied().unwrap_or(5432);
        match host {
            Host::Tcp(name) => format!("{name}:{port}"),
            Host::Unix(folder) => format!("{}, port {port}", folder.display()),
        }
    });
    named.collect::<Vec<_>>().join(", ")
}

/// The text of an error with its causes, which say for instance what is wrong with a certificate.
fn whole(error: &dyn Error) -> String {
    let (mut text, mut source) = (error.to_string(), error.source());
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        source = cause.source();
    }
    text
}

/// The address as the driver reads it, with settings that make a dead connection show itself; it leads to a
/// server that can be written. Settings that the address contains are not changed.
pub(crate) fn configured(url: &str, connect: Duration, silence: Duration) -> Result<Address, Fault> {
    let mut address = configured_to_read(url, connect, silence)?;
    // After a failover the address may lead to a server that has become a standby.
    if address.config.get_target_session_attrs() == TargetSessionAttrs::Any {
        address.config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    Ok(address)
}

/// The same for commands that only read, which may use a standby.
pub(crate) fn configured_to_read(url: &str, connect: Duration, silence: Duration) -> Result<Address, Fault> {
    let (transport, url) = Transport::of(url)?;
    let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
        let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        Fault::Unconnected(cause)
    })?;
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(connect);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(silence);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_idle(Duration::from_secs(10)).keepalives_interval(Duration::from_secs(3));
        config.keepalives_retries(3);
    }
    if config.get_application_name().is_none() {
        config.application_name("quipu");
    }
    Ok(Address { config, transport })
}

impl Session {
    /// A new session that has run `beginning`.
    pub(crate) async fn begin(address: &Address, beginning: &str) -> Result<Self, Fault> {
        let mut conn = address.connect().await?;
        let begun = conn.batch_execute(beginning).await;
        begun.map_err(|error| Fault::Unconnected(error.to_string()))?;
        let server = server_of(&mut conn).await.ok();
        let process = process_of(&mut conn).await.ok();
        let tls = address.transport.tls.clone();
        Ok(Self { conn, tls, server, process, uses: 0, age: 0, home: None, place: None })
    }

    fn home(&self) -> Option<Arc<dyn Home>> {
        self.home.as_ref()?.upgrade()
    }

    /// Returns it to the pool for the next user.
    pub(crate) fn put_back(self) {
        if let Some(home) = self.home() {
            home.put_back(self);
        }
    }

    /// Closes it after a failure.
    pub(crate) fn abandon(self, fault: &Fault) {
        if let Some(home) = self.home() {
            home.abandon(self, fault);
        }
    }

    /// Closes it without ending its transaction, which may still end by itself.
    pub(crate) fn give_up(self) -> GivenUp {
        GivenUp { home: self.home(), process: self.process, is_judged: false }
    }

    /// A handle that stops the query running in this session.
    pub(crate) fn stopper(&self) -> Stopper {
        Stopper(self.conn.cancel_token(), self.tls.clone())
    }

    /// Whether the connection is known to be closed.
    pub(crate) fn is_closed(&mut self) -> bool {
        use diesel_async::pooled_connection::PoolableConnection;
        self.conn.is_broken()
    }
}

/// The server and timeline of a connection. The timeline is read from the name of the file that is being
/// written, since the control file is updated later. Not every server allows reading its system identifier.
async fn server_of(conn: &mut AsyncPgConnection) -> Result<Server, diesel::result::Error> {
    let known = "CAST(pg_postmaster_start_time() AS TEXT) AS started,
        LEFT(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline";
    let named = "CAST(system_identifier AS TEXT) AS system FROM pg_control_system()";
    match sql_query(format!("SELECT {known}, {named}")).get_result(conn).await {
        Ok(server) => Ok(server),
        Err(_) => sql_query(format!("SELECT {known}, '' AS system")).get_result(conn).await,
    }
}

async fn process_of(conn: &mut AsyncPgConnection) -> Result<Process, diesel::result::Error> {
    let query = "SELECT pid, CAST(EXTRACT(EPOCH FROM backend_start) * 1000000 AS BIGINT) AS since
        FROM pg_stat_get_activity(pg_backend_pid())";
    sql_query(query).get_result(conn).await
}

#[derive(QueryableByName)]
struct Found {
    #[diesel(embed)]
    process: Process,
    /// `None` if it was left alone.
    #[diesel(sql_type = Nullable<Bool>)]
    ended: Option<bool>,
}

/// Ends given-up sessions of this node, so that their locks are released. One whose `COMMIT` waits for a
/// synchronous standby is left to that, and returned.
pub(crate) async fn end(conn: &mut AsyncPgConnection, abandoned: &[Process]) -> Result<Vec<Process>, Fault> {
    if abandoned.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<_> =
        abandoned.iter().map(|process| format!("({}, {})", process.pid, process.since)).collect();
    let query = format!(
        "SELECT running.pid, abandoned.since,
                CASE WHEN running.wait_event IS DISTINCT FROM 'SyncRep'
                    THEN pg_terminate_backend(running.pid) END AS ended
            FROM pg_stat_activity AS running
            JOIN (VALUES {}) AS abandoned (pid, since) ON running.pid = abandoned.pid
            AND CAST(EXTRACT(EPOCH FROM running.backend_start) * 1000000 AS BIGINT) = abandoned.since",
        rows.join(", ")
    );
    let found: Vec<Found> = sql_query(query).load(conn).await?;
    let (waiting, ended): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| found.ended.is_none());
    if !ended.is_empty() {
        tracing::warn!(sessions = ended.len(), "sessions that no longer answered were ended on the server");
    }
    if !waiting.is_empty() {
        tracing::warn!(
            sessions = waiting.len(),
            "commits wait for a synchronous standby, so nothing is written"
        );
    }
    Ok(waiting.into_iter().map(|found| found.process).collect())
}
