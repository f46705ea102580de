//! Files in a bucket of S3, or of a server with the same protocol.
//!
//! `staging/` has the files that merchants send, under the key of the upload; `kept/<upload>/<random>` has
//! the objects. A staging key can be written for as long as its URL is valid, so it is read only to be
//! checked and copied.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use object_store::{
    Attribute, ClientOptions, Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutPayload,
    RetryConfig,
    aws::{AmazonS3, AmazonS3Builder},
    path::Path,
    signer::{HeaderName, HeaderValue, Method, SignedUrlOptions, Signer},
};
use quipu_kernel::{Entropy, Secret, Timestamp, base32};
use quipu_tickets::{
    Arrival, ContentType, FileRefused, FileStore, Incoming, MAX_FILE_BYTES, Outgoing, Upload,
};
use tokio::time::Instant;

use crate::local::BESIDE;

/// The longest time of one request to the bucket, and of connecting to it.
const REQUEST: Duration = Duration::from_secs(30);
const CONNECT: Duration = Duration::from_secs(3);
/// The longest time of all requests together that a caller waits for before any byte is sent, for all its files.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest time of all requests together that delete an object, or what is stored for an upload.
const DELETION: Duration = Duration::from_secs(5);
/// How many files of a caller are completed at once.
const AT_ONCE: usize = 4;
/// How many bytes of an object one request fetches. The client may be slow: the bucket must not wait for it, and the
/// piece is in memory until the client has taken it.
const PIECE: u64 = 128 * 1024;
/// A key that no object has.
const PROBE: &str = "kept/ready";

/// A bucket and its credentials.
#[derive(Debug, Clone)]
pub struct S3Settings {
    /// The name of the bucket.
    pub bucket: String,
    /// The prefix of every key, as the bucket's own rules name it; may be empty, and neither it nor a part of it
    /// between two `/` is `.` or `..`.
    pub prefix: String,
    /// The address of the server, if it is not Amazon's own.
    pub endpoint: Option<String>,
    /// The name of the region.
    pub region: String,
    /// The key's identifier and secret. Without them Amazon's usual places for credentials are searched.
    pub credentials: Option<(String, Secret)>,
}

/// Keeps files in a bucket.
pub struct S3Files {
    store: AmazonS3,
    prefix: Path,
    entropy: Arc<dyn Entropy>,
}

impl S3Files {
    /// Prepares the bucket of `settings` without sending a request.
    pub fn connect(settings: &S3Settings, entropy: Arc<dyn Entropy>) -> Result<Self, FileRefused> {
        // The provider may have been installed before; this program has only one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A session token of the environment belongs only to the environment's credentials.
        let builder = match &settings.credentials {
            Some((id, secret)) => {
                AmazonS3Builder::new().with_access_key_id(id).with_secret_access_key(secret.expose())
            }
            None => AmazonS3Builder::from_env(),
        };
        let mut builder = builder
            .with_bucket_name(&settings.bucket)
            .with_region(&settings.region)
            .with_client_options(ClientOptions::new().with_timeout(REQUEST).with_connect_timeout(CONNECT))
            .with_retry(RetryConfig { max_retries: 2, retry_timeout: REQUEST, ..RetryConfig::default() });
        if let Some(endpoint) = &settings.endpoint {
            builder = builder.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http://"));
        }
        let store = builder.build().map_err(|error| failed(&error))?;
        // Taken as it is, because rules and permissions of the bucket name it so.
        let prefix = Path::parse(&settings.prefix).map_err(|error| failed(&error.into()))?;
        Ok(Self { store, prefix, entropy })
    }

    fn key(&self, rest: &str) -> Path {
        self.prefix.parts().chain(Path::from(rest).parts()).collect()
    }

    fn staged(&self, upload: &Upload) -> Path {
        self.key(&format!("staging/{}", upload.key()))
    }

    fn kept(&self, object: &str) -> Path {
        self.key(&format!("kept/{object}"))
    }

