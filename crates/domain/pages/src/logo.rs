//! A merchant's logo: it is decoded and encoded anew, so that nothing but the picture reaches a payer.

use std::io::Cursor;

use image::{
    DynamicImage, ImageFormat, ImageReader, Limits,
    codecs::png::{CompressionType, FilterType, PngEncoder},
};

/// The most bytes a logo may have.
pub const MAX_LOGO_BYTES: usize = 64 * 1024;

/// The longest side of a picture that is decoded: a small file can hold a very large picture.
const MAX_SIDE: u32 = 2048;
/// The size in which it is stored, three times that in which pages show it.
const KEPT_WIDTH: u32 = 432;
const KEPT_HEIGHT: u32 = 108;

/// Why a file is not accepted as a logo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LogoProblem {
    /// The file has too many bytes.
    #[error("must be at most 65536 bytes")]
    TooLong,
    /// The file is neither PNG nor WebP, or broken.
    #[error("must be a PNG or WebP picture")]
    NoPicture,
    /// The picture has too many pixels.
    #[error("must be at most 2048 pixels wide and high")]
    TooLarge,
}

/// The picture of a PNG or WebP file as a new PNG file, scaled down if it is larger than pages need, or than a logo
/// may be as a PNG file. All other data of the file is dropped.
pub fn redraw(file: &[u8]) -> Result<Vec<u8>, LogoProblem> {
    if file.len() > MAX_LOGO_BYTES {
        return Err(LogoProblem::TooLong);
    }
    let format = image::guess_format(file).map_err(|_| LogoProblem::NoPicture)?;
    if !matches!(format, ImageFormat::Png | ImageFormat::WebP) {
        return Err(LogoProblem::NoPicture);
    }
    let (width, height) = ImageReader::with_format(Cursor::new(file), format)
        .into_dimensions()
        .map_err(|_| LogoProblem::NoPicture)?;
    if width > MAX_SIDE || height > MAX_SIDE {
        return Err(LogoProblem::TooLarge);
    }
    let mut reader = ImageReader::with_format(Cursor::new(file), format);
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(64 * 1024 * 1024);
    reader.limits(limits);
    let picture = reader.decode().map_err(|_| LogoProblem::NoPicture)?;
    shrunk(fitted(picture, KEPT_WIDTH, KEPT_HEIGHT))
}

/// The picture as a PNG file, made smaller until the file is no longer than a logo may be.
fn shrunk(mut picture: DynamicImage) -> Result<Vec<u8>, LogoProblem> {
    loop {
        let drawn = drawn(&picture).map_err(|_| LogoProblem::NoPicture)?;
        if drawn.len() <= MAX_LOGO_BYTES {
            return Ok(drawn);
        }
        let (width, height) = (picture.width() * 4 / 5, picture.height() * 4 / 5);
        picture = fitted(picture, width.max(1), height.max(1));
    }
}

fn fitted(picture: DynamicImage, width: u32, height: u32) -> DynamicImage {
    if picture.width() <= width && picture.height() <= height {
        return picture;
    }
    picture.thumbnail(width, height)
}

fn drawn(picture: &DynamicImage) -> image::ImageResult<Vec<u8>> {
    let mut drawn = Vec::new();
    let encoder = PngEncoder::new_with_quality(&mut drawn, CompressionType::Best, FilterType::Adaptive);
    DynamicImage::from(picture.to_rgba8()).write_with_encoder(encoder)?;
    Ok(drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut file = Cursor::new(Vec::new());
        DynamicImage::new_rgba8(width, height).write_to(&mut file, ImageFormat::Png).expect("a picture");
        file.into_inner()
    }

    #[test]
    fn a_logo_is_drawn_again_without_what_was_behind_it() {
        let mut file = png(40, 30);
        file.extend_from_slice(b"<script>alert(1)</script>");
        let drawn = redraw(&file).expect("a logo");
        assert!(!String::from_utf8_lossy(&drawn).contains("script"));
        let again = image::load_from_memory(&drawn).expect("a picture");
        assert_eq!((again.width(), again.height()), (40, 30));
    }

    #[test]
    fn a_large_picture_is_made_smaller_and_keeps_its_shape() {
        let drawn = image::load_from_memory(&redraw(&png(1000, 500)).expect("a logo")).expect("a picture");
        assert_eq!((drawn.width(), drawn.height()), (216, 108));
    }

    #[test]
    fn a_logo_as_it_is_kept_may_be_set_again() {
        // Noise, which no PNG makes smaller; WebP does, so that such a file may come.
        let mut state = 1_u32;
        let noise = |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            image::Rgba(state.to_be_bytes())
        };
        let picture = DynamicImage::from(image::RgbaImage::from_fn(KEPT_WIDTH, KEPT_HEIGHT, noise));
        let kept = shrunk(picture).expect("a logo");
        assert!(kept.len() <= MAX_LOGO_BYTES, "{}", kept.len());
        assert_eq!(redraw(&kept).expect("a logo").len(), kept.len());
    }

    #[test]
    fn what_is_no_logo_is_refused() {
        assert_eq!(redraw(&png(2049, 1)), Err(LogoProblem::TooLarge));
        assert_eq!(redraw(&vec![0; MAX_LOGO_BYTES + 1]), Err(LogoProblem::TooLong));
        let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>".as_slice();
        let half = &png(40, 30)[..40];
        for file in [b"".as_slice(), b"GIF89a\x01\x00\x01\x00\x00\x00\x00", svg, half] {
            assert_eq!(redraw(file), Err(LogoProblem::NoPicture));
        }
    }
}
