//! Thumbnails, made by a child process.

use std::{path::PathBuf, process::Stdio, time::Duration};

use async_trait::async_trait;
use quipu_tickets::{ContentType, Thumbnails};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, Command},
    sync::Semaphore,
    time::timeout,
};

use crate::picture::CHILD_COMMAND;

/// How long a child may take, by the clock.
const PATIENCE: Duration = Duration::from_secs(20);
/// The most bytes of a thumbnail: 256 by 256 pixels of four bytes fit.
const MAX_SMALL: u64 = 512 * 1024;

/// Makes thumbnails in child processes, one at a time.
pub struct ChildThumbnails {
    program: PathBuf,
    one: Semaphore,
}

impl ChildThumbnails {
    /// By running `program`, which is this very program.
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
            .spawn()
    }
}

/// Gives the picture to the child and takes what it makes. Both at once, so that neither waits for the other.
async fn converse(child: &mut Child, picture: Vec<u8>) -> Option<(Vec<u8>, ContentType)> {
    let (mut stdin, stdout) = (child.stdin.take()?, child.stdout.take()?);
    let give = async move {
        // A child that does not want the rest closes its end; what it has made says why.
        let _ = stdin.write_all(&picture).await;
    };
    let mut made = Vec::new();
    let mut bounded = stdout.take(MAX_SMALL + 1);
    let (read, ()) = tokio::join!(bounded.read_to_end(&mut made), give);
    read.ok()?;
    drop(bounded);
    let status = child.wait().await.ok()?;
    let kind = match made.first()? {
        b'J' => ContentType::Jpeg,
        b'W' => ContentType::Webp,
        _ => return None,
    };
    let small = made.split_off(1);
    (status.success() && kind.begins(&small)).then_some((small, kind))
}

#[async_trait]
impl Thumbnails for ChildThumbnails {
    async fn shrink(&self, picture: Vec<u8>, kind: ContentType) -> Option<(Vec<u8>, ContentType)> {
        if !kind.is_image() {
            return None;
        }
        let _turn = self.one.acquire().await.ok()?;
        let mut child = match self.start(kind) {
            Ok(child) => child,
            Err(error) => {
                tracing::error!(%error, "the process that makes thumbnails did not start");
                return None;
            }
        };
        let made = timeout(PATIENCE, converse(&mut child, picture)).await.ok().flatten();
        // One that is still at it is stopped, and one that has ended is no concern.
        let _ = child.kill().await;
        made
    }
}
