//! Why a file cannot be read.

/// Why a file is no statement. Nothing of it may be applied.
#[derive(Debug, thiserror::Error)]
pub enum StatementProblem {
    /// Its bytes cannot be read.
    #[error("the file cannot be read: {0}")]
    Unreadable(String),
    /// It is not well-formed XML.
    #[error("the file is malformed: {0}")]
    Malformed(String),
    /// It is not in UTF-8.
    #[error("the file is not in UTF-8")]
    NotUtf8,
    /// It declares a document type.
    #[error("the file declares a document type, which is not read")]
    DocType,
    /// It uses an entity that XML itself does not define.
    #[error("the file uses an entity that is not read")]
    Entity,
    /// Its elements are nested too deeply.
    #[error("the elements of the file are nested too deeply")]
    TooDeep,
    /// A text is too long.
    #[error("a text of the file is too long")]
    TooLong,
    /// It is XML and neither `camt.053` nor `camt.054`.
    #[error("the file is neither camt.053 nor camt.054")]
    NotAStatement,
    /// An entry lacks something, or has it in the wrong form.
    #[error("entry {entry} has no valid {what}")]
    Entry {
        /// The position of the entry in the file, from 1.
        entry: usize,
        /// The problem in words.
        what: &'static str,
    },
    /// There are more details than an entry can have.
    #[error("an entry has too many details")]
    TooMany,
}

impl StatementProblem {
    /// Why the reader of XML could not go on.
    pub(crate) fn of_reader(error: &quick_xml::Error) -> Self {
        match error {
            quick_xml::Error::Io(error) => Self::Unreadable(error.to_string()),
            other => Self::malformed(other),
        }
    }

    pub(crate) fn malformed(error: &dyn std::fmt::Display) -> Self {
        Self::Malformed(error.to_string())
    }
}
