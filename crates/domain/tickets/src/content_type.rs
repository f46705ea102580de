//! The types of files that may be attached, and the bytes with which such files begin.

use quipu_kernel::wire_names;

/// The most bytes a file may have: 10 MiB.
pub const MAX_FILE_BYTES: u64 = 10_485_760;

wire_names! {
    /// A type of file that may be attached (docs/API.md, "Attachments").
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ContentType {
        /// `image/jpeg`
        Jpeg = "image/jpeg",
        /// `image/png`
        Png = "image/png",
        /// `image/webp`
        Webp = "image/webp",
        /// `image/gif`
        Gif = "image/gif",
        /// `application/pdf`
        Pdf = "application/pdf",
        /// `video/mp4`
        Mp4 = "video/mp4",
        /// `video/webm`
        Webm = "video/webm",
    }
}

/// The brands (ISO/IEC 14496-12, section 4.3) of MP4 files. Pictures (`heic`, `avif`) and `QuickTime` (`qt`)
/// use the same container, and their brands are not listed; phones and cameras write brands of their own.
const MP4_BRANDS: [&[u8; 4]; 34] = [
    b"isom", b"iso2", b"iso3", b"iso4", b"iso5", b"iso6", b"iso7", b"iso8", b"iso9", b"isml", b"mp21",
    b"mp41", b"mp42", b"mp71", b"avc1", b"hvc1", b"hev1", b"av01", b"dby1", b"M4V ", b"M4VH", b"M4VP",
    b"MSNV", b"NDSC", b"XAVC", b"CAEP", b"dash", b"cmfc", b"cmf2", b"f4v ", b"mmp4", b"3gp4", b"3gp5",
    b"3gp6",
];

impl ContentType {
    /// How many bytes [`ContentType::begins`] needs to see, unless the file has fewer.
    pub const HEAD_BYTES: usize = 64;

    /// Whether it is a picture: pictures have thumbnails and are shown in place.
    pub const fn is_image(self) -> bool {
        matches!(self, Self::Jpeg | Self::Png | Self::Webp | Self::Gif)
    }

    /// Reads a `Content-Type` header. Its parameters and its case are ignored.
    pub fn of_header(value: &str) -> Option<Self> {
        let name = value.split(';').next().unwrap_or_default().trim();
        Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(name))
    }

    /// Whether a file that begins with `head` (its first [`ContentType::HEAD_BYTES`], or all of it) is of
    /// this type. Every signature is at a fixed place, so that a text which merely contains one is not taken
    /// for such a file.
    pub fn begins(self, head: &[u8]) -> bool {
        match self {
            Self::Jpeg => head.starts_with(b"\xff\xd8\xff"),
            Self::Png => head.starts_with(b"\x89PNG\r\n\x1a\n"),
            Self::Webp => head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP"),
            Self::Gif => head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a"),
            Self::Pdf => head.starts_with(b"%PDF-") && head.get(5).is_some_and(u8::is_ascii_digit),
            Self::Mp4 => {
                let brand = head.get(8..12).and_then(|brand| <&[u8; 4]>::try_from(brand).ok());
                head.get(4..8) == Some(b"ftyp") && brand.is_some_and(|brand| MP4_BRANDS.contains(&brand))
            }
            Self::Webm => head.starts_with(b"\x1a\x45\xdf\xa3") && !names_other_document(head),
        }
    }
}

/// Whether the head of an EBML file (RFC 8794) names another document type than `webm`, such as Matroska's.
fn names_other_document(head: &[u8]) -> bool {
    let seen = &head[..head.len().min(ContentType::HEAD_BYTES)];
    let Some(place) = seen.windows(2).position(|id| id == b"\x42\x82") else { return false };
    let Some((length, size)) = length_at(&seen[place + 2..]) else { return true };
    let begin = place + 2 + size;
    seen.get(begin..begin + length) != Some(b"webm")
}

