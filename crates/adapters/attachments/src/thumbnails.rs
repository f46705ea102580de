//! Thumbnails, made by a child process.

use std::{os::unix::process::ExitStatusExt as _, path::PathBuf, process::Stdio, time::Duration};

use async_trait::async_trait;
use quipu_tickets::{ContentType, ThumbnailFailed, Thumbnails};
use rustix::process::Signal;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, Command},
    sync::Semaphore,
    time::timeout,
};

use crate::picture::{CHILD_COMMAND, UNCONFINED};

/// The most bytes of a thumbnail; 256 by 256 pixels of four bytes fit.
const MAX_SMALL: u64 = 512 * 1024;

/// The signals that end a child at its own limits, where the same picture would bring it again.
const AT_ITS_LIMITS: [Signal; 4] = [Signal::XCPU, Signal::ABORT, Signal::SEGV, Signal::BUS];

/// Makes thumbnails in child processes, one at a time.
pub struct ChildThumbnails {
    program: PathBuf,
    one: Semaphore,
}

impl ChildThumbnails {
    /// Runs `program`, which is the gateway's own program.
    pub fn new(program: PathBuf) -> Self {
        Self { program, one: Semaphore::new(1) }
    }

    fn start(&self, kind: ContentType) -> std::io::Result<Child> {
        Command::new(&self.program)
            .args([CHILD_COMMAND, kind.as_str()])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            // An interrupt from the terminal is for the gateway, which finishes what it has begun.
            .process_group(0)
            .spawn()
    }
}

/// Sends the picture to the child and reads its output, both at once, so that neither waits for the other.
async fn converse(child: &mut Child, picture: Vec<u8>) -> Result<Option<(Vec<u8>, ContentType)>, String> {
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("its process has no pipes".to_owned());
    };
    let give = async move {
        // A child that does not want the rest closes its end; its output says why.
        let _ = stdin.write_all(&picture).await;
    };
    let mut made = Vec::new();
    let mut bounded = stdout.take(MAX_SMALL + 1);
    let (read, ()) = tokio::join!(bounded.read_to_end(&mut made), give);
    read.map_err(|error| error.to_string())?;
    drop(bounded);
    let status = child.wait().await.map_err(|error| error.to_string())?;
    match status.code() {
        Some(0) => Ok(thumbnail(made)),
        Some(code) if code == i32::from(UNCONFINED) => Err("its process could not set its limits".to_owned()),
        Some(_) => Ok(None),
        None if AT_ITS_LIMITS.iter().any(|limit| status.signal() == Some(limit.as_raw())) => Ok(None),
        None => Err(format!("its process was stopped ({status})")),
    }
}

/// What the child wrote: a byte for the type, and the thumbnail.
fn thumbnail(mut made: Vec<u8>) -> Option<(Vec<u8>, ContentType)> {
    let kind = match made.first()? {
        b'J' => ContentType::Jpeg,
        b'W' => ContentType::Webp,
        _ => return None,
    };
    let small = made.split_off(1);
    kind.begins(&small).then_some((small, kind))
}

#[async_trait]
impl Thumbnails for ChildThumbnails {
    async fn shrink(
        &self,
        picture: Vec<u8>,
        kind: ContentType,
        patience: Duration,
    ) -> Result<Option<(Vec<u8>, ContentType)>, ThumbnailFailed> {
        if !kind.is_image() {
            return Ok(None);
        }
        let Ok(_turn) = self.one.acquire().await else { return Ok(None) };
        let started = self.start(kind);
        let mut child =
            started.map_err(|error| ThumbnailFailed(format!("its process did not start: {error}")))?;
        let made = timeout(patience, converse(&mut child, picture)).await;
        // A child that is still running is stopped; an error means that it has ended.
        let _ = child.kill().await;
        made.unwrap_or_else(|_| Err("its process took too long".to_owned())).map_err(ThumbnailFailed)
    }
}
