//! QR codes (ISO/IEC 18004) as one outline, which is several times smaller than one rectangle for each
//! square.

use std::fmt::Write;

use fast_qr::{ECL, QRBuilder};

/// The outline of the dark squares in units of one square, and the number of squares on a side, without the
/// quiet zone. `None` for a text that is too long for a telephone to read from a screen.
pub(crate) fn qr(text: &str) -> Option<(String, usize)> {
    const LONGEST: usize = 500;
    if text.is_empty() || text.len() > LONGEST {
        return None;
    }
    let code = QRBuilder::new(text).ecl(ECL::M).build().ok()?;
    let mut outline = String::new();
    for row in 0..code.size {
        let dark: Vec<bool> = (0..code.size).map(|column| code[row][column].value()).collect();
        let mut column = 0;
        while column < code.size {
            let run = dark[column..].iter().take_while(|dark| **dark).count();
            if run > 0 {
                write!(outline, "M{column} {row}h{run}v1h-{run}z").ok()?;
            }
            column += run.max(1);
        }
    }
    Some((outline, code.size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_begins_with_the_corner_that_scanners_look_for() {
        let (outline, size) = qr("bitcoin:bc1qexample?amount=0.01").expect("a code");
        assert!(outline.starts_with("M0 0h7v1h-7z"), "{outline}");
        assert_eq!((size - 17) % 4, 0);
        assert_eq!(qr(""), None);
        assert_eq!(qr(&"x".repeat(501)), None);
    }
}
