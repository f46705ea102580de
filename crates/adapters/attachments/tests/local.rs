//! Files in a folder.

mod samples;

use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use quipu_attachments::LocalFiles;
use quipu_tickets::{Arrival, ContentType, FileRefused, FileStore, MAX_FILE_BYTES, Upload};
use samples::{PNG, bytes, entropy, unique, upload};

/// A store in a folder that vanishes with the test.
struct Shelf {
    root: PathBuf,
    store: LocalFiles,
}

impl Shelf {
    fn new() -> Self {
        let root = std::env::temp_dir().join(format!("quipu_files_{}", unique()));
        let store = LocalFiles::open(root.clone(), entropy(), 1 << 30).expect("a folder");
        Self { root, store }
    }

    async fn send(&self, upload: &Upload, pieces: &[&[u8]]) -> Result<Arrival, FileRefused> {
        let mut incoming = self.store.receive(upload).await?;
        for piece in pieces {
            incoming.write(piece).await?;
        }
        incoming.finish().await
    }

    /// The paths of all files, without the root.
    fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        walk(&self.root, &mut |path| {
            found.push(path.strip_prefix(&self.root).expect("inside").display().to_string());
        });
        found
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn walk(folder: &Path, each: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { walk(&path, each) } else { each(&path) }
    }
}

#[tokio::test]
async fn what_is_sent_is_read_again_and_has_no_name_of_the_clients() {
    let shelf = Shelf::new();
    let upload = upload(ContentType::Png);
    let big = vec![7; 300_000];
    let arrival = shelf.send(&upload, &[&PNG[..5], &PNG[5..], &big]).await.expect("taken");
    assert_eq!(arrival.size, (PNG.len() + big.len()) as u64);
    let read = bytes(&shelf.store, &arrival.object).await.expect("there");
    assert_eq!(read, [PNG, &big].concat());
    let files = shelf.files();
    assert_eq!(files.len(), 1);
    assert!(!files[0].contains("passwd") && files[0].contains(upload.id.as_str()), "{files:?}");
    let mode = fs::metadata(shelf.root.join(&files[0])).expect("there").permissions().mode();
    assert_eq!(mode & 0o077, 0, "its owner's alone");
    let completed =
        shelf.store.complete(&[Upload { arrival: Some(arrival.clone()), ..upload.clone() }]).await;
    assert_eq!(completed, [Ok(arrival)]);
    assert_eq!(shelf.store.complete(&[upload]).await, [Err(FileRefused::NotArrived)]);
}

#[tokio::test]
async fn what_breaks_a_rule_or_ends_early_leaves_nothing() {
    let shelf = Shelf::new();
    let upload = upload(ContentType::Png);
    let dressed: &[u8] = b"<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\">              .";
    assert_eq!(shelf.send(&upload, &[dressed]).await, Err(FileRefused::WrongType));
    assert_eq!(shelf.send(&upload, &[]).await, Err(FileRefused::WrongType));
    let most = vec![0; usize::try_from(MAX_FILE_BYTES).expect("fits") - PNG.len()];
    assert_eq!(shelf.send(&upload, &[PNG, &most, &[0]]).await, Err(FileRefused::TooLarge));
    assert!(shelf.files().is_empty());
    assert!(shelf.send(&upload, &[PNG, &most]).await.is_ok(), "the last byte that fits");
    shelf.store.sweep(&upload, None).await.expect("swept");

    let mut half = shelf.store.receive(&upload).await.expect("begun");
    half.write(PNG).await.expect("taken");
    assert_eq!(shelf.files().len(), 1, "on its way");
    drop(half);
    assert!(shelf.files().is_empty());
}

/// A process that is killed removes nothing. What it left goes when its upload is over, and takes no other along.
#[tokio::test]
async fn a_sweep_removes_what_was_half_sent_when_the_process_died() {
    let shelf = Shelf::new();
    let (mine, other) = (upload(ContentType::Png), upload(ContentType::Png));
    for upload in [&mine, &other] {
        let mut half = shelf.store.receive(upload).await.expect("begun");
        half.write(PNG).await.expect("taken");
        std::mem::forget(half);
    }
    // The next process opens the same folder.
    let store = LocalFiles::open(shelf.root.clone(), entropy(), 1 << 30).expect("a folder");
    assert_eq!(shelf.files().len(), 2, "it may be another node's, and still be arriving");
    store.sweep(&mine, None).await.expect("swept");
    let left = shelf.files();
    assert!(left.len() == 1 && left[0].contains(other.id.as_str()), "{left:?}");
    store.sweep(&other, None).await.expect("swept");
    assert!(shelf.files().is_empty());
}

