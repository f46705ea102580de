//! Configures where attachments are stored, and how long links to them are valid.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use quipu_kernel::Secret;

use crate::{
    reader::Reader,
    values::{self, Expected},
};

/// A place where files are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilesAt {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A bucket of S3.
    Bucket {
        /// Its name.
        bucket: String,
        /// The prefix of its keys, without a slash at its end; may be empty.
        prefix: String,
    },
}

/// The keys `attachments_url` and `attachments.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachments {
    /// Where files are kept.
    pub at: FilesAt,
    /// How long a link for sending a file is valid.
    pub upload_expires_in: Duration,
    /// How long a link for fetching a file is valid.
    pub download_expires_in: Duration,
    /// The highest rate of all uploads to a folder together.
    pub bytes_per_second: u64,
    /// The address of the server of a bucket, if it is not Amazon's own.
    pub endpoint: Option<String>,
    /// The region of a bucket.
    pub region: String,
    /// The identifier and the secret of the key to a bucket. `None` means those of the machine.
    pub credentials: Option<(String, Secret)>,
}

impl Attachments {
    pub(crate) fn read(from: &mut Reader, data_dir: &Path) -> Self {
        let in_data_dir = || FilesAt::Folder(data_dir.join("attachments"));
        let mut link = |key, usual| from.take(key, link_lifetime).unwrap_or(usual);
        let upload_expires_in = link("attachments.upload_expires_in", Duration::from_mins(10));
        let download_expires_in = link("attachments.download_expires_in", Duration::from_mins(5));
        let mebibytes = from.take("attachments.mebibytes_per_second", values::limit).unwrap_or(48);
        let id = from.take("attachments.s3.access_key_id", word);
        let secret = from.take("attachments.s3.secret_access_key", |text| word(text).map(Secret::new));
        let [of_id, of_secret] = ["attachments.s3.access_key_id", "attachments.s3.secret_access_key"];
        match (&id, &secret) {
            (Some(_), None) => from.problem(of_secret, format!("must be given together with {of_id}")),
            (None, Some(_)) => from.problem(of_id, format!("must be given together with {of_secret}")),
            _ => {}
        }
        Self {
            at: from.take("attachments_url", place).unwrap_or_else(in_data_dir),
            upload_expires_in,
            download_expires_in,
            bytes_per_second: u64::from(mebibytes) << 20,
            endpoint: from.take("attachments.s3.endpoint", values::web_url),
            region: from.take("attachments.s3.region", word).unwrap_or_else(|| "us-east-1".to_owned()),
            credentials: id.zip(secret),
        }
    }
}

fn word(text: &str) -> Result<String, Expected> {
    if text.is_empty() { Err("a text that is not empty") } else { Ok(text.to_owned()) }
}

/// The lifetime of a link. Unused files are deleted before a day is over, so no link for sending one may live
/// as long.
fn link_lifetime(text: &str) -> Result<Duration, Expected> {
    let day = Duration::from_hours(24);
    let fits = |lifetime: &Duration| *lifetime >= Duration::from_secs(1) && *lifetime < day;
    values::duration(text).ok().filter(fits).ok_or("a duration from 1s to less than 24h")
}

fn place(text: &str) -> Result<FilesAt, Expected> {
    const EXPECTED: Expected = "file://PATH or s3://BUCKET/PREFIX, whose prefix has no control characters and no empty part, . or ..";
    if let Some(path) = text.strip_prefix("file://").filter(|path| !path.is_empty()) {
        return Ok(FilesAt::Folder(path.into()));
    }
    let rest = text.strip_prefix("s3://").ok_or(EXPECTED)?;
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let prefix = prefix.trim_matches('/');
    let is_part =
        |part: &str| !["", ".", ".."].contains(&part) && !part.contains(|c: char| c.is_ascii_control());
    if bucket.is_empty() || !(prefix.is_empty() || prefix.split('/').all(is_part)) {
        return Err(EXPECTED);
    }
    Ok(FilesAt::Bucket { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_folder_or_a_bucket() {
        assert_eq!(place("file:///var/quipu"), Ok(FilesAt::Folder("/var/quipu".into())));
        let bucket = |prefix: &str| FilesAt::Bucket { bucket: "b".to_owned(), prefix: prefix.to_owned() };
        assert_eq!(place("s3://b"), Ok(bucket("")));
        assert_eq!(place("s3://b/a/c/"), Ok(bucket("a/c")));
        assert_eq!(place("s3://b/team~prod/ñ"), Ok(bucket("team~prod/ñ")));
        for text in
            ["", "file://", "s3://", "s3:///x", "/var/quipu", "https://b", "s3://b/a//c", "s3://b/a/../c"]
        {
            assert!(place(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_link_lives_a_second_at_least_and_less_than_a_day() {
        for text in ["1s", "10m", "23h"] {
            assert!(link_lifetime(text).is_ok(), "{text}");
        }
        for text in ["0s", "300ms", "24h", "7d", "soon"] {
            assert!(link_lifetime(text).is_err(), "{text}");
        }
    }
}
