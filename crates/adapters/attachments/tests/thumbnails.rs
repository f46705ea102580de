//! Thumbnails made by a child process, which is this program again.

use std::{
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use image::{DynamicImage, Frame, ImageFormat, RgbaImage, codecs::gif::GifEncoder};
use quipu_attachments::{CHILD_COMMAND, ChildThumbnails, confine, run_child};
use quipu_tickets::{ContentType, THUMBNAIL_TIME, Thumbnails};

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().collect();
    if let [_, command, kind] = &words[..]
        && command == CHILD_COMMAND
    {
        return run_child(kind);
    }
    if let [_, deed] = &words[..] {
        return confined(deed);
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let program = std::env::current_exe().expect("this program");
    runtime.block_on(scenarios(&ChildThumbnails::new(program)));
    println!("thumbnails: every scenario holds");
    ExitCode::SUCCESS
}

/// What a child does when a picture has got hold of it, once its limits are set. The exit status tells that they do not
/// hold.
fn confined(deed: &str) -> ExitCode {
    const UNCONFINED: u8 = 3;
    confine().expect("limits");
    match deed {
        "limits" => println!("{}", std::fs::read_to_string("/proc/self/limits").expect("its own limits")),
        "greedy" => {
            let held: Vec<_> =
                (0..16).map(|_| std::hint::black_box(Vec::<u8>::with_capacity(1 << 26))).collect();
            return ExitCode::from(UNCONFINED + u8::from(held.is_empty()));
        }
        "busy" => loop {
            std::hint::black_box(deed);
        },
        _ => return ExitCode::FAILURE,
    }
    ExitCode::SUCCESS
}

async fn scenarios(thumbnails: &ChildThumbnails) {
    let made =
        async |picture, kind| thumbnails.shrink(picture, kind, THUMBNAIL_TIME).await.expect("an answer");
    let (small, kind) = made(png(4000, 3000), ContentType::Png).await.expect("12 megapixels");
    let small = image::load_from_memory(&small).expect("a picture");
    assert_eq!((kind, small.width(), small.height()), (ContentType::Jpeg, 256, 192));

    for (what, hostile, kind) in [
        ("a header that announces 4 gigapixels", announced_png(65_535, 65_535), ContentType::Png),
        ("one pixel row above 40 megapixels", announced_png(40_000_001, 1), ContentType::Png),
        ("a JPEG of 65,535 by 65,535", announced_jpeg(65_535, 65_535), ContentType::Jpeg),
        ("what is no picture", b"\x89PNG\r\n\x1a\nno".to_vec(), ContentType::Png),
        ("a PDF", b"%PDF-1.7".to_vec(), ContentType::Pdf),
        ("nothing", Vec::new(), ContentType::Gif),
    ] {
        assert!(made(hostile, kind).await.is_none(), "{what}");
    }

    let begun = Instant::now();
    let (_, kind) = made(moving_gif(10_000), ContentType::Gif).await.expect("its first frame");
    assert_eq!(kind, ContentType::Jpeg);
    println!("the first of 10,000 frames took {:?}", begun.elapsed());

    // A picture at the bound is made, within the child's memory.
    assert!(made(png(40_000, 1000), ContentType::Png).await.is_some(), "40 megapixels");

    let folder = tempfile::tempdir().expect("a folder");
    let script = |name: &str, lines: &str| {
        let program = folder.path().join(name);
        std::fs::write(&program, format!("#!/bin/sh\n{lines}\n")).expect("a script");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, executable).expect("its mode");
        program
    };
    let ended_by = |signal: &str| script(signal, &format!("kill -{signal} $$"));
    // A child that ends at its own limits would do so again.
    for signal in ["XCPU", "ABRT", "SEGV"] {
        let made =
            ChildThumbnails::new(ended_by(signal)).shrink(png(1, 1), ContentType::Png, THUMBNAIL_TIME).await;
        assert!(made.expect("an answer").is_none(), "{signal}");
    }

    // What else happens to the child says nothing of the picture.
    let (stopped, unconfined) = (ended_by("KILL"), script("unconfined", "exit 3"));
    for (program, words) in [
        ("/no/such/program".into(), "did not start"),
        (stopped, "was stopped"),
        (unconfined, "could not set its limits"),
    ] {
        let failed = ChildThumbnails::new(program).shrink(png(1, 1), ContentType::Png, THUMBNAIL_TIME).await;
        let failed = failed.expect_err(words).to_string();
        assert!(failed.contains(words), "{failed}");
    }

    a_child_that_goes_wild_is_stopped(&script).await;

    // Where the limits are narrower already, and the process may not raise them.
    let this = std::env::current_exe().expect("this program");
    let unprivileged = "[ $(id -u) != 0 ] || drop='setpriv --bounding-set -sys_resource'";
    for (name, narrow) in [("core", "ulimit -c 0"), ("memory", "ulimit -v 500000"), ("time", "ulimit -t 5")] {
        let lines = format!("{narrow}\n{unprivileged}\nexec $drop '{}' \"$@\"", this.display());
        let made = ChildThumbnails::new(script(name, &lines))
            .shrink(png(300, 300), ContentType::Png, THUMBNAIL_TIME)
            .await;
        assert!(made.expect("an answer").is_some(), "{narrow}");
    }
}