    /// Checks an object by its size and its first bytes; returns its size in bytes and the type it was sent
    /// as.
    async fn judge(&self, at: &Path, kind: ContentType) -> Result<(u64, Option<String>), FileRefused> {
        let head = GetRange::Bounded(0..ContentType::HEAD_BYTES as u64);
        let found = self.store.get_opts(at, GetOptions { range: Some(head), ..GetOptions::default() }).await;
        let found = match found {
            // An empty object has no byte range.
            Err(Error::Generic { .. }) if self.is_empty(at).await? => return Err(FileRefused::WrongType),
            Err(error) => return Err(self.refused(&error).await),
            Ok(found) => found,
        };
        let size = found.meta.size;
        if size > MAX_FILE_BYTES {
            return Err(FileRefused::TooLarge);
        }
        let sent_as = found.attributes.get(&Attribute::ContentType).map(|value| value.as_ref().to_owned());
        let head = found.bytes().await.map_err(|error| failed(&error))?;
        if kind.begins(&head) { Ok((size, sent_as)) } else { Err(FileRefused::WrongType) }
    }

    async fn is_empty(&self, at: &Path) -> Result<bool, FileRefused> {
        Ok(self.size(at).await? == 0)
    }

    /// The size of an object in bytes.
    async fn size(&self, at: &Path) -> Result<u64, FileRefused> {
        match self.store.head(at).await {
            Ok(meta) => Ok(meta.size),
            Err(error) => Err(self.refused(&error).await),
        }
    }

    /// The refusal that follows from an error. Where the bucket is missing, every file seems never to have
    /// arrived; so that is believed only of a bucket that can be listed.
    async fn refused(&self, error: &Error) -> FileRefused {
        if !matches!(error, Error::NotFound { .. }) {
            return failed(error);
        }
        self.list_probe().await.map_or_else(|error| failed(&error), |()| FileRefused::NotArrived)
    }

    /// Lists what is under one key, which says whether the bucket is there.
    async fn list_probe(&self) -> object_store::Result<()> {
        self.store.list(Some(&self.key(PROBE))).next().await.transpose().map(drop)
    }

    async fn delete_at(&self, at: &Path) -> Result<(), FileRefused> {
        match self.store.delete(at).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Deletes everything of an upload but an object and what is beside it.
    async fn sweep_all(&self, upload: &Upload, kept: Option<&str>) -> Result<(), FileRefused> {
        self.delete_at(&self.staged(upload)).await?;
        let stays = kept.map(|object| (self.kept(object), self.kept(&format!("{object}{BESIDE}"))));
        let folder = self.kept(upload.id.as_str());
        let objects: Vec<_> =
            self.store.list(Some(&folder)).try_collect().await.map_err(|error| failed(&error))?;
        for object in objects {
            let stays = stays
                .as_ref()
                .is_some_and(|(kept, beside)| object.location == *kept || object.location == *beside);
            if !stays {
                self.delete_at(&object.location).await?;
            }
        }
        Ok(())
    }

    /// Completes one file. A staged file that breaks a rule is deleted.
    async fn complete_one(&self, upload: &Upload) -> Result<Arrival, FileRefused> {
        let staged = self.staged(upload);
        let completed = self.copy_judged(upload, &staged).await;
        if matches!(completed, Err(FileRefused::TooLarge | FileRefused::WrongType)) {
            self.delete_at(&staged).await?;
        }
        completed
    }

    /// Checks the staged file, copies it to a key that nobody else can write, and checks the copy, which is
    /// what counts.
    async fn copy_judged(&self, upload: &Upload, staged: &Path) -> Result<Arrival, FileRefused> {
        let (_, sent_as) = self.judge(staged, upload.content_type).await?;
        if sent_as.as_deref().and_then(ContentType::of_header) != Some(upload.content_type) {
            return Err(FileRefused::WrongType);
        }
        let object = format!("{}/{}", upload.id, base32(self.entropy.as_ref(), 16));
        let kept = self.kept(&object);
        if let Err(error) = self.store.copy(staged, &kept).await {
            return Err(self.refused(&error).await);
        }
        match self.judge(&kept, upload.content_type).await {
            Ok((size, _)) => Ok(Arrival { object, size }),
            Err(refusal) => {
                self.delete_at(&kept).await?;
                Err(refusal)
            }
        }
    }
}

fn failed(error: &Error) -> FileRefused {
    FileRefused::Failed(error.to_string())
}

async fn within<T>(
    patience: Duration,
    work: impl Future<Output = Result<T, FileRefused>>,
) -> Result<T, FileRefused> {
    until_then(Instant::now() + patience, work).await
}

/// Gives up at this time. What has not begun by then does not begin.
async fn until_then<T>(
    until: Instant,
    work: impl Future<Output = Result<T, FileRefused>>,
) -> Result<T, FileRefused> {
    let late = || FileRefused::Failed("the bucket did not answer in time".to_owned());
    if Instant::now() >= until {
        return Err(late());
    }
    tokio::time::timeout_at(until, work).await.unwrap_or_else(|_| Err(late()))
}

struct S3Outgoing {
    size: u64,
    pieces: BoxStream<'static, object_store::Result<Vec<u8>>>,
}

#[async_trait]
impl Outgoing for S3Outgoing {
    fn size(&self) -> u64 {
        self.size
    }

