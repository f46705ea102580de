//! The identity of a file in the file system.

use std::{io, os::unix::fs::MetadataExt as _, path::Path};

use crate::error::file_trouble::FileTrouble;

/// The device and inode numbers of a file, which no other file has while this one exists.
pub(crate) type Identity = (u64, u64);

/// The identity of a file.
pub(crate) fn identity_of(found: &std::fs::Metadata) -> Identity {
    (found.dev(), found.ino())
}

/// The metadata of the file at `path`; the error `gone` if there is none.
pub(crate) fn metadata(path: &Path, gone: FileTrouble) -> Result<std::fs::Metadata, FileTrouble> {
    std::fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => gone,
        kind => FileTrouble::Hidden(kind),
    })
}