/// By its memory, by its processor time, and by the time of its parent.
async fn a_child_that_goes_wild_is_stopped(script: &impl Fn(&str, &str) -> std::path::PathBuf) {
    let this = std::env::current_exe().expect("this program");
    let limits = Command::new(&this).arg("limits").output().expect("it runs");
    let limits = String::from_utf8(limits.stdout).expect("UTF-8");
    let limit = |name: &str| -> u64 {
        let line = limits.lines().find_map(|line| line.strip_prefix(name)).expect("a limit");
        line.split_whitespace().next().expect("a soft limit").parse().expect("a number")
    };
    assert_eq!((limit("Max address space"), limit("Max cpu time")), (768 << 20, 10), "{limits}");
    // Of the processor's time a second is left, so that nobody has to wait for ten.
    for (deed, narrow) in [("greedy", "true"), ("busy", "ulimit -t 2")] {
        let child = script(deed, &format!("{narrow}\nexec '{}' {deed}", this.display()));
        let made = ChildThumbnails::new(child).shrink(png(1, 1), ContentType::Png, THUMBNAIL_TIME).await;
        assert!(made.expect("it ended at its limits").is_none(), "{deed}");
    }
    let (begun, noted) = (Instant::now(), this.with_file_name(format!("sleeper-{}", std::process::id())));
    let sleeper = script("sleeper", &format!("echo $$ >'{}'\nexec sleep 600", noted.display()));
    let patience = Duration::from_secs(1);
    let failed = ChildThumbnails::new(sleeper).shrink(png(1, 1), ContentType::Png, patience).await;
    let failed = failed.expect_err("it sleeps").to_string();
    assert!(failed.contains("took too long"), "{failed}");
    assert!(begun.elapsed() < Duration::from_mins(5), "it was not waited for");
    // On a busy machine it may not have come so far.
    if let Ok(process) = std::fs::read_to_string(&noted) {
        std::fs::remove_file(&noted).expect("removed");
        assert!(!std::path::Path::new("/proc").join(process.trim()).exists(), "it is gone");
    }
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    let image = DynamicImage::new_rgb8(width, height);
    image.write_to(&mut bytes, ImageFormat::Png).expect("encoded");
    bytes.into_inner()
}

/// A PNG whose header announces more than its few bytes hold.
fn announced_png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = png(1, 1);
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    let checksum = crc32(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// CRC-32 as PNG has it (ISO 3309).
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    })
}

fn announced_jpeg(width: u16, height: u16) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    DynamicImage::new_rgb8(16, 16).write_to(&mut bytes, ImageFormat::Jpeg).expect("encoded");
    let mut bytes = bytes.into_inner();
    let frame = bytes.windows(2).position(|mark| mark == b"\xff\xc0").expect("a frame header");
    bytes[frame + 5..frame + 7].copy_from_slice(&height.to_be_bytes());
    bytes[frame + 7..frame + 9].copy_from_slice(&width.to_be_bytes());
    bytes
}

fn moving_gif(frames: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = GifEncoder::new_with_speed(&mut bytes, 30);
    let frame = RgbaImage::from_pixel(8, 8, image::Rgba([1, 2, 3, 255]));
    encoder.encode_frames((0..frames).map(|_| Frame::new(frame.clone()))).expect("encoded");
    drop(encoder);
    bytes
}
