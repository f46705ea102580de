//! Shades of a merchant's colour that stay readable.

use quipu_merchants::Accent;

/// The least contrast between text and its background: a little more than the 4.5 of WCAG 2.2, success criterion 1.4.3.
const READABLE: f64 = 4.6;
/// The backgrounds of the page in light and dark mode: the least and the most luminous that text in the
/// accent colour stands on.
const LIGHT_GROUND: Accent = Accent::new([0xf1, 0xef, 0xea]);
const DARK_GROUND: Accent = Accent::new([0x29, 0x28, 0x26]);
const WHITE: Accent = Accent::new([0xff; 3]);
const BLACK: Accent = Accent::new([0x10; 3]);

/// The accent colour of pages whose merchant has none.
pub(crate) const OWN_ACCENT: Accent = Accent::new([0x0f, 0x5c, 0x63]);

/// The style sheet that gives a page this colour. The colour is made darker or lighter until text in it and
/// on it can be read, in light and dark mode.
pub(crate) fn style_sheet(accent: Accent) -> String {
    let (light, dark) = (readable_on(accent, LIGHT_GROUND, BLACK), readable_on(accent, DARK_GROUND, WHITE));
    let rules = |accent: Accent| format!("--accent:#{};--on-accent:#{}", accent.hex(), text_on(accent).hex());
    format!(":root{{{}}}\n@media (prefers-color-scheme:dark){{:root{{{}}}}}\n", rules(light), rules(dark))
}

/// The first shade on the way towards `end` that can be read on `ground`.
fn readable_on(accent: Accent, ground: Accent, end: Accent) -> Accent {
    let shades = (0..=20).map(|step| towards(accent, end, step));
    shades.into_iter().find(|shade| contrast(*shade, ground) >= READABLE).unwrap_or(end)
}

fn text_on(accent: Accent) -> Accent {
    if contrast(accent, WHITE) >= contrast(accent, BLACK) { WHITE } else { BLACK }
}

/// This colour, `step` twentieths of the way to another.
fn towards(accent: Accent, end: Accent, step: u16) -> Accent {
    let mix = |from: u8, to: u8| {
        let sum = u16::from(from) * (20 - step) + u16::from(to) * step;
        u8::try_from(sum / 20).unwrap_or(to)
    };
    let mut mixed = accent.parts();
    for (part, to) in mixed.iter_mut().zip(end.parts()) {
        *part = mix(*part, to);
    }
    Accent::new(mixed)
}

/// The ratio of luminances, 1 to 21 (WCAG 2.2, "contrast ratio").
fn contrast(one: Accent, other: Accent) -> f64 {
    let (one, two) = (luminance(one), luminance(other));
    (one.max(two) + 0.05) / (one.min(two) + 0.05)
}

fn luminance(accent: Accent) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    let [red, green, blue] = accent.parts().map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrasts_are_those_of_the_standard() {
        let colour = |hex: &str| Accent::of_hex(hex).expect("a colour");
        for (one, other, expected) in [
            ("ffffff", "000000", 21.0),
            ("000000", "ffffff", 21.0),
            ("ffffff", "ffffff", 1.0),
            ("ff0000", "ffffff", 3.998),
            ("00ff00", "ffffff", 1.372),
            ("0000ff", "ffffff", 8.592),
            ("767676", "ffffff", 4.542),
            ("777777", "ffffff", 4.478),
            ("0a0a0a", "000000", 1.061),
        ] {
            let told = contrast(colour(one), colour(other));
            assert!((told - expected).abs() < 0.001, "{one} {other}: {told}");
        }
    }

    #[test]
    fn a_shade_lies_between_its_colour_and_the_end() {
        let (from, to) = (Accent::new([0, 100, 255]), Accent::new([200, 0, 255]));
        let shade = |step| towards(from, to, step).parts();
        assert_eq!([0, 5, 10, 20].map(shade), [[0, 100, 255], [50, 75, 255], [100, 50, 255], [200, 0, 255]]);
    }

    #[test]
    fn every_colour_stays_readable_on_both_grounds() {
        let steps = [0_u8, 51, 102, 153, 204, 255];
        for (red, (green, blue)) in steps
            .into_iter()
            .flat_map(|red| steps.into_iter().flat_map(move |green| steps.map(|blue| (red, (green, blue)))))
        {
            let accent = Accent::new([red, green, blue]);
            for (ground, end) in [(LIGHT_GROUND, BLACK), (DARK_GROUND, WHITE)] {
                let shade = readable_on(accent, ground, end);
                assert!(contrast(shade, ground) >= 4.5, "{accent:?} on {ground:?}");
                assert!(contrast(shade, text_on(shade)) >= 4.5, "text on {accent:?}");
            }
        }
    }

    const SHEET: &str = include_str!("../assets/page.css");

    /// The rules of the style sheet, without those that stand inside a condition: selector and declarations.
    fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
        SHEET.split('}').filter_map(|rule| rule.trim_start().split_once('{'))
    }

    /// What a page changes under the pointer leaves text and ground alone, so that what holds for a colour
    /// holds there too. Not even a filter may: it changes both.
    #[test]
    fn no_colour_changes_under_the_pointer() {
        let harmless = ["text-decoration", "text-underline-offset", "border-color"];
        let mut hovered = 0;
        for (selector, declarations) in rules().filter(|(selector, _)| selector.contains(":hover")) {
            for declaration in declarations.split(';') {
                let property = declaration.split(':').next().unwrap_or_default();
                assert!(harmless.contains(&property), "{selector} {declaration}");
                hovered += 1;
            }
        }
        assert!(hovered > 0, "nothing shows that a button can be pressed");
        assert!(!SHEET.contains("filter:"), "a filter changes every colour below it");
    }

    #[test]
    fn the_grounds_are_those_of_the_page() {
        let in_mode = |mode: &str| {
            let found = rules().find(|(selector, _)| selector.starts_with(mode)).expect("the mode's colours");
            let declarations = found.1.trim_start_matches(":root{");
            ["--ground", "--paper", "--wait-ground"].map(|name| {
                let value = declarations.split(';').find_map(|one| one.strip_prefix(&format!("{name}:#")));
                let value = value.unwrap_or_else(|| panic!("{name} in {declarations}"));
                let digits = if value.len() == 3 { value.repeat(2) } else { value.to_owned() };
                Accent::of_hex(&digits).expect("a colour")
            })
        };
        let light = in_mode(":root").map(luminance);
        let dark = in_mode("@media (prefers-color-scheme:dark)").map(luminance);
        assert!(light.into_iter().all(|ground| ground >= luminance(LIGHT_GROUND)), "{light:?}");
        assert!(dark.into_iter().all(|ground| ground <= luminance(DARK_GROUND)), "{dark:?}");
        assert!(light.contains(&luminance(LIGHT_GROUND)) && dark.contains(&luminance(DARK_GROUND)));
    }

    #[test]
    fn a_colour_that_reads_well_stays_as_it_is() {
        assert!(style_sheet(OWN_ACCENT).starts_with(":root{--accent:#0f5c63;--on-accent:#ffffff}"));
    }
}