#[tokio::test]
async fn a_folder_that_is_gone_is_a_failure_and_not_a_file_that_never_was() {
    let shelf = Shelf::new();
    let upload = upload(ContentType::Png);
    let kept = shelf.send(&upload, &[PNG]).await.expect("taken").object;
    let away = shelf.root.with_extension("away");
    std::fs::rename(&shelf.root, &away).expect("moved");
    assert!(matches!(bytes(&shelf.store, &kept).await, Err(FileRefused::Failed(_))));
    assert!(matches!(shelf.send(&upload, &[PNG]).await, Err(FileRefused::Failed(_))));
    std::fs::rename(&away, &shelf.root).expect("moved back");
    assert!(bytes(&shelf.store, &kept).await.is_ok());
}

#[tokio::test]
async fn a_sweep_leaves_the_kept_object_and_its_small_picture() {
    let shelf = Shelf::new();
    let (mine, other) = (upload(ContentType::Png), upload(ContentType::Png));
    let kept = shelf.send(&mine, &[PNG]).await.expect("taken").object;
    let twice = shelf.send(&mine, &[PNG]).await.expect("taken").object;
    let others = shelf.send(&other, &[PNG]).await.expect("taken").object;
    let small = shelf.store.keep_beside(&kept, vec![1, 2, 3]).await.expect("kept");
    shelf.store.sweep(&mine, Some(&kept)).await.expect("swept");
    assert_eq!(bytes(&shelf.store, &twice).await, Err(FileRefused::NotArrived));
    assert_eq!(bytes(&shelf.store, &small).await, Ok(vec![1, 2, 3]));
    assert!(bytes(&shelf.store, &kept).await.is_ok() && bytes(&shelf.store, &others).await.is_ok());
    shelf.store.sweep(&mine, None).await.expect("swept");
    shelf.store.sweep(&mine, None).await.expect("a second time is no failure");
    shelf.store.delete(&others).await.expect("deleted");
    shelf.store.delete(&others).await.expect("a second time is no failure");
    assert!(shelf.files().is_empty());
}

#[tokio::test]
async fn a_sweep_spares_a_small_picture_in_the_making_unless_a_crash_left_it() {
    let shelf = Shelf::new();
    let upload = upload(ContentType::Png);
    let kept = shelf.send(&upload, &[PNG]).await.expect("taken").object;
    let draft = shelf.root.join(format!("{}.thumb.0123456789abcdef", shelf.files()[0]));
    fs::write(&draft, b"half a pic").expect("written");
    shelf.store.sweep(&upload, Some(&kept)).await.expect("swept");
    assert_eq!(shelf.files().len(), 2, "somebody is writing it");
    let written = fs::metadata(&draft).and_then(|file| file.modified()).expect("there");
    let aged = |file: File| file.set_modified(written - Duration::from_hours(1));
    File::options().write(true).open(&draft).and_then(aged).expect("aged");
    shelf.store.sweep(&upload, Some(&kept)).await.expect("swept");
    assert_eq!(shelf.files().len(), 1);
    fs::write(&draft, b"half a pic").expect("written");
    shelf.store.sweep(&upload, None).await.expect("swept");
    assert!(shelf.files().is_empty(), "nothing is kept");
}

#[tokio::test]
async fn only_names_of_its_own_making_are_opened() {
    let shelf = Shelf::new();
    let upload = upload(ContentType::Png);
    let (id, kept) = (&upload.id, shelf.send(&upload, &[PNG]).await.expect("taken").object);
    let folder = shelf.root.join(shelf.files().remove(0)).parent().expect("its folder").to_owned();
    let victim = shelf.root.join("kept/victim");
    for place in [victim.clone(), folder.join(".victim"), folder.join("VICTIM")] {
        fs::write(place, b"nobody's business").expect("written");
    }
    let refused = Err(FileRefused::Failed("not an object's name".to_owned()));
    for name in [
        "",
        "a",
        "../victim",
        victim.to_str().expect("UTF-8"),
        &format!("{id}/../../victim"),
        &format!("{id}/{}", victim.display()),
        &format!("{id}/.victim"),
        &format!("{id}/VICTIM"),
        &format!("{id}/.."),
        &format!("{id}/."),
        &format!("{id}/"),
        &format!("{kept}/"),
        &format!("/{kept}"),
    ] {
        assert_eq!(bytes(&shelf.store, name).await, refused, "{name}");
    }
    assert!(bytes(&shelf.store, &kept).await.is_ok());
}

#[tokio::test]
async fn it_is_ready_while_its_folder_can_be_written() {
    let shelf = Shelf::new();
    assert_eq!(shelf.store.ready().await, Ok(()));
    assert!(shelf.files().is_empty());
    fs::remove_dir_all(&shelf.root).expect("removed");
    assert!(shelf.store.ready().await.is_err());
}