/// The length of an EBML element (RFC 8794, section 4), and the number of bytes that this length takes: the
/// position of its first set bit says so.
fn length_at(bytes: &[u8]) -> Option<(usize, usize)> {
    let first = *bytes.first()?;
    let size = usize::try_from(first.leading_zeros()).ok()? + 1;
    let bytes = bytes.get(..size)?;
    let marked = bytes.iter().fold(0_u64, |length, byte| length << 8 | u64::from(*byte));
    let length = usize::try_from(marked ^ 1 << (7 * size)).ok()?;
    (length <= ContentType::HEAD_BYTES).then_some((length, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a file of each type begins.
    fn heads() -> [(ContentType, Vec<u8>); 7] {
        [
            (ContentType::Jpeg, b"\xff\xd8\xff\xe0\0\x10JFIF".to_vec()),
            (ContentType::Png, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec()),
            (ContentType::Webp, b"RIFF\x24\0\0\0WEBPVP8 ".to_vec()),
            (ContentType::Gif, b"GIF89a\x01\0\x01\0".to_vec()),
            (ContentType::Pdf, b"%PDF-1.7\n%\xe2\xe3".to_vec()),
            (ContentType::Mp4, b"\0\0\0\x18ftypmp42\0\0\0\0".to_vec()),
            (ContentType::Webm, b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm".to_vec()),
        ]
    }

    #[test]
    fn the_first_bytes_of_each_type_are_those_of_no_other() {
        for (kind, head) in heads() {
            let taken_for: Vec<_> =
                ContentType::ALL.into_iter().filter(|other| other.begins(&head)).collect();
            assert_eq!(taken_for, [kind]);
        }
    }

    #[test]
    fn less_usual_heads_are_known() {
        for (kind, head) in [
            (ContentType::Pdf, &b"%PDF-1.0\n"[..]),
            (ContentType::Mp4, b"\0\0\0\x1cftypXAVC\0\0\0\0"),
            (ContentType::Mp4, b"\0\0\0\x18ftyp3gp4\0\0\0\0"),
            (ContentType::Webm, b"\x1a\x45\xdf\xa3\x01\0\0\0\0\0\0\x1f\x42\x86\x81\x01\x42\x82\x40\x04webm"),
            (ContentType::Webm, b"\x1a\x45\xdf\xa3\x9f\x42\x82\x10\0\0\x04webm"),
            (ContentType::Webm, b"\x1a\x45\xdf\xa3\x9f\x42\x82\x01\0\0\0\0\0\0\x04webm"),
        ] {
            assert!(kind.begins(head), "{head:?}");
        }
    }

    #[test]
    fn a_file_that_ends_within_its_signature_is_of_no_type() {
        for (kind, head) in heads() {
            for length in 0..3 {
                assert!(!kind.begins(&head[..length]), "{kind:?} of {length} bytes");
            }
        }
    }

    #[test]
    fn what_is_dressed_as_another_type_is_found_out() {
        for dressed in [
            &b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>"[..],
            b"<!doctype html><!-- %PDF-1.7 -->",
            b"<html>\x89PNG\r\n\x1a\n",
            b" %PDF-1.7",
            b"\0\0\0\x18ftypheic\0\0\0\0",
            b"\0\0\0\x14ftypqt  \0\0\0\0",
            b"\x1a\x45\xdf\xa3\xa3\x42\x86\x81\x01\x42\x82\x88matroska",
            b"\x1a\x45\xdf\xa3\xa3\x42\x82\x40\x08matroska",
            b"\x1a\x45\xdf\xa3\xa3\x42\x82\0webm",
            b"\x1a\x45\xdf\xa3\xa3\x42\x82\x84we",
            b"RIFF\x24\0\0\0WAVEfmt ",
            b"MZ\x90\0",
            b"",
        ] {
            assert!(!ContentType::ALL.into_iter().any(|kind| kind.begins(dressed)), "{dressed:?}");
        }
    }

    #[test]
    fn a_header_is_read_without_regard_to_case_and_parameters() {
        assert_eq!(ContentType::of_header("image/PNG; charset=binary"), Some(ContentType::Png));
        assert_eq!(ContentType::of_header("image/svg+xml"), None);
        assert_eq!(ContentType::of_header(""), None);
        for kind in ContentType::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).expect("JSON"), kind.as_str());
        }
    }
}
