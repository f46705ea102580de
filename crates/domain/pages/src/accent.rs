//! A merchant's colour, and shades of it that stay readable.

use std::str::FromStr;

use quipu_kernel::Unrecognised;
use serde::{Deserialize, Serialize};

/// A colour, written `#rrggbb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Accent([u8; 3]);

/// The least contrast of text with its ground (WCAG 2.2, success criterion 1.4.3).
const READABLE: f64 = 4.6;
/// The page's grounds, light and dark: the least and the most luminous that text in the accent stands on.
const LIGHT_GROUND: Accent = Accent([0xf1, 0xef, 0xea]);
const DARK_GROUND: Accent = Accent([0x29, 0x28, 0x26]);
const WHITE: Accent = Accent([0xff; 3]);
const BLACK: Accent = Accent([0x10; 3]);

impl Accent {
    /// The colour of pages whose merchant gave none.
    pub const DEFAULT: Self = Self([0x0f, 0x5c, 0x63]);

    /// Six hexadecimal digits.
    pub fn hex(self) -> String {
        let [red, green, blue] = self.0;
        format!("{red:02x}{green:02x}{blue:02x}")
    }

    /// Reads six hexadecimal digits.
    pub fn of_hex(digits: &str) -> Option<Self> {
        let is_hex = digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let part = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
        is_hex.then(|| Some(Self([part(0)?, part(2)?, part(4)?])))?
    }

    /// The style sheet that gives a page this colour. Whatever the colour is, text in it and on it can be read, on light
    /// ground and on dark: it is made darker or lighter until it can.
    pub fn style_sheet(self) -> String {
        let (light, dark) = (self.readable_on(LIGHT_GROUND, BLACK), self.readable_on(DARK_GROUND, WHITE));
        let rules =
            |accent: Self| format!("--accent:#{};--on-accent:#{}", accent.hex(), accent.text_on().hex());
        format!(":root{{{}}}\n@media (prefers-color-scheme:dark){{:root{{{}}}}}\n", rules(light), rules(dark))
    }

    /// The first shade on the way towards `end` that can be read on `ground`.
    fn readable_on(self, ground: Self, end: Self) -> Self {
        let shades = (0..=20).map(|step| self.towards(end, step));
        shades.into_iter().find(|shade| shade.contrast(ground) >= READABLE).unwrap_or(end)
    }

    fn text_on(self) -> Self {
        if self.contrast(WHITE) >= self.contrast(BLACK) { WHITE } else { BLACK }
    }

    /// This colour, `step` twentieths of the way to another.
    fn towards(self, end: Self, step: u16) -> Self {
        let mix = |from: u8, to: u8| {
            let sum = u16::from(from) * (20 - step) + u16::from(to) * step;
            u8::try_from(sum / 20).unwrap_or(to)
        };
        let mut mixed = self.0;
        for (part, to) in mixed.iter_mut().zip(end.0) {
            *part = mix(*part, to);
        }
        Self(mixed)
    }

    /// The ratio of luminances, 1 to 21 (WCAG 2.2, "contrast ratio").
    fn contrast(self, other: Self) -> f64 {
        let (one, two) = (self.luminance(), other.luminance());
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    fn luminance(self) -> f64 {
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        let [red, green, blue] = self.0.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
}

impl FromStr for Accent {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        let digits = text.strip_prefix('#');
        digits.and_then(Self::of_hex).ok_or(Unrecognised { expected: "a colour written #rrggbb" })
    }
}

impl TryFrom<String> for Accent {
    type Error = Unrecognised;

    fn try_from(text: String) -> Result<Self, Unrecognised> {
        text.parse()
    }
}

impl From<Accent> for String {
    fn from(accent: Accent) -> Self {
        format!("#{}", accent.hex())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_six_hexadecimal_digits_after_a_hash_are_a_colour() {
        assert_eq!("#0F5c63".parse(), Ok(Accent::DEFAULT));
        for text in ["", "#", "0f5c63", "#0f5c6", "#0f5c633", "#0f5c6g", "#+f5c63", "#ääa", "red"] {
            assert!(text.parse::<Accent>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn every_colour_stays_readable_on_both_grounds() {
        let steps = [0_u8, 51, 102, 153, 204, 255];
        for (red, (green, blue)) in steps
            .into_iter()
            .flat_map(|red| steps.into_iter().flat_map(move |green| steps.map(|blue| (red, (green, blue)))))
        {
            let accent = Accent([red, green, blue]);
            for (ground, end) in [(LIGHT_GROUND, BLACK), (DARK_GROUND, WHITE)] {
                let shade = accent.readable_on(ground, end);
                assert!(shade.contrast(ground) >= 4.5, "{accent:?} on {ground:?}");
                assert!(shade.contrast(shade.text_on()) >= 4.5, "text on {accent:?}");
            }
        }
    }

    #[test]
    fn a_colour_that_reads_well_stays_as_it_is() {
        assert!(Accent::DEFAULT.style_sheet().starts_with(":root{--accent:#0f5c63;--on-accent:#ffffff}"));
    }
}
