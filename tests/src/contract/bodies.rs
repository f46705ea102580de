//! Bodies generated from the documents, valid ones and ones with a fault, so that a test can compare the
//! gateway's judgement with the documents'.

use proptest::{
    prelude::Strategy,
    strategy::ValueTree as _,
    string::string_regex,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::document::{Document, Documents};

/// The body of an operation, as a document describes it.
pub struct DocumentedBody {
    /// The method of the operation.
    pub method: Method,
    /// Its path, with the names of variable segments in braces.
    pub path: String,
    document: &'static Document,
    schema: &'static Value,
}

impl DocumentedBody {
    /// Every body of both documents that is JSON.
    pub fn all() -> Vec<Self> {
        let documents = Documents::get().each().iter();
        documents
            .flat_map(|document| {
                document.request_bodies().filter_map(move |(method, path, body)| {
                    let schema = body.pointer("/content/application~1json/schema")?;
                    let method = method.to_uppercase().parse().expect("a method");
                    Some(Self { method, path: path.to_owned(), document, schema })
                })
            })
            .collect()
    }

    /// Judges a body by the schema; the error says what the schema does not allow.
    pub fn judge(&self, body: &Value) -> Result<(), String> {
        self.document.judge_request(self.schema, body)
    }
}

/// Generates bodies, the same ones from the same seed.
pub struct Maker(TestRunner);

impl Maker {
    /// A maker whose choices are determined by the seed.
    pub fn new(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        Self(TestRunner::new_with_rng(Config::default(), random))
    }

    /// A body that fits the schema, or one with a fault or two.
    pub fn body(&mut self, of: &DocumentedBody) -> Value {
        let mut body = self.value(of.document, of.schema);
        for _ in 0..self.below(3) {
            self.spoil(&mut body);
        }
        body
    }

    fn below(&mut self, bound: usize) -> usize {
        self.pick_from(0..bound)
    }

    fn pick_from<S: Strategy>(&mut self, strategy: S) -> S::Value {
        strategy.new_tree(&mut self.0).expect("it can be made").current()
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    fn value(&mut self, document: &'static Document, schema: &Value) -> Value {
        let schema = document.resolved(schema);
        if schema["nullable"] == true && self.below(6) == 0 {
            return Value::Null;
        }
        if let Some(values) = schema["enum"].as_array() {
            return self.one_of(values).clone();
        }
        if let Some(forms) = schema["oneOf"].as_array() {
            let form = self.one_of(forms).clone();
            return self.value(document, &form);
        }
        if let Some(whole) = schema["allOf"].as_array() {
            assert_eq!(whole.len(), 1, "a body is made of one part: {schema}");
            return self.value(document, &whole[0]);
        }
        match schema["type"].as_str() {
            Some("object") => self.object(document, schema),
            Some("array") => {
                let least = usize::try_from(schema["minItems"].as_u64().unwrap_or(0)).expect("a number");
                let items = least + self.below(3);
                (0..items).map(|_| self.value(document, &schema["items"])).collect()
            }
            Some("integer") => self.integer(schema),
            Some("boolean") => Value::Bool(self.below(2) == 0),
            Some("string") => Value::String(self.text(schema)),
            other => panic!("no value of type {other:?} can be made: {schema}"),
        }
    }

    fn object(&mut self, document: &'static Document, schema: &Value) -> Value {
        let required: Vec<_> = schema["required"].as_array().into_iter().flatten().collect();
        let mut made = Map::new();
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            if required.iter().any(|it| *it == name) || self.below(3) == 0 {
                made.insert(name.clone(), self.value(document, member));
            }
        }
        Value::Object(made)
    }

    fn integer(&mut self, schema: &Value) -> Value {
        let least = schema["minimum"].as_i64().unwrap_or(-1_000);
        let most = schema["maximum"].as_i64().unwrap_or(1_000_000);
        let between = self.pick_from(least..=most);
        json!(*self.one_of(&[least, most, between, most.min(100).max(least)]))
    }

    fn text(&mut self, schema: &Value) -> String {
        match schema["format"].as_str() {
            Some("date-time") => return "2087-01-31T12:00:00Z".to_owned(),
            Some("uri") => {
                let urls =
                    ["https://shop.example/a?b=c", "https://[2001:db8::1]:8443/", "HTTPS://Shop.Example"];
                return (*self.one_of(&urls)).to_owned();
            }
            Some("uuid") => return uuid::Uuid::new_v4().to_string(),
            Some("byte") => return PIXEL.to_owned(),
            _ => {}
        }
        let bound = |name: &str| schema[name].as_u64().and_then(|bound| usize::try_from(bound).ok());
        let (least, most) = (bound("minLength").unwrap_or(0), bound("maxLength").unwrap_or(300));
        let pattern = schema["pattern"].as_str().unwrap_or("[ -~ñß€😀]*");
        let pattern = pattern.trim_start_matches('^').trim_end_matches('$');
        let texts = string_regex(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        if schema["example"].is_string() && self.below(2) == 0 {
            return schema["example"].as_str().expect("a text").to_owned();
        }
        let open = pattern.ends_with('*');
        if open && self.below(4) == 0 {
            let length = *self.one_of(&[least, most]);
            return "x".repeat(length);
        }
        (0..1_000)
            .map(|_| self.pick_from(&texts))
            .find(|text| (least..=most).contains(&text.chars().count()))
            .unwrap_or_else(|| panic!("no text is made by {schema}"))
    }

    /// Puts a fault, or what may be one, in some place.
    fn spoil(&mut self, value: &mut Value) {
        let inside = match value {
            Value::Object(members) => members.len(),
            Value::Array(items) => items.len(),
            _ => 0,
        };
        if inside > 0 && self.below(4) > 0 {
            let at = self.below(inside);
            let part = match value {
                Value::Object(members) => members.values_mut().nth(at),
                Value::Array(items) => items.get_mut(at),
                _ => None,
            };
            return self.spoil(part.expect("a part"));
        }
        match (value, self.below(4)) {
            (Value::Object(members), 0) if !members.is_empty() => {
                let name = members.keys().nth(self.below(members.len())).expect("a member").clone();
                members.remove(&name);
            }
            (Value::Object(members), 1) => drop(members.insert("unheard_of".to_owned(), json!("x"))),
            (value, 0..=2) if value.is_string() => {
                let text = value.as_str().expect("a text").to_owned();
                let lengths = [33, 65, 129, 141, 201, 256, 501, 2_049, 10_001];
                *value = match self.below(7) {
                    0 => json!(""),
                    1 => json!(format!("{text}\u{7}")),
                    2 => json!(format!("{text}\u{85}")),
                    3 => json!(format!("{text}\n")),
                    4 => json!(text.to_lowercase()),
                    5 => json!(" "),
                    _ => json!("x".repeat(*self.one_of(&lengths))),
                };
            }
            (value, 0..=2) if value.is_number() => {
                let others =
                    [json!(0), json!(-1), json!(1.5), json!(9_007_199_254_740_992_u64), json!(u64::MAX)];
                *value = self.one_of(&others).clone();
            }
            (value, _) => {
                let others = [
                    json!(null),
                    json!(true),
                    json!(7),
                    json!(0.5),
                    json!("x"),
                    json!([]),
                    json!({}),
                    json!(["x"]),
                ];
                *value = self.one_of(&others).clone();
            }
        }
    }
}

/// A picture of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
