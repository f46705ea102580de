//! Files in a folder of this machine.
//!
//! `arriving/` has the files being uploaded; `kept/` has the objects, spread over folders by the last
//! characters of the upload's identifier. An object is named `<upload>/<random>`: sending the same upload
//! twice makes two objects, and the commit decides which of them counts.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use quipu_kernel::{Entropy, Timestamp, base32};
use quipu_tickets::{Arrival, AttachmentId, FileRefused, FileStore, Incoming, Outgoing, Upload};
use tokio::{sync::Semaphore, task::spawn_blocking};

use crate::{gauge::Gauge, pace::Pace};

/// How many bytes are gathered before they are written. A hundred simultaneous uploads hold a hundred times
/// as much while each waits for its turn.
const PIECE: usize = 32 * 1024;
/// How many bytes are read at once.
const READ_PIECE: usize = 64 * 1024;
/// How many files are flushed to disk at once. The database flushes to the same disk, and must not wait
/// behind all of them.
const FLUSHES: usize = 2;
/// How many files are worked on at once, since each takes a thread and its memory.
static HANDS: Semaphore = Semaphore::const_new(8);
/// The end of a thumbnail's name.
pub(crate) const BESIDE: &str = ".thumb";
/// How long a thumbnail may be in the making. An older unfinished one was left behind by a crash.
const IN_THE_MAKING: Duration = Duration::from_mins(10);

/// Keeps files in a folder.
pub struct LocalFiles {
    root: PathBuf,
    entropy: Arc<dyn Entropy>,
    flushes: Arc<Semaphore>,
    pace: Arc<Pace>,
}

impl LocalFiles {
    /// Opens the folder `root`, or creates it. All uploads together are limited to `bytes_per_second`.
    pub fn open(root: PathBuf, entropy: Arc<dyn Entropy>, bytes_per_second: u64) -> io::Result<Self> {
        for folder in ["arriving", "kept"] {
            fs::create_dir_all(root.join(folder))?;
        }
        let (flushes, pace) = (Arc::new(Semaphore::new(FLUSHES)), Arc::new(Pace::new(bytes_per_second)));
        Ok(Self { root, entropy, flushes, pace })
    }

    /// The folder of an upload's objects.
    fn folder(&self, upload: &str) -> PathBuf {
        let last = upload.get(upload.len().saturating_sub(2)..).unwrap_or("xx");
        self.root.join("kept").join(last).join(upload)
    }

    /// The path of an object. Only names that this store makes are accepted.
    fn path(&self, object: &str) -> Result<PathBuf, FileRefused> {
        let good =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
        let parts = object.split_once('/').filter(|(upload, name)| {
            let begins_well = !name.is_empty() && !name.starts_with('.');
            upload.parse::<AttachmentId>().is_ok() && begins_well && name.bytes().all(good)
        });
        let (upload, name) = parts.ok_or_else(|| FileRefused::Failed("not an object's name".to_owned()))?;
        Ok(self.folder(upload).join(name))
    }
}

/// Runs blocking work on a thread for it. The thread counts until it ends, even if nobody waits for it any more.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, FileRefused> {
    // It is never closed.
    let hand = HANDS.acquire().await;
    // Handed back with the outcome: by then the thread is free for the next.
    match spawn_blocking(move || (work(), hand)).await {
        Ok((Ok(done), _hand)) => Ok(done),
        Ok((Err(error), _hand)) => Err(FileRefused::Failed(error.to_string())),
        Err(_) => Err(FileRefused::Failed("the thread that wrote or read ended early".to_owned())),
    }
}

/// A file that is removed when this is dropped.
struct Temporary(Option<PathBuf>);

impl Temporary {
    fn is_there(&self) -> bool {
        self.0.as_ref().is_some_and(|path| path.exists())
    }

    /// Gives the file its final name.
    fn rename(mut self, to: &Path) -> io::Result<()> {
        if let Some(from) = &self.0 {
            fs::rename(from, to)?;
        }
        self.0 = None;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            // The clean-up of the upload finds a file that cannot be removed now.
            let _ = fs::remove_file(path);
        }
    }
}

struct LocalIncoming {
    temporary: Temporary,
    file: Option<File>,
    gathered: Vec<u8>,
    gauge: Gauge,
    object: String,
    path: PathBuf,
    flushes: Arc<Semaphore>,
    pace: Arc<Pace>,
}

