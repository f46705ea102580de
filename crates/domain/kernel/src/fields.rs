//! Reads the members of a JSON object, and notes everything that is wrong with them.
//!
//! A request is read through [`Fields`], which notes every member that is missing, of the wrong JSON type or out
//! of bounds, and reads on. The result is either a complete value or the whole list of [`Problems`], so that a
//! developer corrects a request once and not field after field.

use std::fmt::Display;

use serde_json::{Map, Value};

use crate::{
    blank::unless_blank,
    control_characters::{has_control_characters, has_control_characters_in_prose},
    money::Amount,
    problems::Problems,
    timestamp::Timestamp,
    web_url::is_web_url,
};

/// The first number that is too large for every integer here.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
/// The longest URL, in characters.
const MAX_URL: usize = 2048;
/// The most characters of an instant.
const MAX_INSTANT: usize = 64;

/// What is wrong with a number that no integer here can hold. A parser reads most of them as floats.
fn beyond_integers(value: &Value) -> Option<&'static str> {
    let number = value.as_f64().filter(|_| !value.is_i64())?;
    let too_large = (number >= TWO_TO_63).then_some("is too large");
    too_large.or_else(|| (number <= -TWO_TO_63).then_some("is too small"))
}

/// A reader over the members of one JSON object. `null` counts as absent throughout.
#[derive(Debug)]
pub struct Fields<'a> {
    path: String,
    members: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// Reads the top level of a request. Anything but an object is one problem.
    pub fn of_body(body: &'a Value) -> Result<Self, Problems> {
        match body {
            Value::Object(members) => Ok(Self { path: String::new(), members }),
            _ => Err(Problems::of("body", "must be a JSON object")),
        }
    }

    /// Reads an object within a request, whose members' paths begin with `path`.
    pub fn within(path: String, value: &'a Value) -> Option<Self> {
        Some(Self { path, members: value.as_object()? })
    }

    /// The dotted path of a member: `payout.bsb`.
    pub fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// The member, unless it is absent or `null`.
    pub fn value(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    /// Whether the member is there and not `null`.
    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// Notes the member if it is not there.
    pub fn require(&self, name: &str, problems: &mut Problems) {
        if !self.has(name) {
            problems.add(&self.path(name), "is required");
        }
    }

    /// The value of the member, or a note that it breaks `rule`.
    fn admitted<T>(&self, name: &str, value: Option<T>, rule: &str, problems: &mut Problems) -> Option<T> {
        if value.is_none() {
            problems.add(&self.path(name), rule);
        }
        value
    }

    /// Notes every member that is not among `known`.
    pub fn refuse_unknown(&self, known: &[&str], problems: &mut Problems) {
        for name in self.members.keys().filter(|name| !known.contains(&name.as_str())) {
            // A hostile name is cut, so that an answer cannot be blown up by its request.
            let shown: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
            problems.add(&self.path(&shown), "is not a known member");
        }
    }

    /// A nested object.
    pub fn object(&self, name: &str, problems: &mut Problems) -> Option<Fields<'a>> {
        let members = self.admitted(name, self.value(name)?.as_object(), "must be an object", problems)?;
        Some(Fields { path: self.path(name), members })
    }

    /// A text without control characters, of at most `max` characters. It may be empty.
    pub fn text(&self, name: &str, max: usize, problems: &mut Problems) -> Option<&'a str> {
        self.checked_text(name, max, has_control_characters, problems)
    }

    /// A web address of at most 2048 characters as it is sent: a character beyond ASCII is percent-encoded
    /// (RFC 3986, section 2.1), and counts three for each of its bytes.
    pub fn web_url(&self, name: &str, problems: &mut Problems) -> Option<&'a str> {
        let url = self.text(name, MAX_URL, problems)?;
        let beyond_ascii = url.bytes().filter(|byte| !byte.is_ascii()).count();
        if url.len() + 2 * beyond_ascii > MAX_URL {
            problems
                .add(&self.path(name), format_args!("must be at most {MAX_URL} characters, percent-encoded"));
            return None;
        }
        if !is_web_url(url) {
            problems.add(&self.path(name), "must be an http or https URL");
            return None;
        }
        Some(url)
    }

    /// Like [`Fields::text`], but tabs and line feeds are allowed.
    pub fn long_text(&self, name: &str, max: usize, problems: &mut Problems) -> Option<&'a str> {
        self.checked_text(name, max, has_control_characters_in_prose, problems)
    }

    fn checked_text(
        &self,
        name: &str,
        max: usize,
        refused: impl Fn(&str) -> bool,
        problems: &mut Problems,
    ) -> Option<&'a str> {
        let problem = match self.value(name)? {
            Value::String(text) if text.chars().count() > max => format!("must be at most {max} characters"),
            Value::String(text) if refused(text) => "must not contain control characters".to_owned(),
            Value::String(text) => return Some(text),
            _ => "must be a string".to_owned(),
        };
        problems.add(&self.path(name), problem);
        None
    }

    /// [`Fields::text`] as an owned `String`; a blank text counts as absent.
    pub fn optional_text(&self, name: &str, max: usize, problems: &mut Problems) -> Option<String> {
        self.text(name, max, problems).and_then(unless_blank).map(str::to_owned)
    }

    /// Like [`Fields::optional_text`], but tabs and line feeds are allowed.
    pub fn optional_long_text(&self, name: &str, max: usize, problems: &mut Problems) -> Option<String> {
        self.long_text(name, max, problems).and_then(unless_blank).map(str::to_owned)
    }

    /// A text that may be absent, but not blank.
    pub fn filled_text(&self, name: &str, max: usize, problems: &mut Problems) -> Option<&'a str> {
        let text = self.text(name, max, problems)?;
        self.admitted(name, unless_blank(text), "must not be blank", problems)
    }

    /// A text that must be there and not empty; blanks are enough.
    pub fn required_text(&self, name: &str, max: usize, problems: &mut Problems) -> Option<&'a str> {
        self.require(name, problems);
        let text = self.text(name, max, problems)?;
        self.admitted(name, Some(text).filter(|text| !text.is_empty()), "must not be empty", problems)
    }

    /// Like [`Fields::required_text`], but tabs and line feeds are allowed, and blanks alone are not enough.
    pub fn required_long_text(&self, name: &str, max: usize, problems: &mut Problems) -> Option<&'a str> {
        self.require(name, problems);
        let text = self.long_text(name, max, problems)?;
        self.admitted(name, unless_blank(text), "must not be empty", problems)
    }

    /// A text parsed by its type's own rule. If that fails, the problem is the error of that rule.
    pub fn parsed<T: std::str::FromStr<Err: Display>>(
        &self,
        name: &str,
        problems: &mut Problems,
    ) -> Option<T> {
        let text = self.text(name, 255, problems)?;
        text.parse().map_err(|error: T::Err| problems.add(&self.path(name), error)).ok()
    }

    /// A parsed text that must be there.
    pub fn required_parsed<T: std::str::FromStr<Err: Display>>(
        &self,
        name: &str,
        problems: &mut Problems,
    ) -> Option<T> {
        self.require(name, problems);
        self.parsed(name, problems)
    }

    /// Whether it is a number that is too large or too small for [`Self::integer`].
    pub fn is_beyond_integers(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| beyond_integers(value).is_some())
    }

    /// A whole number. `1.0` and `1e5` are decimal values and refused, whatever they amount to.
    pub fn integer(&self, name: &str, problems: &mut Problems) -> Option<i64> {
        let value = self.value(name)?;
        if !value.is_i64() {
            problems.add(&self.path(name), beyond_integers(value).unwrap_or("must be an integer"));
        }
        value.as_i64()
    }

    /// A whole number that must be there.
    pub fn required_integer(&self, name: &str, problems: &mut Problems) -> Option<i64> {
        self.require(name, problems);
        self.integer(name, problems)
    }

    /// An amount that must be there.
    pub fn required_amount(&self, name: &str, problems: &mut Problems) -> Option<Amount> {
        self.require(name, problems);
        self.amount(name, problems)
    }

    /// An amount, in minor units.
    pub fn amount(&self, name: &str, problems: &mut Problems) -> Option<Amount> {
        let amount = Amount::new(self.integer(name, problems)?).ok();
        self.admitted(name, amount, "must be from 1 to 2^53 - 1", problems)
    }

    /// An instant after `now`, at which something is to end by itself.
    pub fn future_instant(&self, name: &str, now: Timestamp, problems: &mut Problems) -> Option<Timestamp> {
        let text = self.text(name, MAX_INSTANT, problems)?;
        let at = Timestamp::parse(text).filter(|at| *at > now);
        self.admitted(name, at, "must be an ISO 8601 instant in the future", problems)
    }

    /// `true` or `false`.
    pub fn boolean(&self, name: &str, problems: &mut Problems) -> Option<bool> {
        self.admitted(name, self.value(name)?.as_bool(), "must be true or false", problems)
    }

    /// A list of at most `max` objects. The paths of the first object's members begin with `name.0`.
    pub fn objects(&self, name: &str, max: usize, problems: &mut Problems) -> Option<Vec<Fields<'a>>> {
        let items = self.value(name)?.as_array();
        let objects = items.and_then(|items| items.iter().map(Value::as_object).collect::<Option<Vec<_>>>());
        match objects {
            Some(objects) if objects.len() <= max => {
                let path = |place: usize| format!("{}.{place}", self.path(name));
                let fields = objects.into_iter().enumerate();
                return Some(fields.map(|(place, members)| Fields { path: path(place), members }).collect());
            }
            Some(_) => problems.add(&self.path(name), format_args!("must have at most {max} items")),
            None => problems.add(&self.path(name), "must be an array of objects"),
        }
        None
    }

    /// A list of at most `max` texts, none of which has control characters.
    pub fn texts(&self, name: &str, max: usize, problems: &mut Problems) -> Option<Vec<&'a str>> {
        let items = self.value(name)?.as_array();
        let texts = items.and_then(|items| items.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
        match texts {
            Some(texts) if texts.iter().any(|text| has_control_characters(text)) => {
                problems.add(&self.path(name), "must not contain control characters");
            }
            Some(texts) if texts.len() <= max => return Some(texts),
            Some(_) => problems.add(&self.path(name), format_args!("must have at most {max} items")),
            None => problems.add(&self.path(name), "must be an array of strings"),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_members_are_told_by_their_names() {
        let body = json!({"amount": 1, "colour": "red", "\u{7}bell": true});
        let mut problems = Problems::new();
        Fields::of_body(&body).expect("an object").refuse_unknown(&["amount"], &mut problems);
        let mut told = problems.into_messages();
        told.sort_unstable();
        assert_eq!(told, ["bell is not a known member", "colour is not a known member"]);
    }

    #[test]
    fn a_blank_text_counts_as_absent_and_lines_stay_in_a_long_one() {
        let body = json!({ "blank": " \t\u{a0}", "name": " Ana ", "note": "one\n\ttwo", "line": "one\ntwo" });
        let mut problems = Problems::new();
        let fields = Fields::of_body(&body).expect("an object");
        let mut short = |name| fields.optional_text(name, 10, &mut problems);
        assert_eq!([short("gone"), short("name"), short("line")], [None, Some(" Ana ".to_owned()), None]);
        let mut long = |name| fields.optional_long_text(name, 10, &mut problems);
        assert_eq!([long("gone"), long("blank"), long("note")], [None, None, Some("one\n\ttwo".to_owned())]);
        assert_eq!(problems.messages(), ["line must not contain control characters"]);
    }

    #[test]
    fn an_integer_beyond_all_others_is_too_large_or_too_small_and_not_of_another_type() {
        let told = |number: &str| {
            let body: Value = serde_json::from_str(&format!("{{\"amount\": {number}}}")).expect("JSON");
            let mut problems = Problems::new();
            let read = Fields::of_body(&body).expect("an object").integer("amount", &mut problems);
            (read, problems.into_messages().concat())
        };
        for (number, problem) in [
            ("9223372036854775808", "amount is too large"),
            ("18446744073709551616", "amount is too large"),
            ("-9223372036854775809", "amount is too small"),
            ("-99999999999999999999", "amount is too small"),
            ("12.0", "amount must be an integer"),
            ("1e2", "amount must be an integer"),
            ("\"12\"", "amount must be an integer"),
        ] {
            assert_eq!(told(number), (None, problem.to_owned()), "{number}");
        }
        for number in [i64::MIN, 0, i64::MAX] {
            assert_eq!(told(&number.to_string()), (Some(number), String::new()));
        }
    }

    #[test]
    fn an_end_is_an_instant_that_has_not_come() {
        let now = Timestamp::parse("2026-01-31T00:00:00Z").expect("an instant");
        let read = |at: Value| {
            let (body, mut problems) = (json!({ "expires_at": at }), Problems::new());
            let read =
                Fields::of_body(&body).expect("an object").future_instant("expires_at", now, &mut problems);
            (read.map(|at| at.to_string()), problems.into_messages())
        };
        assert_eq!(read(Value::Null), (None, vec![]));
        let later = "2026-01-31T00:00:00.001Z";
        assert_eq!(read(json!(later)), (Some(later.to_owned()), vec![]));
        for at in [json!("2026-01-31T00:00:00Z"), json!("soon")] {
            assert_eq!(
                read(at),
                (None, vec!["expires_at must be an ISO 8601 instant in the future".to_owned()])
            );
        }
    }

    #[test]
    fn every_problem_of_a_request_is_collected() {
        let body = json!({"amount": 1.0, "name": 7, "note": "a\u{0}b", "long": "xxxx", "list": [1], "ids": ["\u{0}"], "inner": []});
        let mut problems = Problems::new();
        let fields = Fields::of_body(&body).expect("an object");
        fields.integer("amount", &mut problems);
        fields.required_text("name", 10, &mut problems);
        fields.text("note", 10, &mut problems);
        fields.text("long", 3, &mut problems);
        fields.texts("list", 3, &mut problems);
        fields.texts("ids", 3, &mut problems);
        fields.object("inner", &mut problems);
        fields.required_text("gone", 3, &mut problems);
        let expected = [
            "amount must be an integer",
            "name must be a string",
            "note must not contain control characters",
            "long must be at most 3 characters",
            "list must be an array of strings",
            "ids must not contain control characters",
            "inner must be an object",
            "gone is required",
        ];
        assert_eq!(problems.messages(), expected);
    }

    #[test]
    fn the_length_of_a_url_is_that_of_its_encoded_form() {
        let read = |url: String| {
            let mut problems = Problems::new();
            let body = json!({ "url": url });
            let read = Fields::of_body(&body).expect("an object").web_url("url", &mut problems).is_some();
            (read, problems.messages().len())
        };
        let start = "https://shop.example/";
        assert_eq!(read(start.to_owned() + &"a".repeat(MAX_URL - start.len())), (true, 0));
        assert_eq!(read(start.to_owned() + &"a".repeat(MAX_URL - start.len() + 1)), (false, 1));
        assert_eq!(read(start.to_owned() + &"д".repeat((MAX_URL - start.len()) / 6)), (true, 0));
        assert_eq!(read(start.to_owned() + &"д".repeat((MAX_URL - start.len()) / 6 + 1)), (false, 1));
    }

    #[test]
    fn a_list_of_objects_is_read_item_by_item() {
        let body = json!({"files": [{"name": 7}, {}], "few": [1], "many": [{}, {}]});
        let fields = Fields::of_body(&body).expect("an object");
        let mut problems = Problems::new();
        for file in fields.objects("files", 2, &mut problems).expect("two objects") {
            file.required_long_text("name", 10, &mut problems);
        }
        assert!(fields.objects("few", 2, &mut problems).is_none());
        assert!(fields.objects("many", 1, &mut problems).is_none());
        let expected = [
            "files.0.name must be a string",
            "files.1.name is required",
            "few must be an array of objects",
            "many must have at most 1 items",
        ];
        assert_eq!(problems.messages(), expected);
    }

    #[test]
    fn each_kind_of_text_says_whether_it_may_be_blank_empty_or_absent() {
        let body = json!({"title": " \n\t", "name": "", "nick": " "});
        let fields = Fields::of_body(&body).expect("an object");
        let mut problems = Problems::new();
        assert_eq!(fields.required_long_text("title", 10, &mut problems), None);
        assert_eq!(fields.required_text("name", 10, &mut problems), None);
        assert_eq!(fields.filled_text("nick", 10, &mut problems), None);
        assert_eq!(fields.filled_text("none", 10, &mut problems), None);
        assert_eq!(fields.optional_text("nick", 10, &mut problems), None);
        let told = ["title must not be empty", "name must not be empty", "nick must not be blank"];
        assert_eq!(problems.messages(), told);
    }

    #[test]
    fn null_is_the_same_as_absent() {
        let body = json!({"amount": null});
        let fields = Fields::of_body(&body).expect("an object");
        assert_eq!(fields.integer("amount", &mut Problems::new()), None);
        assert!(!fields.has("amount"));
    }

    #[test]
    fn numbers_with_a_fraction_or_an_exponent_are_no_integers() {
        for text in
            ["1.0", "1e5", "-0", "1E2", "99999999999999999999", "18446744073709551615", "\"1\"", "true"]
        {
            let body: Value = serde_json::from_str(&format!("{{\"amount\":{text}}}")).expect("JSON");
            let mut problems = Problems::new();
            Fields::of_body(&body).expect("an object").integer("amount", &mut problems);
            assert!(!problems.is_empty(), "{text}");
        }
    }
}
