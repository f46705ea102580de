//! Folders that vanish with the test.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

static MADE: AtomicU32 = AtomicU32::new(0);

/// A name no other test of this machine has, for a folder or a database.
pub(crate) fn unique_name(prefix: &str) -> String {
    format!("{prefix}_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed))
}

/// An empty folder, removed when dropped.
#[derive(Debug)]
pub struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// Makes one in the system's folder for temporary files.
    pub fn new() -> Self {
        let path = std::env::temp_dir().join(unique_name("quipu_test"));
        std::fs::create_dir_all(&path).expect("a scratch folder can be made");
        Self(path)
    }

    /// Where it is.
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
        // A folder that stays behind is litter, not a failure of what was tested.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
