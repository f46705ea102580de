//! The language of a server's messages. Waiting too long for a lock is told from other failures by its message.

use diesel::{pg::Pg, sql_types::Text};

use crate::{connection::Connection, error::Fault, statement::statement};

statement! { MessagesOf on Pg => Text {
    ; "SELECT current_setting('lc_messages')"
} }

/// The language of a session of the gateway, if its messages are not understood.
pub(crate) async fn not_understood(conn: &mut Connection) -> Result<Option<String>, Fault> {
    let Connection::Postgres(conn) = conn else { return Ok(None) };
    let language = diesel_async::RunQueryDsl::get_result::<String>(MessagesOf {}, &mut ***conn).await?;
    Ok(Some(language).filter(|language| !is_english(language)))
}

/// The server's own messages are English; an empty setting leaves them to the server's environment.
fn is_english(language: &str) -> bool {
    let (name, _encoding) = language.split_once('.').unwrap_or((language, ""));
    matches!(name, "" | "C" | "POSIX" | "en" | "English") || name.starts_with("en_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_goes_by_many_names() {
        for language in ["C", "C.UTF-8", "POSIX", "en_US.UTF-8", "en_GB", "en", ""] {
            assert!(is_english(language), "{language}");
        }
        for language in ["es_MX.UTF-8", "tr_TR", "de_DE.UTF-8", "ka_GE"] {
            assert!(!is_english(language), "{language}");
        }
    }
}
