//! A walk through an XML file, element by element, that refuses everything a bank file has no need of.

use std::io::BufRead;

use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

use crate::problem::StatementProblem;

/// How deep elements may lie in each other. ISO 20022 needs less than twenty.
const DEEPEST: usize = 64;
/// How long a text may be, in bytes. The longest field of a statement has 500 characters.
const LONGEST: usize = 16 * 1024;
/// How many attributes an element may have. Its root declares some namespaces, and amounts have a currency.
const MOST_ATTRIBUTES: usize = 32;

/// What the walk comes across.
pub(crate) enum Step {
    /// An element begins.
    Begin,
    /// An element ends; its text is complete.
    End,
}

/// Where the walk is.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    /// Local names from the root down, joined by slashes.
    path: String,
    depth: usize,
    text: String,
    currency: Option<String>,
    /// The namespaces of ISO 20022 that the root declares, by their prefixes.
    of_root: Vec<(Vec<u8>, String)>,
    namespace: Option<String>,
}

impl Cursor {
    /// Whether the present element's path ends with this one, whole names only.
    pub(crate) fn is_at(&self, end: &str) -> bool {
        self.path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    }

    /// The text of the element that ends, without white space around it.
    pub(crate) fn text(&self) -> &str {
        self.text.trim()
    }

    /// The attribute `Ccy` of the element that began last, if it has one.
    pub(crate) fn currency(&self) -> Option<&str> {
        self.currency.as_deref()
    }

    /// The namespace of the document, which may be the root or lie in an envelope.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    fn enter(&mut self, start: &BytesStart<'_>) -> Result<(), StatementProblem> {
        if self.depth == DEEPEST {
            return Err(StatementProblem::TooDeep);
        }
        let name = start.local_name();
        let name = std::str::from_utf8(name.as_ref()).map_err(|_| StatementProblem::NotUtf8)?;
        if !self.path.is_empty() {
            self.path.push('/');
        }
        self.path.push_str(name);
        self.depth += 1;
        self.text.clear();
        self.currency = None;
        // Every attribute is compared with all before it.
        if start.attributes().with_checks(false).count() > MOST_ATTRIBUTES {
            return Err(StatementProblem::Malformed("an element with too many attributes".to_owned()));
        }
        let is_document = name == "Document";
        let mut declared = Vec::new();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| StatementProblem::malformed(&error))?;
            let value = std::str::from_utf8(&attribute.value).map_err(|_| StatementProblem::NotUtf8)?;
            match attribute.key.as_ref() {
                b"Ccy" => self.currency = Some(value.to_owned()),
                key if (self.depth == 1 || is_document)
                    && key.starts_with(b"xmlns")
                    && value.contains(":iso:20022:") =>
                {
                    let prefix = key[5..].strip_prefix(b":").unwrap_or(&[]);
                    declared.push((prefix.to_owned(), value.to_owned()));
                }
                _ => {}
            }
        }
        if is_document {
            let prefix = start.name().prefix().map_or(&b""[..], |prefix| prefix.into_inner());
            let known = || declared.iter().chain(&self.of_root);
            let own = known().find(|(of, _)| of == prefix).or_else(|| known().next());
            self.namespace = own.map(|(_, namespace)| namespace.clone());
        }
        if self.depth == 1 {
            self.of_root = declared;
        }
        Ok(())
    }

    fn leave(&mut self) {
        let end = self.path.rfind('/').unwrap_or(0);
        self.path.truncate(end);
        self.depth = self.depth.saturating_sub(1);
        self.text.clear();
    }

    fn add(&mut self, text: &str) -> Result<(), StatementProblem> {
        if self.depth == 0 && !text.trim().is_empty() {
            return Err(StatementProblem::Malformed("text outside the document".to_owned()));
        }
        if self.text.len() + text.len() > LONGEST {
            return Err(StatementProblem::TooLong);
        }
        if !text.chars().all(is_xml) {
            return Err(StatementProblem::Malformed("a character that XML does not allow".to_owned()));
        }
        self.text.push_str(text);
        Ok(())
    }
}

/// Whether XML allows a character (XML 1.0, section 2.2); the reader of XML does not look.
fn is_xml(letter: char) -> bool {
    matches!(letter, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

/// Walks through the whole file and tells of every element's beginning and end.
pub(crate) fn walk(
    file: impl BufRead,
    mut visit: impl FnMut(&Step, &Cursor) -> Result<(), StatementProblem>,
) -> Result<(), StatementProblem> {
    let mut reader = Reader::from_reader(file);
    let (mut buffer, mut cursor, mut roots) = (Vec::new(), Cursor::default(), 0);
    loop {
        buffer.clear();
        let event =
            reader.read_event_into(&mut buffer).map_err(|error| StatementProblem::of_reader(&error))?;
        match event {
            Event::Start(start) => {
                roots += usize::from(cursor.depth == 0);
                cursor.enter(&start)?;
                visit(&Step::Begin, &cursor)?;
            }
            Event::Empty(start) => {
                roots += usize::from(cursor.depth == 0);
                cursor.enter(&start)?;
                visit(&Step::Begin, &cursor)?;
                visit(&Step::End, &cursor)?;
                cursor.leave();
            }
            Event::End(_) => {
                visit(&Step::End, &cursor)?;
                cursor.leave();
            }
            Event::Text(text) => {
                let text = text.decode().map_err(|_| StatementProblem::NotUtf8)?;
                cursor.add(&text)?;
            }
            Event::CData(text) => {
                let text = text.decode().map_err(|_| StatementProblem::NotUtf8)?;
                cursor.add(&text)?;
            }
            Event::GeneralRef(reference) => {
                let character =
                    reference.resolve_char_ref().map_err(|error| StatementProblem::malformed(&error))?;
                let name = reference.decode().map_err(|_| StatementProblem::NotUtf8)?;
                match (character, name.as_ref()) {
                    (Some(character), _) => cursor.add(character.encode_utf8(&mut [0; 4]))?,
                    (None, "amp") => cursor.add("&")?,
                    (None, "lt") => cursor.add("<")?,
                    (None, "gt") => cursor.add(">")?,
                    (None, "quot") => cursor.add("\"")?,
                    (None, "apos") => cursor.add("'")?,
                    (None, _) => return Err(StatementProblem::Entity),
                }
            }
            Event::DocType(_) => return Err(StatementProblem::DocType),
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) => {}
            Event::Eof if cursor.depth == 0 && roots == 1 => return Ok(()),
            Event::Eof => return Err(StatementProblem::Malformed("the file ends early".to_owned())),
        }
    }
}
