//! The write-ahead log of an embedded database: finds out if it was replaced or cut off.
//!
//! A log that is cut off while it is being written soon has its former length again, with a hole in it.
//! SQLite reads past the hole as long as it has the log open, but the next process to open it finds nothing
//! after the hole. So the log must reach as far as SQLite's index says. Before a commit is acknowledged, the
//! frames written since the last such time are read again, from the frame that was the last one then: each
//! frame has a checksum over all frames up to it. The whole log is read when the database is opened.
//!
//! The log starts over in the same file, so most writes go where the file has room already. While the file
//! keeps its length nothing is read again: a cut shortens the file, and a later write lengthens it only to
//! the end of the written frames, which is before the former end of the file. Only frames after that end, of
//! a commit in progress, could restore the length, and they would have to end at exactly the same byte.
//!
//! A look at the log takes four system calls and waits for nobody. Reading frames again takes one more for the
//! checksum before them, and one for each quarter of a megabyte.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock},
};

use quipu_kernel::locked;

use crate::{
    error::file_trouble::FileTrouble,
    sqlite::file_identity::{Identity, identity_of, metadata},
};

/// The bytes of the header before all frames.
const LOG_HEADER: u64 = 32;
/// The bytes of the header before the page in each frame.
const FRAME_HEADER: usize = 24;
/// Where the checksum begins in a frame's header; it reaches to the header's end.
const CHECKSUM_AT: usize = 16;
const CHECKSUM: usize = 8;
/// Frames in one read.
const IN_A_READ: usize = 64;
/// How many times a look is repeated because the log has started over meanwhile. The writer looks after its
/// commit.
const TRIES: u32 = 3;

/// A checksum over the log up to some frame.
type Checksum = (u32, u32);
/// Distinguishes the frames of the log from older ones: it changes each time that the log starts over.
type Salt = [u8; 8];

/// The log and its index, which existed when this was made.
pub(crate) struct WriteAheadLog {
    path: PathBuf,
    identity: Identity,
    opened: File,
    /// Where processes that share the database record the end of the log and their locks.
    index: PathBuf,
    index_identity: Identity,
    /// Never closed: SQLite's locks on a file belong to the process, which loses them when it closes the file
    /// anywhere.
    opened_index: &'static File,
    /// The bytes of a frame: its header and a page of the database.
    frame: usize,
    seen: Mutex<Seen>,
    /// What does not end when a file is put back: what is missing in the log does not come back, and an index that was away
    /// does not know what other processes wrote meanwhile.
    lasting: OnceLock<FileTrouble>,
}

/// How far the log was found to be whole.
#[derive(Default)]
struct Seen {
    end: End,
    /// The length of the file then. A look in the middle of a commit keeps the earlier length, since
    /// otherwise a cut before the end of that commit would not show.
    length: u64,
}

/// The end of the log, according to its index.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct End {
    salt: Salt,
    frames: u64,
}

/// The file beside a database whose name is the database's with this ending.
pub(super) fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

impl WriteAheadLog {
    /// Opens the log beside a database with pages of `page` bytes.
    pub(crate) fn open(database: &Path, page: usize) -> io::Result<Self> {
        let (path, index) = (beside(database, "-wal"), beside(database, "-shm"));
        let opened = File::open(&path)?;
        let opened_index: &'static File = Box::leak(Box::new(File::open(&index)?));
        Ok(Self {
            identity: identity_of(&opened.metadata()?),
            index_identity: identity_of(&opened_index.metadata()?),
            path,
            opened,
            index,
            opened_index,
            frame: FRAME_HEADER + page,
            seen: Mutex::default(),
            lasting: OnceLock::new(),
        })
    }

    /// Fails unless the files are still the ones that were opened, and the log reaches as far as its index says.
    pub(crate) fn require_in_place(&self) -> Result<(), FileTrouble> {
        self.look_by(|end| self.is_long_enough(end))
    }

    /// Like [`Self::require_in_place`]; fails also if there is a hole in the frames written since the last call.
    pub(crate) fn require_intact(&self) -> Result<(), FileTrouble> {
        let mut seen = locked(&self.seen);
        self.look_by(|end| self.reaches(end, &mut seen))
    }

    fn look_by(&self, reaches: impl FnMut(End) -> io::Result<bool>) -> Result<(), FileTrouble> {
        if identity_of(&metadata(&self.path, FileTrouble::LogGone)?) != self.identity {
            return Err(FileTrouble::LogReplaced);
        }
        if let Some(trouble) = self.lasting.get() {
            return Err(*trouble);
        }
        let found = self.found(reaches);
        if let Err(trouble @ (FileTrouble::IndexGone | FileTrouble::LogTruncated)) = found {
            return Err(*self.lasting.get_or_init(|| trouble));
        }
        found
    }

