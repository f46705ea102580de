//! What tells one file of the system from another.

use std::{io, os::unix::fs::MetadataExt as _, path::Path};

use crate::file_trouble::FileTrouble;

/// What no other file has while this one is there.
pub(crate) type Identity = (u64, u64);

/// That of a file.
pub(crate) fn identity_of(found: &std::fs::Metadata) -> Identity {
    (found.dev(), found.ino())
}

/// Of the file at `path`; `gone` if there is none.
pub(crate) fn metadata(path: &Path, gone: FileTrouble) -> Result<std::fs::Metadata, FileTrouble> {
    std::fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => gone,
        kind => FileTrouble::Hidden(kind),
    })
}
