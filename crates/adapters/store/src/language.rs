//! The language of a server's messages. Waiting too long for a lock is told from other failures by its message.

use diesel::{QueryResult, pg::Pg, sql_types::Text};
use diesel_async::{AsyncPgConnection, RunQueryDsl as _};

use crate::{connection::Connection, error::Fault, statement::statement};

statement! { MessagesOf on Pg => Text {
    ; "SELECT current_setting('lc_messages')"
} }

/// Warns of messages in a language that is not understood: what follows from it, and what an operator does about it.
pub(crate) fn warn(language: &str, consequence: &str) {
    tracing::warn!(
        language,
        "the messages of the database are not in English: {consequence}; \
         run `ALTER ROLE … SET lc_messages = 'C'` for the gateway's role, as a superuser"
    );
}

/// The language of a session of the gateway, if its messages are not understood.
pub(crate) async fn not_understood(conn: &mut Connection) -> Result<Option<String>, Fault> {
    let Connection::Postgres(conn) = conn else { return Ok(None) };
    Ok(of_session_not_understood(conn).await?)
}

/// The same of any session with a server.
pub(crate) async fn of_session_not_understood(conn: &mut AsyncPgConnection) -> QueryResult<Option<String>> {
    let language: String = MessagesOf {}.get_result(conn).await?;
    Ok(Some(language).filter(|language| !is_english(language)))
}

/// The server's own messages are English; an empty setting leaves them to the server's environment.
fn is_english(language: &str) -> bool {
    let name = language.split(['_', '-', '.', '@']).next().unwrap_or_default();
    matches!(name, "" | "C" | "POSIX" | "en" | "English")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_goes_by_many_names() {
        for language in
            ["C", "C.UTF-8", "POSIX", "en_US.UTF-8", "en_GB", "en-US", "en", "English_United States.1252", ""]
        {
            assert!(is_english(language), "{language}");
        }
        for language in ["es_MX.UTF-8", "tr_TR", "de_DE.UTF-8", "ka_GE"] {
            assert!(!is_english(language), "{language}");
        }
    }
}
