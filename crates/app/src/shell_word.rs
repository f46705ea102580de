//! Texts as words of a shell, in lines that can be pasted.

/// The text as one word, in single quotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The text as one word, in quotes only where it needs them: a plain path is easier to read.
pub(crate) fn word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    if text.chars().all(is_plain) { text.to_owned() } else { quoted(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word() {
        for (path, pasted) in [
            ("/srv/quipu-0.1/target/release/quipu", "/srv/quipu-0.1/target/release/quipu"),
            ("/home/ana/my work/quipu", "'/home/ana/my work/quipu'"),
            ("/srv/ana's/quipu", r"'/srv/ana'\''s/quipu'"),
        ] {
            assert_eq!(word(path), pasted);
        }
    }
}
