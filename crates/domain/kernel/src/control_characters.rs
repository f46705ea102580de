//! Characters that texts may not have.

/// Whether `text` has characters that no single-line text may have (docs/API.md, "Create").
pub fn has_control_characters(text: &str) -> bool {
    text.chars().any(char::is_control)
}

/// Whether a text that may have several lines has a control character other than tab and line feed.
pub fn has_control_characters_in_prose(text: &str) -> bool {
    text.chars().any(|c| c.is_control() && c != '\t' && c != '\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_may_have_lines_and_tabs_and_a_single_line_neither() {
        for (text, in_a_line, in_prose) in [
            ("plain, \u{e9} and \u{1f600}", false, false),
            ("a\tb", true, false),
            ("a\nb", true, false),
            ("a\rb", true, true),
            ("\0", true, true),
            ("\u{7f}", true, true),
            ("\u{85}", true, true),
        ] {
            let found = (has_control_characters(text), has_control_characters_in_prose(text));
            assert_eq!(found, (in_a_line, in_prose), "{text:?}");
        }
    }
}
