//! Schemas of OpenAPI 3.0, checked by a validator of JSON Schema.
//!
//! The validator does not know `nullable`, so each schema is rewritten for it. For answers a stricter form is
//! made as well, in which an object has only members that its schema names.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

/// The form in which a schema is written for the validator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As it is: further members are allowed.
    Request,
    /// No other members than the named ones are allowed.
    Answer,
    /// One part of an answer's `allOf`: the members are restricted by the whole.
    Part,
}

impl Form {
    const ALL: [Self; 3] = [Self::Request, Self::Answer, Self::Part];

    const fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Answer => "answer",
            Self::Part => "part",
        }
    }

    const fn of_part(self) -> Self {
        match self {
            Self::Request => Self::Request,
            Self::Answer | Self::Part => Self::Part,
        }
    }

    const fn of_member(self) -> Self {
        match self {
            Self::Request => Self::Request,
            Self::Answer | Self::Part => Self::Answer,
        }
    }
}

/// A reference to the schema of this name.
pub(super) fn named(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// Validates values by the schemas of one document.
pub(super) struct Judge {
    definitions: Map<String, Value>,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Judge {
    pub(super) fn of(document: &Value) -> Self {
        let schemas = document["components"]["schemas"].as_object().expect("schemas");
        let in_form = |form: Form| -> Value {
            schemas.iter().map(|(name, schema)| (name.clone(), rewritten(schema, form))).collect()
        };
        let definitions = Form::ALL.into_iter().map(|form| (form.name().to_owned(), in_form(form)));
        Self { definitions: definitions.collect(), validators: Mutex::default() }
    }

    pub(super) fn answer(&self, schema: &Value, value: &Value) -> Result<(), String> {
        self.judge(schema, Form::Answer, value)
    }

    pub(super) fn request(&self, schema: &Value, value: &Value) -> Result<(), String> {
        self.judge(schema, Form::Request, value)
    }

    fn judge(&self, schema: &Value, form: Form, value: &Value) -> Result<(), String> {
        let validator = self.validator(schema, form);
        let problems: Vec<_> = validator
            .iter_errors(value)
            .map(|error| format!("{error} (at {:?})", error.instance_path().as_str()))
            .collect();
        if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
    }

    fn validator(&self, schema: &Value, form: Form) -> Arc<Validator> {
        let mut validators = self.validators.lock().unwrap_or_else(PoisonError::into_inner);
        let validator = validators.entry(format!("{} {schema}", form.name()));
        let compile = || {
            let whole = json!({ "allOf": [rewritten(schema, form)], "$defs": self.definitions });
            let options = jsonschema::options().with_draft(Draft::Draft202012).should_validate_formats(true);
            Arc::new(options.build(&whole).unwrap_or_else(|error| panic!("{error}: {schema}")))
        };
        Arc::clone(validator.or_insert_with(compile))
    }
}

fn rewritten(schema: &Value, form: Form) -> Value {
    let Some(members) = schema.as_object() else { return schema.clone() };
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/components/schemas/")) {
        return json!({ "$ref": format!("#/$defs/{}/{name}", form.name()) });
    }
    let all = |schemas: &Value, form: Form| -> Value {
        schemas.as_array().into_iter().flatten().map(|schema| rewritten(schema, form)).collect()
    };
    let mut written = Map::new();
    for (keyword, value) in members {
        let value = match keyword.as_str() {
            "nullable" | "example" | "default" | "description" | "discriminator" => continue,
            "properties" => {
                let each = value.as_object().into_iter().flatten();
                each.map(|(name, schema)| (name.clone(), rewritten(schema, form.of_member()))).collect()
            }
            "items" | "additionalProperties" | "not" => rewritten(value, form.of_member()),
            "allOf" => all(value, form.of_part()),
            "oneOf" | "anyOf" => all(value, form),
            _ => value.clone(),
        };
        written.insert(keyword.clone(), value);
    }
    let names_members = written.contains_key("properties") || written.contains_key("allOf");
    if form == Form::Answer && names_members && !written.contains_key("additionalProperties") {
        written.insert("unevaluatedProperties".to_owned(), false.into());
    }
    if schema["nullable"] == true {
        return json!({ "anyOf": [{ "type": "null" }, written] });
    }
    written.into()
}
