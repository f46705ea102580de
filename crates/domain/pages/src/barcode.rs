//! The bars of a voucher: Code 128 (ISO/IEC 15417), which tills of shops read.

use std::fmt::Write;

/// The widths of bars and gaps of each value, the three starts and the stop included.
const PATTERNS: [&str; 107] = [
    "212222", "222122", "222221", "121223", "121322", "131222", "122213", "122312", "132212", "221213",
    "221312", "231212", "112232", "122132", "122231", "113222", "123122", "123221", "223211", "221132",
    "221231", "213212", "223112", "312131", "311222", "321122", "321221", "312212", "322112", "322211",
    "212123", "212321", "232121", "111323", "131123", "131321", "112313", "132113", "132311", "211313",
    "231113", "231311", "112133", "112331", "132131", "113123", "113321", "133121", "313121", "211331",
    "231131", "213113", "213311", "213131", "311123", "311321", "331121", "312113", "312311", "332111",
    "314111", "221411", "431111", "111224", "111422", "121124", "121421", "141122", "141221", "112214",
    "112412", "122114", "122411", "142112", "142211", "241211", "221114", "413111", "241112", "134111",
    "111242", "121142", "121241", "114212", "124112", "124211", "411212", "421112", "421211", "212141",
    "214121", "412121", "111143", "111341", "131141", "114113", "114311", "411113", "411311", "113141",
    "114131", "311141", "411131", "211412", "211214", "211232", "2331112",
];

const TO_B: usize = 100;
const START_B: usize = 104;
const START_C: usize = 105;
const STOP: usize = 106;

/// The most symbols between start and checksum that still give bars wide enough for a telephone's screen.
const MOST_SYMBOLS: usize = 40;

/// The outline of the bars in units of the narrowest bar, one unit high, and their width. `None` for a text
/// that has characters without bars, or is too long for a screen.
pub(crate) fn code_128(text: &str) -> Option<(String, usize)> {
    let printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if !printable || text.is_empty() {
        return None;
    }
    let mut values = values(text.as_bytes());
    if values.len() > 1 + MOST_SYMBOLS {
        return None;
    }
    let sum: usize = values.iter().enumerate().map(|(place, value)| place.max(1) * value).sum();
    values.extend([sum % 103, STOP]);
    let (mut outline, mut at) = (String::new(), 0);
    for value in values {
        for (index, width) in PATTERNS[value].bytes().map(|digit| usize::from(digit - b'0')).enumerate() {
            if index.is_multiple_of(2) {
                write!(outline, "M{at} 0h{width}v1h-{width}z").ok()?;
            }
            at += width;
        }
    }
    Some((outline, at))
}

/// The start and the values: pairs of digits in set C as long as the text begins with pairs, the rest in set
/// B.
fn values(text: &[u8]) -> Vec<usize> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let in_pairs = if digits >= 4 { digits - digits % 2 } else { 0 };
    let (pairs, rest) = text.split_at(in_pairs);
    let mut values = vec![if pairs.is_empty() { START_B } else { START_C }];
    values.extend(pairs.chunks(2).map(|pair| usize::from(pair[0] - b'0') * 10 + usize::from(pair[1] - b'0')));
    if !pairs.is_empty() && !rest.is_empty() {
        values.push(TO_B);
    }
    values.extend(rest.iter().map(|byte| usize::from(byte - b' ')));
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_eleven_wide_and_the_stop_thirteen() {
        for (value, pattern) in PATTERNS.iter().enumerate() {
            let width: u32 = pattern.bytes().map(|digit| u32::from(digit - b'0')).sum();
            assert_eq!(width, if value == STOP { 13 } else { 11 }, "{value}");
        }
    }

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        // "PJJ123C" with start A sums to 54 in the usual example; in set B the same text gives 55.
        let values = values(b"PJJ123C");
        let sum: usize = values.iter().enumerate().map(|(place, value)| place.max(1) * value).sum();
        assert_eq!((values[0], sum % 103), (START_B, 55));
    }

    #[test]
    fn digits_go_two_by_two_and_an_odd_one_alone() {
        assert_eq!(values(b"123456"), [START_C, 12, 34, 56]);
        assert_eq!(values(b"1234567"), [START_C, 12, 34, 56, TO_B, 23]);
        assert_eq!(values(b"123"), [START_B, 17, 18, 19]);
        // Start, three pairs, checksum: 11 each; the stop: 13.
        assert_eq!(code_128("123456").map(|(_, width)| width), Some(68));
    }

    /// The values that a scanner finds in an outline: it sees where bars begin and end.
    fn scanned(outline: &str, width: usize) -> Vec<usize> {
        let mut edges: Vec<usize> = Vec::new();
        for bar in outline.split_terminator('z') {
            let (at, bar) = bar.strip_prefix('M').and_then(|bar| bar.split_once(" 0h")).expect("a place");
            let (bar, back) = bar.split_once("v1h-").expect("a width");
            assert_eq!(bar, back, "the outline is closed");
            let at: usize = at.parse().expect("a number");
            edges.extend([at, at + bar.parse::<usize>().expect("a number")]);
        }
        assert_eq!((edges.first(), edges.last()), (Some(&0), Some(&width)));
        let widths: String = edges.windows(2).map(|pair| (pair[1] - pair[0]).to_string()).collect();
        let (symbols, stop) = widths.split_at(widths.len() - 7);
        let symbols = symbols.as_bytes().chunks(6).map(|symbol| String::from_utf8_lossy(symbol).into_owned());
        let value = |symbol: String| PATTERNS.iter().position(|pattern| *pattern == symbol);
        symbols.chain([stop.to_owned()]).map(|symbol| value(symbol).expect("a pattern")).collect()
    }

    #[test]
    fn a_till_reads_the_text_and_its_checksum() {
        for (text, expected) in [
            // 104 + 48 + 2*42 + 3*42 + 4*17 + 5*18 + 6*19 + 7*35 is 8 times 103 and 55.
            ("PJJ123C", &[START_B, 48, 42, 42, 17, 18, 19, 35, 55, STOP][..]),
            // 105 + 12 + 2*34 + 3*56 is 3 times 103 and 44.
            ("123456", &[START_C, 12, 34, 56, 44, STOP]),
            // 105 + 1 + 2*23 + 3*100 + 4*33 is 5 times 103 and 69.
            ("0123A", &[START_C, 1, 23, TO_B, 33, 69, STOP]),
            // 104 + 0 + 2*94 is 2 times 103 and 86.
            (" ~", &[START_B, 0, 94, 86, STOP]),
        ] {
            let (outline, width) = code_128(text).expect("bars");
            assert_eq!(scanned(&outline, width), expected, "{text:?}");
        }
    }

    #[test]
    fn what_has_no_bars_gets_none() {
        for text in ["", "ñ", "a\nb"] {
            assert_eq!(code_128(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_counts_is_the_width_of_the_bars_and_not_the_length_of_the_text() {
        let (wide, digits) = ("A".repeat(40), "1".repeat(60));
        let table = [
            // Start, thirty pairs, checksum, stop.
            (digits.clone(), Some(32 * 11 + 13)),
            ("1".repeat(80), Some(42 * 11 + 13)),
            ("1".repeat(81), None),
            (wide.clone(), Some(42 * 11 + 13)),
            (format!("{wide}A"), None),
            (format!("{digits}ABCDEFGHI"), Some(42 * 11 + 13)),
            (format!("{digits}ABCDEFGHIJ"), None),
        ];
        for (text, width) in table {
            assert_eq!(code_128(&text).map(|(_, width)| width), width, "{text:?}");
        }
    }
}