    fn found(&self, reaches: impl FnMut(End) -> io::Result<bool>) -> Result<(), FileTrouble> {
        if identity_of(&metadata(&self.index, FileTrouble::IndexGone)?) != self.index_identity {
            return Err(FileTrouble::IndexGone);
        }
        match self.is_whole(reaches) {
            Ok(true) => Ok(()),
            Ok(false) => Err(FileTrouble::LogTruncated),
            Err(error) => Err(FileTrouble::Hidden(error.kind())),
        }
    }

    /// Whether nothing is missing. An error means that the log could not be read, and says nothing about it.
    fn is_whole(&self, mut reaches: impl FnMut(End) -> io::Result<bool>) -> io::Result<bool> {
        let mut end = self.end()?;
        for _ in 0..TRIES {
            let Some(now) = end else { return Ok(true) };
            if reaches(now)? {
                return Ok(true);
            }
            // SQLite records that the log starts over before it overwrites the old frames, or cuts them off.
            end = self.end()?;
            if end == Some(now) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_long_enough(&self, end: End) -> io::Result<bool> {
        Ok(end.frames == 0 || self.opened.metadata()?.len() >= self.end_of(end.frames))
    }

    /// Whether the log reaches to `end`, without a hole in the frames that were written since `seen`.
    fn reaches(&self, end: End, seen: &mut Seen) -> io::Result<bool> {
        if end.frames == 0 {
            return Ok(true);
        }
        let length = self.opened.metadata()?.len();
        if length < self.end_of(end.frames) {
            return Ok(false);
        }
        if end == seen.end {
            return Ok(true);
        }
        let has_kept_its_length = length == seen.length && self.end_of(end.frames) < length;
        if !has_kept_its_length {
            // A cut before the last frame that was seen has removed that frame too.
            let known = if seen.end.salt == end.salt { seen.end.frames.saturating_sub(1) } else { 0 };
            if !self.has_frames(known, end)? {
                return Ok(false);
            }
        }
        *seen = Seen { end, length };
        Ok(true)
    }

    /// Where this many frames end in the file.
    const fn end_of(&self, frames: u64) -> u64 {
        LOG_HEADER + frames * self.frame as u64
    }

    /// Whether the frames after the first `known` ones, up to `end`, are as they were written.
    fn has_frames(&self, mut known: u64, end: End) -> io::Result<bool> {
        // The checksum of the frame before, or of the header before all frames.
        let before = match known.checked_sub(1) {
            Some(others) => self.end_of(others) + CHECKSUM_AT as u64,
            None => LOG_HEADER - CHECKSUM as u64,
        };
        let mut checksum = [0; CHECKSUM];
        if !self.read(&mut checksum, before)? {
            return Ok(false);
        }
        let mut checksum = checksum_in(&checksum);
        while known < end.frames {
            let count = usize::try_from(end.frames - known).map_or(IN_A_READ, |left| left.min(IN_A_READ));
            let mut frames = vec![0; self.frame * count];
            if !self.read(&mut frames, self.end_of(known))? {
                return Ok(false);
            }
            for frame in frames.chunks_exact(self.frame) {
                let (header, page) = frame.split_at(FRAME_HEADER);
                checksum = continued(continued(checksum, &header[..8]), page);
                if header[8..CHECKSUM_AT] != end.salt || checksum != checksum_in(&header[CHECKSUM_AT..]) {
                    return Ok(false);
                }
            }
            known += count as u64;
        }
        Ok(true)
    }

    /// Reads from the log; returns whether it is long enough.
    fn read(&self, into: &mut [u8], at: u64) -> io::Result<bool> {
        match self.opened.read_exact_at(into, at) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The end of the log; `None` while it is being written down. SQLite writes it twice, so that this shows.
    fn end(&self) -> io::Result<Option<End>> {
        let mut index = [0; 96];
        self.opened_index.read_exact_at(&mut index, 0)?;
        let (first, second) = index.split_at(48);
        let is_made = first[12] == 1;
        if first != second || !is_made {
            return Ok(None);
        }
        let mut salt = Salt::default();
        salt.copy_from_slice(&first[32..40]);
        let frames = u32::from_ne_bytes([first[16], first[17], first[18], first[19]]);
        Ok(Some(End { salt, frames: frames.into() }))
    }
}

/// A checksum, continued over pairs of numbers.
fn continued((mut one, mut other): Checksum, bytes: &[u8]) -> Checksum {
    let (pairs, _) = bytes.as_chunks();
    for &[a, b, c, d, e, f, g, h] in pairs {
        one = one.wrapping_add(u32::from_ne_bytes([a, b, c, d])).wrapping_add(other);
        other = other.wrapping_add(u32::from_ne_bytes([e, f, g, h])).wrapping_add(one);
    }
    (one, other)
}

/// Reads a checksum as it is stored.
fn checksum_in(bytes: &[u8]) -> Checksum {
    let big = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_be_bytes);
    (big(&bytes[..4]), big(&bytes[4..]))
}

#[cfg(test)]
mod tests;
