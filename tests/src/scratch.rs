//! Folders that are removed with the test.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

static MADE: AtomicU32 = AtomicU32::new(0);

/// A name that no other test of this machine has, for a folder or a database.
pub(crate) fn unique_name(prefix: &str) -> String {
    format!("{prefix}_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed))
}

/// An empty folder, removed when dropped.
#[derive(Debug)]
pub struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// Creates one in the system's folder for temporary files.
    pub fn new() -> Self {
        let path = std::env::temp_dir().join(unique_name("quipu_test"));
        std::fs::create_dir_all(&path).expect("a scratch folder can be made");
        Self(path)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Default for ScratchFolder {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // A folder that cannot be removed does not fail the test.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
