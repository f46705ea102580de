//! The two documents, and the search for an operation in them.

use std::{path::Path, sync::OnceLock};

use reqwest::Method;
use serde_json::{Map, Value};

use super::schema::Judge;

const FILES: [&str; 2] = ["openapi.json", "openapi-operator.json"];

/// One document with the validator of its schemas.
pub(super) struct Document {
    value: Value,
    judge: Judge,
}

/// Both documents.
pub(super) struct Documents([Document; 2]);

impl Documents {
    pub(super) fn get() -> &'static Self {
        static BOTH: OnceLock<Documents> = OnceLock::new();
        BOTH.get_or_init(|| Self(FILES.map(Document::read)))
    }

    pub(super) const fn each(&self) -> &[Document] {
        &self.0
    }

    pub(super) const fn merchants(&self) -> &Document {
        &self.0[0]
    }

    /// The operation that answers this method at this path.
    pub(super) fn operation(&'static self, method: &Method, path: &str) -> Option<Operation<'static>> {
        // Webhooks and tickets are also served under bare paths, which the documents do not show.
        let is_bare = ["/webhooks", "/tickets"].iter().any(|bare| begins_with(path, bare));
        let path = if is_bare { format!("/api/v1{path}") } else { path.to_owned() };
        self.0.iter().find_map(|document| document.operation(method, &path))
    }
}

fn begins_with(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Document {
    fn read(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
        let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let value: Value = serde_json::from_slice(&text).expect("a document is JSON");
        let judge = Judge::of(&value);
        Self { value, judge }
    }

    fn operation(&'static self, method: &Method, path: &str) -> Option<Operation<'static>> {
        let paths = self.value["paths"].as_object().expect("paths");
        let matching = paths.iter().filter(|(template, _)| fits(template, path));
        let (_, item) = matching.min_by_key(|(template, _)| template.matches('{').count())?;
        let operation = item.get(method.as_str().to_lowercase())?;
        Some(Operation { document: self, operation })
    }

    /// Method, path and body of every operation that has one.
    pub(super) fn request_bodies(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        let paths = self.value["paths"].as_object().into_iter().flatten();
        paths.flat_map(|(path, item)| {
            let operations = item.as_object().into_iter().flatten();
            operations.filter_map(move |(method, operation)| {
                Some((method.as_str(), path.as_str(), operation.get("requestBody")?))
            })
        })
    }

    /// Every operation, with its method and path.
    pub(super) fn operations(&self) -> Vec<(String, Value)> {
        let paths = self.value["paths"].as_object().into_iter().flatten();
        paths
            .flat_map(|(path, item)| {
                let operations = item.as_object().into_iter().flatten();
                operations.map(move |(method, operation)| (format!("{method} {path}"), operation.clone()))
            })
            .collect()
    }

    /// The target of a `$ref`, or the value itself.
    pub(super) fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        let reference = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        reference.map_or(value, |pointer| self.value.pointer(pointer).expect("a reference leads somewhere"))
    }

    pub(super) fn judge_answer(&self, schema: &Value, value: &Value) -> Result<(), String> {
        self.judge.answer(schema, value)
    }

    pub(super) fn judge_request(&self, schema: &Value, value: &Value) -> Result<(), String> {
        self.judge.request(schema, value)
    }
}

/// One operation of a document.
pub(super) struct Operation<'a> {
    pub(super) document: &'a Document,
    operation: &'a Value,
}

/// An operation's answer with one status.
pub(super) struct DocumentedAnswer<'a> {
    pub(super) headers: Vec<(&'a str, &'a Value)>,
    pub(super) content: Option<&'a Map<String, Value>>,
}

impl<'a> Operation<'a> {
    pub(super) fn answer(&self, status: u16) -> Option<DocumentedAnswer<'a>> {
        let answer = self.document.resolved(self.operation["responses"].get(status.to_string())?);
        let headers = answer["headers"].as_object().into_iter().flatten();
        let headers = headers.map(|(name, header)| (name.as_str(), self.document.resolved(header)));
        Some(DocumentedAnswer { headers: headers.collect(), content: answer["content"].as_object() })
    }

    pub(super) fn query_parameters(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let parameters = self.operation["parameters"].as_array().into_iter().flatten();
        let parameters = parameters.map(|parameter| self.document.resolved(parameter));
        let in_query = parameters.filter(|parameter| parameter["in"] == "query");
        in_query.map(|parameter| (parameter["name"].as_str().expect("a parameter has a name"), parameter))
    }

    pub(super) fn request_body(&self) -> Option<&'a Value> {
        self.operation.get("requestBody")
    }
}

/// Whether a path matches the template.
fn fits(template: &str, path: &str) -> bool {
    let (wanted, found): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
    let segment =
        |(wanted, found): (&&str, &&str)| wanted == found || wanted.starts_with('{') && !found.is_empty();
    wanted.len() == found.len() && wanted.iter().zip(&found).all(segment)
}

/// The fields of a query or a form.
pub(super) fn form(text: &str) -> impl Iterator<Item = (String, String)> {
    let url = reqwest::Url::parse(&format!("http://form/?{text}")).expect("a query");
    let fields: Vec<_> =
        url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    fields.into_iter()
}
