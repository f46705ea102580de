//! JSON as requests send it, in which no object gives a member twice.
//!
//! Parsers differ in which of two members they take (RFC 8259, section 4): a proxy or a fraud filter could judge
//! another amount, or another account, than the one that is paid.

use std::{
    cell::{Cell, RefCell},
    fmt,
};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, map::Entry};

/// What is wrong with a text. It is not in the parser's words, which may quote the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// It is not JSON.
    Syntax,
    /// It holds a number that is larger than a float can be; JSON itself has no largest number (RFC 8259, section 6).
    TooLarge,
    /// Its objects and arrays are nested deeper than [`DEEPEST`].
    TooDeep,
    /// It holds more than [`MOST_VALUES`] values.
    TooMany,
    /// This member, a dotted path, is given twice.
    Twice(String),
}

/// The most objects and arrays that may lie in each other, which is what the parser reads.
pub(crate) const DEEPEST: usize = 127;
/// The most values of a text, those within each other included. In memory each may take a hundred times as much as it does in
/// the text.
pub(crate) const MOST_VALUES: usize = 20_000;
/// The most bytes of a name in a path. A longer one, which is no name of ours, is left out of it.
const LONGEST_NAME: usize = 64;

/// Parses a text.
pub(crate) fn parse(text: &[u8]) -> Result<Value, Flaw> {
    let (twice, left) = (RefCell::new(None), Cell::new(MOST_VALUES));
    let mut parser = serde_json::Deserializer::from_slice(text);
    let parsed = Strict { twice: &twice, left: &left }.deserialize(&mut parser);
    parsed.and_then(|value| parser.end().map(|()| value)).map_err(|error| match twice.take() {
        Some(path) => Flaw::Twice(path),
        None => flaw_of(&error),
    })
}

/// What [`Strict`] reports of a text with too many values.
const TOO_MANY: &str = "too many values";

/// The parser reports these cases only in these texts.
fn flaw_of(error: &serde_json::Error) -> Flaw {
    let text = error.to_string();
    if text.starts_with("number out of range") {
        Flaw::TooLarge
    } else if text.starts_with("recursion limit exceeded") {
        Flaw::TooDeep
    } else if text.starts_with(TOO_MANY) {
        Flaw::TooMany
    } else {
        Flaw::Syntax
    }
}

/// Reads a value.
#[derive(Clone, Copy)]
struct Strict<'a> {
    /// The path of the member that was found twice, from the value that is being read on.
    twice: &'a RefCell<Option<String>>,
    /// How many more values there may be.
    left: &'a Cell<usize>,
}

impl Strict<'_> {
    /// Puts the place of a value in front of the path that was found in it.
    fn at(self, place: &str) {
        self.twice.replace_with(|path| path.take().map(|path| format!("{}.{path}", shown(place))));
    }
}

fn shown(name: &str) -> &str {
    if name.len() <= LONGEST_NAME { name } else { "…" }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let left = self.left.get().checked_sub(1).ok_or_else(|| D::Error::custom(TOO_MANY))?;
        self.left.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) =
            items.next_element_seed(self).inspect_err(|_| self.at(&array.len().to_string()))?
        {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            match object.entry(name) {
                Entry::Vacant(place) => {
                    let value = members.next_value_seed(self).inspect_err(|_| self.at(place.key()))?;
                    place.insert(value);
                }
                Entry::Occupied(given) => {
                    self.twice.replace(Some(shown(given.key()).to_owned()));
                    return Err(A::Error::custom("a member is given twice"));
                }
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_read_as_it_is_written() {
        for (text, value) in [
            ("null", json!(null)),
            (
                " [true, false, -1, 1, 18446744073709551615, 1.5e3] ",
                json!([true, false, -1, 1, u64::MAX, 1500.0]),
            ),
            (r#"{"a": {"b": "\u00e9\n"}, "": []}"#, json!({"a": {"b": "é\n"}, "": []})),
        ] {
            assert_eq!(parse(text.as_bytes()), Ok(value.clone()), "{text}");
            assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), value);
        }
    }

    #[test]
    fn a_member_is_given_once() {
        for (text, path) in [
            (r#"{"amount": 1, "amount": 1}"#, "amount"),
            (r#"{"amount": 1, "\u0061mount": 2}"#, "amount"),
            (r#"{"payout": {"account": "1", "account": "2"}}"#, "payout.account"),
            (r#"{"files": [{}, {"name": 1, "size": 2, "name": 3}]}"#, "files.1.name"),
            (r#"{"a": 1, "a": "#, "a"),
            (&format!(r#"{{"{0}": {{"{0}": 1, "{0}": 1}}}}"#, "x".repeat(65)), "….…"),
        ] {
            assert_eq!(parse(text.as_bytes()), Err(Flaw::Twice(path.to_owned())), "{text}");
        }
        assert!(parse(br#"{"a": {"b": 1}, "b": {"a": 1}}"#).is_ok());
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["", "{", "nonsense", "{}{}", "NaN", "\"\u{1}\"", "{\"a\": {\"b\": 1,}}"] {
            assert_eq!(parse(text.as_bytes()), Err(Flaw::Syntax), "{text}");
        }
        for depth in [DEEPEST + 1, 100_000] {
            assert_eq!(parse("[".repeat(depth).as_bytes()), Err(Flaw::TooDeep));
        }
        let zeros = |many| format!("[{}0]", "0,".repeat(many - 1));
        assert_eq!(parse(zeros(MOST_VALUES).as_bytes()), Err(Flaw::TooMany), "with the array itself");
        assert!(parse(zeros(MOST_VALUES - 1).as_bytes()).is_ok());
        assert!(parse(("[".repeat(DEEPEST) + &"]".repeat(DEEPEST)).as_bytes()).is_ok());
        assert_eq!(parse(b"\"\xff\""), Err(Flaw::Syntax));
        assert_eq!(parse(b"{\"a\": -1e999}"), Err(Flaw::TooLarge));
    }
}
