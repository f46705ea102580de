//! Counts and checks the bytes of a file as they pass.

use quipu_tickets::{ContentType, FileRefused, MAX_FILE_BYTES};

/// The state of a file so far.
pub(crate) struct Gauge {
    kind: ContentType,
    /// The first bytes; empty again after they were checked.
    head: Vec<u8>,
    judged: bool,
    size: u64,
}

impl Gauge {
    pub(crate) const fn new(kind: ContentType) -> Self {
        Self { kind, head: Vec::new(), judged: false, size: 0 }
    }

    /// Takes the next bytes. It refuses at the first byte too many, and as soon as the first bytes prove
    /// wrong.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), FileRefused> {
        self.size += bytes.len() as u64;
        if self.size > MAX_FILE_BYTES {
            return Err(FileRefused::TooLarge);
        }
        if self.judged {
            return Ok(());
        }
        let wanted = ContentType::HEAD_BYTES - self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(wanted)]);
        if self.head.len() == ContentType::HEAD_BYTES { self.judge() } else { Ok(()) }
    }

    /// Ends the file; returns its size in bytes.
    pub(crate) fn end(mut self) -> Result<u64, FileRefused> {
        if !self.judged {
            self.judge()?;
        }
        Ok(self.size)
    }

    fn judge(&mut self) -> Result<(), FileRefused> {
        self.judged = true;
        if self.kind.begins(&self.head) { Ok(()) } else { Err(FileRefused::WrongType) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_false_type_is_refused_before_the_file_has_ended() {
        let mut gauge = Gauge::new(ContentType::Png);
        assert_eq!(gauge.take(b"<svg xmlns="), Ok(()));
        assert_eq!(gauge.take(&[b' '; 64]), Err(FileRefused::WrongType));
    }

    #[test]
    fn a_short_file_is_judged_at_its_end() {
        let mut gauge = Gauge::new(ContentType::Png);
        for byte in b"\x89PNG\r\n\x1a\nx" {
            gauge.take(&[*byte]).expect("taken");
        }
        assert_eq!(gauge.end(), Ok(9));
        assert_eq!(Gauge::new(ContentType::Png).end(), Err(FileRefused::WrongType));
    }

    #[test]
    fn the_first_byte_too_many_is_refused() {
        let mut gauge = Gauge::new(ContentType::Gif);
        gauge.take(b"GIF89a").expect("taken");
        gauge.take(&vec![0; usize::try_from(MAX_FILE_BYTES).expect("fits") - 6]).expect("taken");
        assert_eq!(gauge.take(&[0]), Err(FileRefused::TooLarge));
    }
}
