//! The data folder of an installation: the embedded database, its lock, and the files of `--dev`.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io::{Read as _, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt as _, OpenOptionsExt},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

/// The data folder.
#[derive(Debug, Clone)]
pub(crate) struct DataFolder(PathBuf);

/// The lock of a serving process on an embedded database; the system releases it when the process ends,
/// however it ends.
///
/// There are two locks: one on a file beside the database, which exists even if the database does not, and
/// one on the database itself, which is the same under every name by which it is reached. They must be held
/// to the end of the process: releasing the second would release SQLite's own locks on the file too.
///
/// The first file tells commands which files the process has open: a command that opened others under their names would
/// share neither locks nor log with it, and what it changed would be lost.
pub(crate) struct ServingLock {
    database: PathBuf,
    beside: File,
    #[expect(dead_code, reason = "the lock lives as long as the file is open")]
    itself: Option<File>,
}

/// The endings of the names of the files that processes on one database share.
const SHARED: [&str; 3] = ["", "-wal", "-shm"];
/// How long a lock, or a process that starts or ends, is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

impl DataFolder {
    /// The folder at this path, which may be missing: what is read of it is then missing too.
    pub(crate) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Makes the folder, readable by its owner only, unless it is there.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .with_context(|| format!("the data folder {} cannot be made", path.display()))?;
        Ok(Self::at(path))
    }

    /// The path of a file in the folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file that only its owner can read, whole or not at all.
    pub(crate) fn write_private(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let (path, unfinished) = (self.file(name), self.file(&format!("{name}.unfinished")));
        let write = || {
            let mut options = OpenOptions::new();
            options.create(true).truncate(true).write(true).mode(0o600);
            let mut file = options.open(&unfinished)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            std::fs::rename(&unfinished, &path)
        };
        write().with_context(|| format!("{} cannot be written", path.display()))
    }

    /// The text of a file; `None` if there is none.
    pub(crate) fn read(&self, name: &str) -> Result<Option<String>> {
        let path = self.file(name);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
        }
    }
}

impl ServingLock {
    /// Makes sure that at most one process serves from an embedded database, wherever its data folder is.
    ///
    /// The cache of a node (keys, routes) is updated by its own commits only, so a second server on the same
    /// embedded database would answer from an outdated cache. Commands that end by themselves can run beside
    /// a server.
    pub(crate) fn of_database(database: &Path) -> Result<Self> {
        let path = with_ending(database, ".lock");
        let mut options = OpenOptions::new();
        let beside = options.create(true).truncate(false).write(true).mode(0o600).open(&path);
        let beside = beside.with_context(|| format!("{} cannot be opened", path.display()))?;
        let beside = locked(beside, database)?;
        let itself = match File::open(database) {
            Ok(file) => Some(locked(file, database)?),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(error).with_context(|| format!("{} cannot be opened", database.display()));
            }
        };
        // What a former process wrote says nothing about this one.
        beside.set_len(0).with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(Self { database: database.to_owned(), beside, itself })
    }

    /// Lets commands know which files this process has open. It has opened them all.
    pub(crate) fn tell_files(&self) -> Result<()> {
        let told = (&self.beside).write_all(identities(&self.database).join("\n").as_bytes());
        told.with_context(|| format!("{} cannot be written", with_ending(&self.database, ".lock").display()))
    }
}

/// Refuses if a process that serves has other files of the database open than those that are there.
pub(crate) fn require_files_of_server(database: &Path) -> Result<()> {
    let begun = Instant::now();
    while let Some(other) = other_file(database) {
        // A process that begins or ends changes the files before it says so.
        if begun.elapsed() >= PATIENCE {
            bail!(
                "{} is gone, or is not the file that the running `quipu serve` has open: its log and /readyz say what to do",
                with_ending(database, other).display()
            );
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// The ending of the first file that is not the one that the serving process has open; `None` as well if there is no such
/// process, or it has not opened its files yet.
fn other_file(database: &Path) -> Option<&'static str> {
    let mut lock = File::open(with_ending(database, ".lock")).ok()?;
    if !matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return None;
    }
    let mut told = String::new();
    lock.read_to_string(&mut told).ok()?;
    let differs = |(told, found): (&str, String)| told != found;
    told.lines().zip(identities(database)).position(differs).map(|place| SHARED[place])
}

/// What each file is known by among all that exist, one line a file; empty for one that is not there.
fn identities(database: &Path) -> [String; SHARED.len()] {
    // SQLite keeps its files beside the database itself, not beside a link to it.
    let itself = std::fs::canonicalize(database).unwrap_or_else(|_| database.to_owned());
    SHARED.map(|ending| {
        let found = std::fs::metadata(with_ending(&itself, ending));
        found.map_or_else(|_| String::new(), |found| format!("{} {}", found.dev(), found.ino()))
    })
}

/// A path whose name has this ending in addition.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Locks a file. The system frees the locks of a process that was killed a moment after its end is seen.
fn locked(file: File, database: &Path) -> Result<File> {
    let begun = Instant::now();
    let mut lock = file.try_lock();
    while matches!(lock, Err(TryLockError::WouldBlock)) && begun.elapsed() < PATIENCE {
        std::thread::sleep(PAUSE);
        lock = file.try_lock();
    }
    match lock {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!(
            "another `quipu serve` uses the database {}; an embedded database serves one process \
             (several nodes need PostgreSQL)",
            database.display()
        ),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("{} cannot be locked", database.display()))
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A folder for one test, which is removed afterwards.
    pub(crate) struct Scratch(pub(crate) PathBuf);

    impl Scratch {
        pub(crate) fn new() -> Self {
            Self(std::env::temp_dir().join(format!("quipu-{}", uuid::Uuid::new_v4())))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_is_private_is_readable_by_its_owner_only_and_replaced_whole() {
        let scratch = Scratch::new();
        let folder = DataFolder::open(&scratch.0.join("a/b")).expect("made");
        assert_eq!(folder.read("secret").expect("readable"), None);
        folder.write_private("secret", b"a longer text").expect("written");
        folder.write_private("secret", b"a text").expect("written again");
        assert_eq!(folder.read("secret").expect("readable").as_deref(), Some("a text"));
        let mode = std::fs::metadata(folder.file("secret")).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn one_process_serves_from_a_database_and_the_next_may_follow() {
        let scratch = Scratch::new();
        let database = DataFolder::open(&scratch.0).expect("made").file("quipu.db");
        let first = ServingLock::of_database(&database).expect("free");
        let refused = ServingLock::of_database(&database).map(|_| ()).expect_err("taken");
        assert!(refused.to_string().contains("another `quipu serve`"), "{refused}");
        drop(first);
        assert!(ServingLock::of_database(&database).is_ok());
    }

    #[test]
    fn a_link_leads_to_the_same_database() {
        let scratch = Scratch::new();
        let folder = DataFolder::open(&scratch.0).expect("made");
        let [database, soft, hard] = ["quipu.db", "soft.db", "hard.db"].map(|name| folder.file(name));
        std::fs::write(&database, "").expect("made");
        std::os::unix::fs::symlink(&database, &soft).expect("linked");
        std::fs::hard_link(&database, &hard).expect("linked");
        let first = ServingLock::of_database(&hard).expect("free");
        for name in [&database, &soft] {
            let refused = ServingLock::of_database(name).map(|_| ()).expect_err("taken");
            assert!(refused.to_string().contains("another `quipu serve`"), "{refused}");
        }
        drop(first);
        assert!(ServingLock::of_database(&soft).is_ok());
    }
}
