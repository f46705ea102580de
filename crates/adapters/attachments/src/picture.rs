//! Making one thumbnail: everything that the child process does.

use std::{
    io::{Cursor, Read, Write},
    process::ExitCode,
};

use image::{
    DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageError, ImageFormat, ImageReader,
    Limits,
    codecs::{jpeg::JpegEncoder, webp::WebPEncoder},
};
use quipu_tickets::{ContentType, MAX_FILE_BYTES};
use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};

/// The hidden command that makes the gateway's program this process; a content type follows it.
pub const CHILD_COMMAND: &str = "make-thumbnail";

/// The most pixels that are decoded.
const MAX_PIXELS: u64 = 40_000_000;
/// The longest side of a thumbnail.
const SIDE: u32 = 256;
const JPEG_QUALITY: u8 = 82;
/// The most memory of the process, in bytes. 40 megapixels of four 16-bit channels are 320 MB.
const MEMORY: u64 = 768 * 1024 * 1024;
/// The most processor time, in seconds.
const PROCESSOR_SECONDS: u64 = 10;
/// The exit status of a process that could not set its limits. It says nothing of the picture.
pub(crate) const UNCONFINED: u8 = 3;

/// By how much the process gives way to others on a busy machine: about a quarter of an equal share is left to it, so that it
/// ends in time all the same.
const BEHIND_PAYMENTS: i32 = 5;

/// Reads a picture from standard input and writes the thumbnail to standard output: one byte for its type,
/// `J` or `W`, and then the picture. On any error it exits with a failure and writes nothing.
pub fn run_child(content_type: &str) -> ExitCode {
    let Ok(kind) = content_type.parse::<ContentType>() else { return ExitCode::FAILURE };
    // Where memory ends, this process is to end and not the gateway. If that cannot be set, the system chooses.
    let _set = std::fs::write("/proc/self/oom_score_adj", "1000");
    if confine().is_err() {
        return ExitCode::from(UNCONFINED);
    }
    // If it cannot be set, a picture only takes more time from payments.
    let _set = nice(BEHIND_PAYMENTS);
    let mut picture = Vec::new();
    let read = std::io::stdin().take(MAX_FILE_BYTES + 1).read_to_end(&mut picture).is_ok();
    let done = read && shrink(&picture, kind).is_some_and(|small| write(&small).is_some());
    if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// From here on this process can neither exceed its memory and time nor write files, and dumps no core.
///
/// # Errors
///
/// What the system says if it does not take a limit.
pub fn confine() -> std::io::Result<()> {
    let limits = [
        (Resource::As, MEMORY),
        (Resource::Cpu, PROCESSOR_SECONDS),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
    ];
    for (resource, most) in limits {
        setrlimit(resource, limit(most, getrlimit(resource).maximum))?;
    }
    Ok(())
}

/// The limit to set where `allowed` is the most that the process may set: raising that takes a privilege.
fn limit(most: u64, allowed: Option<u64>) -> Rlimit {
    // One more, so that the end of the processor time has a signal of its own.
    let maximum = allowed.unwrap_or(u64::MAX).min(most + 1);
    Rlimit { current: Some(maximum.saturating_sub(1)), maximum: Some(maximum) }
}

fn write((bytes, kind): &(Vec<u8>, ContentType)) -> Option<()> {
    let mark = if *kind == ContentType::Jpeg { b"J" } else { b"W" };
    let mut out = std::io::stdout().lock();
    out.write_all(mark).and_then(|()| out.write_all(bytes)).and_then(|()| out.flush()).ok()
}

/// The thumbnail and its type; `None` if this is no picture of that type, or has too many pixels. For an
/// animation it is the first frame. The limits of [`run_child`] apply only there, not to this function.
pub fn shrink(picture: &[u8], kind: ContentType) -> Option<(Vec<u8>, ContentType)> {
    let image = decode(picture, kind)?;
    let small =
        if image.width() > SIDE || image.height() > SIDE { image.thumbnail(SIDE, SIDE) } else { image };
    encode(&small).ok()
}

fn decode(picture: &[u8], kind: ContentType) -> Option<DynamicImage> {
    let format = match kind {
        ContentType::Jpeg => ImageFormat::Jpeg,
        ContentType::Png => ImageFormat::Png,
        ContentType::Webp => ImageFormat::WebP,
        ContentType::Gif => ImageFormat::Gif,
        ContentType::Pdf | ContentType::Mp4 | ContentType::Webm => return None,
    };
    let mut reader = ImageReader::with_format(Cursor::new(picture), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MEMORY / 2);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().ok()?;
    // Checked before any pixel is decoded: a few bytes can announce more pixels than the memory holds.
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if pixels == 0 || pixels > MAX_PIXELS {
        return None;
    }
    let orientation = decoder.orientation().ok();
    let mut image = DynamicImage::from_decoder(decoder).ok()?;
    if let Some(orientation) = orientation {
        image.apply_orientation(orientation);
    }
    Some(image)
}

/// JPEG, or WebP if the picture has transparent parts, since lossless WebP is several times larger.
fn encode(image: &DynamicImage) -> Result<(Vec<u8>, ContentType), ImageError> {
    let mut bytes = Vec::new();
    let with_alpha = image.color().has_alpha().then(|| image.to_rgba8());
    let transparent = with_alpha.filter(|image| image.pixels().any(|pixel| pixel.0[3] < u8::MAX));
    if let Some(image) = transparent {
        let (width, height) = image.dimensions();
        let encoder = WebPEncoder::new_lossless(&mut bytes);
        encoder.write_image(&image, width, height, ExtendedColorType::Rgba8)?;
        return Ok((bytes, ContentType::Webp));
    }
    let image = image.to_rgb8();
    let (width, height) = image.dimensions();
    let encoder = JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY);
    encoder.write_image(&image, width, height, ExtendedColorType::Rgb8)?;
    Ok((bytes, ContentType::Jpeg))
}