impl LocalIncoming {
    async fn write_gathered(&mut self) -> Result<(), FileRefused> {
        self.pace.turn(self.gathered.len()).await;
        let mut gathered = std::mem::take(&mut self.gathered);
        let Some(mut file) = self.file.take() else {
            return Err(FileRefused::Failed("an earlier write failed".to_owned()));
        };
        let (file, emptied) = blocking(move || {
            file.write_all(&gathered)?;
            gathered.clear();
            Ok((file, gathered))
        })
        .await?;
        (self.file, self.gathered) = (Some(file), emptied);
        Ok(())
    }
}

#[async_trait]
impl Incoming for LocalIncoming {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), FileRefused> {
        self.gauge.take(bytes)?;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(rest.len().min(PIECE - self.gathered.len()));
            self.gathered.extend_from_slice(piece);
            if self.gathered.len() == PIECE {
                self.write_gathered().await?;
            }
            rest = later;
        }
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<Arrival, FileRefused> {
        self.write_gathered().await?;
        let Self { temporary, file, gauge, object, path, flushes, .. } = *self;
        let size = gauge.end()?;
        let turn = flushes.acquire_owned().await;
        let kept = blocking(move || {
            let _turn = turn;
            if let Some(file) = file {
                file.sync_all()?;
            }
            let folder = path.parent().unwrap_or(&path);
            fs::create_dir_all(folder)?;
            // The clean-up of an expired upload also removes files that are still arriving.
            if !temporary.is_there() {
                return Ok(false);
            }
            temporary.rename(&path)?;
            sync_folders(folder)?;
            Ok(true)
        });
        if kept.await? { Ok(Arrival { object, size }) } else { Err(FileRefused::NotArrived) }
    }
}

/// A new file that only its owner may read, whatever folder it is in.
fn create_private(path: &Path) -> io::Result<File> {
    File::options().create_new(true).write(true).mode(0o600).open(path)
}

