//! The machine-readable description of the interface: `OpenAPI` 3.0.3, one document for merchants and one for
//! staff.
//!
//! Each row of the route table has its [`Operation`], and a document is built from the rows, so every route
//! is in one. The schemas that operations name are in `openapi/*.json` beside `src`, one file for each area, each with an
//! example from which the whole bodies in the documents are made.

mod components;
mod document;
#[cfg(test)]
mod enumerations;
mod examples;
mod path_parameters;
mod responses;
mod schemas;

pub use document::Readers;
#[cfg(test)]
pub(crate) use document::described;
pub(crate) use document::document;

/// The document for these readers, as text.
pub fn openapi(readers: Readers) -> String {
    openapi_under("", readers)
}

/// The same for a public address whose path is `root`.
pub(crate) fn openapi_under(root: &str, readers: Readers) -> String {
    let mut text = format!("{:#}", document(readers, root));
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::route_table::route_table;

    fn both() -> [Value; 2] {
        [Readers::Merchants, Readers::Operators].map(|readers| document(readers, ""))
    }

    fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str));
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        for document in both() {
            let mut found = BTreeSet::new();
            references(&document, &mut found);
            for reference in found {
                let pointer = reference.strip_prefix('#').expect("a reference inside the document");
                assert!(document.pointer(pointer).is_some(), "{reference}");
            }
        }
    }

    #[test]
    fn no_component_is_left_over() {
        let documents = both();
        let mut found = BTreeSet::new();
        for document in &documents {
            references(document, &mut found);
        }
        for document in &documents {
            for kind in ["schemas", "parameters", "responses", "headers"] {
                for name in document["components"][kind].as_object().expect("components").keys() {
                    let reference = format!("#/components/{kind}/{name}");
                    assert!(found.contains(reference.as_str()), "{reference} is not used");
                }
            }
        }
    }

    #[test]
    fn every_route_is_in_one_document_and_the_reverse() {
        let documents = both();
        let written: BTreeSet<_> = documents
            .iter()
            .flat_map(|document| document["paths"].as_object().expect("paths"))
            .flat_map(|(path, item)| {
                let methods = item.as_object().expect("methods").keys();
                methods.map(move |method| (method.to_uppercase(), path.clone()))
            })
            .collect();
        let routes: BTreeSet<_> =
            route_table().map(|row| (row.method().to_owned(), row.path().to_owned())).collect();
        assert_eq!(written, routes);
    }

    #[test]
    fn every_operation_has_a_name_of_its_own() {
        for document in both() {
            let items = document["paths"].as_object().expect("paths").values();
            let operations = items.flat_map(|item| item.as_object().expect("methods").values());
            let names: Vec<_> =
                operations.map(|operation| operation["operationId"].as_str().expect("a name")).collect();
            let distinct: BTreeSet<_> = names.iter().collect();
            assert_eq!(distinct.len(), names.len());
        }
    }

    #[test]
    fn the_copies_in_docs_are_the_documents() {
        let copies = [
            (include_str!("../../../../../docs/openapi.json"), openapi(Readers::Merchants), ""),
            (
                include_str!("../../../../../docs/openapi-operator.json"),
                openapi(Readers::Operators),
                "-operator",
            ),
        ];
        for (copy, document, suffix) in copies {
            let flag = if suffix.is_empty() { "" } else { " --operator" };
            assert!(copy == document, "run: quipu openapi{flag} > docs/openapi{suffix}.json");
        }
    }
}
