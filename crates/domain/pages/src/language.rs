//! The languages of the pages, and the choice of one for a payer.

use serde::{Serialize, Serializer};

/// A language in which there are pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// English.
    English,
    /// Spanish.
    Spanish,
    /// Turkish.
    Turkish,
    /// Sinhala.
    Sinhala,
    /// Georgian.
    Georgian,
    /// Portuguese.
    Portuguese,
}

impl Language {
    /// All languages; the first is for payers who ask for none of them.
    pub const ALL: [Self; 6] =
        [Self::English, Self::Spanish, Self::Turkish, Self::Sinhala, Self::Georgian, Self::Portuguese];

    /// The code of two letters (ISO 639-1).
    pub const fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Spanish => "es",
            Self::Turkish => "tr",
            Self::Sinhala => "si",
            Self::Georgian => "ka",
            Self::Portuguese => "pt",
        }
    }

    /// The name of the language in itself.
    pub const fn own_name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::Spanish => "Español",
            Self::Turkish => "Türkçe",
            Self::Sinhala => "සිංහල",
            Self::Georgian => "ქართული",
            Self::Portuguese => "Português",
        }
    }

    /// The language to answer in: `wanted` if it is one of ours, else the best that an `Accept-Language`
    /// header (RFC 9110, section 12.5.4) accepts, else English.
    pub fn choose(wanted: Option<&str>, accepted: Option<&str>) -> Self {
        let wanted = wanted.and_then(Self::of_tag);
        wanted.or_else(|| accepted.and_then(Self::best_of)).unwrap_or(Self::English)
    }

    /// The language of a tag such as `es-MX`; the region does not count.
    fn of_tag(tag: &str) -> Option<Self> {
        let primary = tag.trim().split(['-', '_']).next()?;
        Self::ALL.into_iter().find(|language| language.code().eq_ignore_ascii_case(primary))
    }

    fn best_of(header: &str) -> Option<Self> {
        let mut best: Option<(u16, Self)> = None;
        for range in header.split(',').take(32) {
            let mut parts = range.split(';');
            let tag = parts.next().unwrap_or_default();
            let weight = parts.find_map(|part| part.trim().strip_prefix(['q', 'Q'])?.strip_prefix('='));
            let weight = weight.map_or(Some(1000), self::weight);
            let (Some(language), Some(weight)) = (Self::of_tag(tag), weight) else { continue };
            if weight > 0 && best.is_none_or(|(most, _)| weight > most) {
                best = Some((weight, language));
            }
        }
        best.map(|(_, language)| language)
    }
}

/// A weight of `0` to `1` with up to three decimals, in thousandths.
fn weight(text: &str) -> Option<u16> {
    let (whole, decimals) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let is_number = decimals.len() <= 3 && decimals.bytes().all(|byte| byte.is_ascii_digit());
    let thousandths: u16 = format!("{decimals:0<3}").parse().ok().filter(|_| is_number)?;
    match whole {
        "0" => Some(thousandths),
        "1" if thousandths == 0 => Some(1000),
        _ => None,
    }
}

impl Serialize for Language {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_wins_over_what_the_browser_accepts() {
        let table = [
            (Some("ka"), Some("es"), Language::Georgian),
            (Some("pt-BR"), None, Language::Portuguese),
            (Some("xx"), Some("tr"), Language::Turkish),
            (None, Some("es-MX,es;q=0.9,en;q=0.8"), Language::Spanish),
            (None, Some("fr, en;q=0.2, si;q=0.7"), Language::Sinhala),
            (None, Some("de-DE,de"), Language::English),
            (None, Some("es;q=0, tr;q=0.1"), Language::Turkish),
            (None, Some("es;Q=0.3, ka;q=0.9"), Language::Georgian),
            (None, Some("es;q=much, tr;q=2, pt;q=0.001"), Language::Portuguese),
            (None, Some("*"), Language::English),
            (None, Some(""), Language::English),
            (None, None, Language::English),
        ];
        for (wanted, accepted, expected) in table {
            assert_eq!(Language::choose(wanted, accepted), expected, "{wanted:?} {accepted:?}");
        }
    }
}