#[cfg(test)]
mod tests {
    use image::{Rgba, RgbaImage};

    use super::*;

    fn picture(width: u32, height: u32, alpha: u8, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        let image = DynamicImage::from(RgbaImage::from_pixel(width, height, Rgba([200, 30, 30, alpha])));
        let image = if format == ImageFormat::Jpeg { DynamicImage::from(image.to_rgb8()) } else { image };
        image.write_to(&mut bytes, format).expect("encoded");
        bytes.into_inner()
    }

    fn size(small: &[u8], kind: ContentType) -> (u32, u32) {
        assert!(kind.begins(small));
        let image = image::load_from_memory(small).expect("a picture");
        (image.width(), image.height())
    }

    #[test]
    fn a_limit_is_never_raised() {
        let limit = |allowed| {
            let Rlimit { current, maximum } = limit(10, allowed);
            (current, maximum)
        };
        for (allowed, (current, maximum)) in [
            (None, (10, 11)),
            (Some(12), (10, 11)),
            (Some(11), (10, 11)),
            (Some(5), (4, 5)),
            (Some(0), (0, 0)),
        ] {
            assert_eq!(limit(allowed), (Some(current), Some(maximum)), "{allowed:?}");
        }
    }

    #[test]
    fn a_picture_of_each_type_becomes_one_of_256_pixels() {
        for (kind, format) in [
            (ContentType::Jpeg, ImageFormat::Jpeg),
            (ContentType::Png, ImageFormat::Png),
            (ContentType::Webp, ImageFormat::WebP),
            (ContentType::Gif, ImageFormat::Gif),
        ] {
            let (small, small_kind) = shrink(&picture(1000, 500, 255, format), kind).expect("made");
            assert_eq!(small_kind, ContentType::Jpeg, "{kind:?}");
            assert_eq!(size(&small, small_kind), (256, 128), "{kind:?}");
        }
    }

    #[test]
    fn what_is_transparent_stays_so_and_what_is_small_stays_small() {
        let png = picture(20, 30, 100, ImageFormat::Png);
        let (small, kind) = shrink(&png, ContentType::Png).expect("made");
        assert_eq!((kind, size(&small, kind)), (ContentType::Webp, (20, 30)));
    }

    #[test]
    fn a_picture_is_decoded_as_what_it_was_declared_only() {
        let png = picture(20, 30, 255, ImageFormat::Png);
        for kind in ContentType::ALL.into_iter().filter(|kind| *kind != ContentType::Png) {
            assert!(shrink(&png, kind).is_none(), "{kind:?}");
        }
        assert!(shrink(&png[..40], ContentType::Png).is_none());
        assert!(shrink(b"", ContentType::Png).is_none());
    }

    #[test]
    fn the_narrowest_picture_keeps_a_pixel() {
        let (small, kind) =
            shrink(&picture(65_535, 1, 255, ImageFormat::Png), ContentType::Png).expect("made");
        assert_eq!(size(&small, kind), (256, 1));
    }
}