/// Makes new names durable: that of the file, and those of the folders it is in.
fn sync_folders(folder: &Path) -> io::Result<()> {
    for folder in folder.ancestors().take(3) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

struct LocalOutgoing {
    file: Option<File>,
    size: u64,
}

#[async_trait]
impl Outgoing for LocalOutgoing {
    fn size(&self) -> u64 {
        self.size
    }

    async fn read(&mut self) -> Result<Option<Vec<u8>>, FileRefused> {
        let Some(mut file) = self.file.take() else { return Ok(None) };
        let (file, piece) = blocking(move || {
            let mut piece = vec![0; READ_PIECE];
            let read = file.read(&mut piece)?;
            piece.truncate(read);
            Ok((file, piece))
        })
        .await?;
        if piece.is_empty() {
            return Ok(None);
        }
        self.file = Some(file);
        Ok(Some(piece))
    }
}

#[async_trait]
impl FileStore for LocalFiles {
    async fn upload_url(&self, _upload: &Upload, _now: Timestamp) -> Result<Option<String>, FileRefused> {
        Ok(None)
    }

    async fn receive(&self, upload: &Upload) -> Result<Box<dyn Incoming>, FileRefused> {
        let name = base32(self.entropy.as_ref(), 16);
        let path = self.root.join("arriving").join(format!("{}.{name}", upload.id));
        let object = format!("{}/{name}", upload.id);
        let final_path = self.path(&object)?;
        let (file, temporary) = blocking(move || {
            let file = create_private(&path)?;
            Ok((file, Temporary(Some(path))))
        })
        .await?;
        Ok(Box::new(LocalIncoming {
            temporary,
            file: Some(file),
            gathered: Vec::with_capacity(PIECE),
            gauge: Gauge::new(upload.content_type),
            object,
            path: final_path,
            flushes: Arc::clone(&self.flushes),
            pace: Arc::clone(&self.pace),
        }))
    }

    async fn complete(&self, uploads: &[Upload]) -> Vec<Result<Arrival, FileRefused>> {
        // The files were counted and checked on arrival, and nobody else can write to them.
        uploads.iter().map(|upload| upload.arrival.clone().ok_or(FileRefused::NotArrived)).collect()
    }

    async fn open(&self, object: &str) -> Result<Box<dyn Outgoing>, FileRefused> {
        let path = self.path(object)?;
        let kept = self.root.join("kept");
        let outgoing = blocking(move || {
            let file = match File::open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && kept.is_dir() => return Ok(None),
                file => file?,
            };
            let size = file.metadata()?.len();
            Ok(Some(LocalOutgoing { file: Some(file), size }))
        });
        Ok(Box::new(outgoing.await?.ok_or(FileRefused::NotArrived)?))
    }

    async fn keep_beside(&self, object: &str, bytes: Vec<u8>) -> Result<String, FileRefused> {
        let name = format!("{object}{BESIDE}");
        let path = self.path(&name)?;
        let draft = self.path(&format!("{name}.{}", base32(self.entropy.as_ref(), 16)))?;
        blocking(move || {
            let mut file = create_private(&draft)?;
            let temporary = Temporary(Some(draft));
            file.write_all(&bytes)?;
            file.sync_all()?;
            temporary.rename(&path)?;
            sync_folders(path.parent().unwrap_or(&path))
        })
        .await?;
        Ok(name)
    }

    async fn delete(&self, object: &str) -> Result<(), FileRefused> {
        let path = self.path(object)?;
        blocking(move || match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        })
        .await
    }

    async fn sweep(&self, upload: &Upload, kept: Option<&str>) -> Result<(), FileRefused> {
        let folder = self.folder(upload.id.as_str());
        let kept = kept.and_then(|object| object.split_once('/')).map(|(_, name)| name.to_owned());
        let arriving = (self.root.join("arriving"), format!("{}.", upload.id));
        blocking(move || {
            let stays = |name: &str, path: &Path| {
                let Some(rest) = kept.as_deref().and_then(|kept| name.strip_prefix(kept)) else {
                    return false;
                };
                match rest.strip_prefix(BESIDE) {
                    None => rest.is_empty(),
                    Some("") => true,
                    // Another task is writing it at this moment.
                    Some(_) => is_younger(path, IN_THE_MAKING),
                }
            };
            remove_all(&folder, |name, path| !stays(name, path))?;
            remove_all(&arriving.0, |name, _| name.starts_with(&arriving.1))?;
            if kept.is_none() {
                // A folder that is not empty, or is missing, is left as it is.
                let _ = fs::remove_dir(&folder);
            }
            Ok(())
        })
        .await
    }

    async fn ready(&self) -> Result<(), &'static str> {
        let path = self.root.join("arriving").join(format!("ready.{}", base32(self.entropy.as_ref(), 16)));
        blocking(move || {
            let probe = Temporary(Some(path.clone()));
            fs::write(&path, b"ready")?;
            let same = fs::read(&path)? == b"ready";
            drop(probe);
            if same { Ok(()) } else { Err(io::Error::other("what was written is not what is read")) }
        })
        .await
        .map_err(|_| "files cannot be written to the folder of attachments_url and read again")
    }
}

/// Whether a file was written to within this time.
fn is_younger(path: &Path, than: Duration) -> bool {
    let written = fs::metadata(path).and_then(|file| file.modified());
    // A file with a future time counts as new.
    written.is_ok_and(|at| at.elapsed().map_or(true, |age| age < than))
}

/// Removes the files of a folder that are chosen by their names and paths. A file that is gone already is no
/// error.
fn remove_all(folder: &Path, chosen: impl Fn(&str, &Path) -> bool) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let (name, path) = entry.map(|entry| (entry.file_name(), entry.path()))?;
        if name.to_str().is_some_and(|name| chosen(name, &path)) {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_thread_counts_until_it_ends_though_nobody_waits_for_it() {
        let free = HANDS.available_permits();
        let (begun, begins) = tokio::sync::oneshot::channel();
        let (end, ends) = mpsc::channel::<()>();
        let waiting = tokio::spawn(blocking(move || {
            begun.send(()).map_err(|()| io::ErrorKind::BrokenPipe)?;
            ends.recv().map_err(io::Error::other)
        }));
        begins.await.expect("it runs");
        waiting.abort();
        assert!(waiting.await.expect_err("aborted").is_cancelled());
        assert_eq!(HANDS.available_permits(), free - 1, "the thread still works");
        end.send(()).expect("it waits for this");
        while HANDS.available_permits() < free {
            tokio::task::yield_now().await;
        }
    }
}