    async fn read(&mut self) -> Result<Option<Vec<u8>>, FileRefused> {
        self.pieces.next().await.transpose().map_err(|error| failed(&error))
    }
}

#[async_trait]
impl FileStore for S3Files {
    async fn upload_url(&self, upload: &Upload, now: Timestamp) -> Result<Option<String>, FileRefused> {
        let kind = HeaderValue::from_static(upload.content_type.as_str());
        let options =
            SignedUrlOptions::new().with_signed_header(HeaderName::from_static("content-type"), kind);
        let lifetime = upload.expires_at.since(now);
        let url = self.store.signed_url_opts(Method::PUT, &self.staged(upload), lifetime, &options).await;
        url.map(|url| Some(url.to_string())).map_err(|error| failed(&error))
    }

    async fn receive(&self, _upload: &Upload) -> Result<Box<dyn Incoming>, FileRefused> {
        Err(FileRefused::NotArrived)
    }

    async fn complete(&self, uploads: &[Upload]) -> Vec<Result<Arrival, FileRefused>> {
        let until = Instant::now() + PATIENCE;
        let mut completed = Vec::with_capacity(uploads.len());
        for upload in uploads {
            completed.push(until_then(until, self.complete_one(upload)));
        }
        stream::iter(completed).buffered(AT_ONCE).collect().await
    }

    async fn open(&self, object: &str) -> Result<Box<dyn Outgoing>, FileRefused> {
        let (at, store) = (self.kept(object), self.store.clone());
        let size = within(PATIENCE, self.size(&at)).await?;
        let pieces = stream::try_unfold(0, move |from| {
            let (at, store) = (at.clone(), store.clone());
            async move {
                let until = size.min(from + PIECE);
                if from == until {
                    return Ok(None);
                }
                let piece = store.get_range(&at, from..until).await?;
                Ok(Some((Vec::from(piece), until)))
            }
        });
        let pieces = pieces.boxed();
        Ok(Box::new(S3Outgoing { size, pieces }))
    }

    async fn keep_beside(&self, object: &str, bytes: Vec<u8>) -> Result<String, FileRefused> {
        let name = format!("{object}{BESIDE}");
        let put = self.store.put(&self.kept(&name), PutPayload::from(bytes)).await;
        put.map(|_| name).map_err(|error| failed(&error))
    }

    async fn delete(&self, object: &str) -> Result<(), FileRefused> {
        within(DELETION, self.delete_at(&self.kept(object))).await
    }

    async fn sweep(&self, upload: &Upload, kept: Option<&str>) -> Result<(), FileRefused> {
        within(DELETION, self.sweep_all(upload, kept)).await
    }

    async fn ready(&self) -> Result<(), &'static str> {
        if self.list_probe().await.is_ok() {
            return Ok(());
        }
        // The library does not say why a list failed, but it says why an object cannot be read.
        Err(match self.store.head(&self.key(PROBE)).await {
            Err(Error::Unauthenticated { .. } | Error::PermissionDenied { .. }) => {
                "the server of the bucket refuses the credentials"
            }
            Err(Error::NotFound { .. }) | Ok(_) => "there is no such bucket, or it may not be listed",
            Err(_) => "the bucket cannot be read",
        })
    }
}
