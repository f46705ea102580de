//! Full names of keys: the names of the tables around a key and its own, with dots between them.

/// The key of this name in a table, whose own key is empty at the top.
pub(crate) fn below(table: &str, name: &str) -> String {
    let name = written(name);
    if table.is_empty() { name } else { format!("{table}.{name}") }
}

/// The first name of a key, and what follows its dot.
pub(crate) fn first(key: &str) -> (&str, Option<&str>) {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, letter) in key.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '.' if !is_quoted => return (&key[..at], Some(&key[at + 1..])),
            _ => {}
        }
    }
    (key, None)
}

/// A name as TOML writes it: what is more than letters, digits, `-` and `_` stands in quotation marks. So no two
/// keys are written alike, and none breaks the line in which it is told.
fn written(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { format!("{name:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_keys_are_written_alike() {
        assert_eq!(below("", "listen"), "listen");
        assert_eq!(below("limits", "connections"), "limits.connections");
        assert_eq!(below("", "limits.connections"), "\"limits.connections\"");
        assert_eq!(below("a", ""), "a.\"\"");
        assert_eq!(below("a", "b\n\"c"), r#"a."b\n\"c""#);
    }

    #[test]
    fn a_key_is_taken_apart_where_it_was_put_together() {
        for name in ["a", "A B", "a.b", "", "\"", "\\", "a\\\".b"] {
            let written = below("", name);
            assert_eq!(first(&written), (&*written, None));
            assert_eq!(first(&below(&written, "url")), (&*written, Some("url")));
        }
    }
}
