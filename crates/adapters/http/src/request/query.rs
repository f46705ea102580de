//! Query strings and list parameters (docs/API.md, "Lists").

use std::{collections::BTreeMap, fmt::Display, str::FromStr};

use quipu_kernel::{
    MerchantId, Page, Period, Problems, Timestamp, has_control_characters, has_control_characters_in_prose,
};

use crate::answer::ApiError;

/// The parameters of a query string, decoded. Parameters that no code asks for are ignored.
pub(crate) struct Query {
    parameters: Vec<(String, String)>,
    /// Whether all of it is UTF-8. Other bytes are decoded as U+FFFD.
    is_utf8: bool,
}

/// How many times U+FFFD occurs in a text.
fn replaced(text: &str) -> usize {
    text.matches('\u{fffd}').count()
}

impl Query {
    /// The members of a form, read like the parameters of a query.
    pub(crate) fn of_form(body: &[u8]) -> Result<Self, ApiError> {
        let text = str::from_utf8(body).map_err(|_| ApiError::validation("body", "must be a form"))?;
        Self::parse(text)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, ApiError> {
        let pairs = actix_web::web::Query::<Vec<(String, String)>>::from_query(text);
        let pairs = pairs.map_err(|_| ApiError::validation("query", "must be name=value pairs"))?;
        let parameters = pairs.into_inner();
        let decoded = parameters.iter().map(|(name, value)| replaced(name) + replaced(value)).sum::<usize>();
        let is_utf8 = decoded == replaced(text) + text.to_ascii_lowercase().matches("%ef%bf%bd").count();
        Ok(Self { parameters, is_utf8 })
    }

    /// All parameters by name, and the problems in how they were sent: a member that is sent twice is
    /// ambiguous. The problems name members as those of `object`.
    pub(crate) fn into_members_of(self, object: &str) -> (BTreeMap<String, String>, Problems) {
        let (mut members, mut problems) = (BTreeMap::new(), Problems::new());
        for (name, value) in self.parameters {
            let field = || format!("{object}.{name}");
            if !self.is_utf8 && replaced(&value) > 0 {
                problems.add(&field(), "must be UTF-8");
            }
            if members.contains_key(&name) {
                problems.add(&field(), "must be given only once");
            }
            members.insert(name, value);
        }
        (members, problems)
    }

    /// The text of a parameter that may be sent once.
    pub(crate) fn text(&self, name: &str, problems: &mut Problems) -> Option<&str> {
        let expected = "must be UTF-8 without control characters";
        self.checked_text(name, has_control_characters, expected, problems)
    }

    /// Like [`Query::text`], but tabs and line feeds are allowed.
    pub(crate) fn long_text(&self, name: &str, problems: &mut Problems) -> Option<&str> {
        let expected = "must be UTF-8 without control characters other than tab and line feed";
        self.checked_text(name, has_control_characters_in_prose, expected, problems)
    }

    fn checked_text(
        &self,
        name: &str,
        is_refused: fn(&str) -> bool,
        expected: &str,
        problems: &mut Problems,
    ) -> Option<&str> {
        let given = self.parameters.iter().filter(|(given, _)| given == name);
        let mut values = given.map(|(_, value)| value.as_str());
        let value = values.next()?;
        if values.next().is_some() {
            problems.add(name, "must be given only once");
        } else if is_refused(value) || (!self.is_utf8 && replaced(value) > 0) {
            problems.add(name, expected);
        } else {
            return Some(value);
        }
        None
    }

    /// A parameter parsed by its type's own rule.
    pub(crate) fn parsed<T: FromStr<Err: Display>>(&self, name: &str, problems: &mut Problems) -> Option<T> {
        let value = self.text(name, problems)?;
        value.parse().map_err(|error: T::Err| problems.add(name, error)).ok()
    }

    /// A parameter that may be sent several times, each value parsed by its type's own rule.
    pub(crate) fn parsed_all<T: FromStr<Err: Display>>(&self, name: &str, problems: &mut Problems) -> Vec<T> {
        let values = self.parameters.iter().filter(|(given, _)| given == name);
        let parsed = values
            .filter_map(|(_, value)| value.parse().map_err(|error: T::Err| problems.add(name, error)).ok());
        parsed.collect()
    }

    /// `limit` and `offset`.
    pub(crate) fn page(&self, problems: &mut Problems) -> Page {
        let limit = self.whole_number("limit", problems).unwrap_or(Page::DEFAULT_LIMIT.into());
        let offset = self.whole_number("offset", problems).unwrap_or(0);
        Page::read(limit, offset, problems).unwrap_or_default()
    }

    /// A whole number. Only digits are accepted: not `+1`, `1.0` or ` 1`. One that is too large for the type is the
    /// largest of it, which every caller refuses or finds nothing for.
    pub(crate) fn whole_number(&self, name: &str, problems: &mut Problems) -> Option<u64> {
        let value = self.text(name, problems)?;
        let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.then(|| value.parse().unwrap_or(u64::MAX));
        if number.is_none() {
            problems.add(name, "must be a whole number");
        }
        number
    }

    /// The start of a range of time. A plain date means its first instant.
    pub(crate) fn start_time(&self, name: &str, problems: &mut Problems) -> Option<Timestamp> {
        self.time(name, Timestamp::parse_beginning, problems)
    }

    /// The end of a range of time, included. A plain date means its last instant.
    pub(crate) fn end_time(&self, name: &str, problems: &mut Problems) -> Option<Timestamp> {
        self.time(name, Timestamp::parse_end, problems)
    }

    /// The period between `created_at_from` and `created_at_to`, both included.
    pub(crate) fn created(&self, problems: &mut Problems) -> Period {
        Period {
            from: self.start_time("created_at_from", problems),
            to: self.end_time("created_at_to", problems),
        }
    }

    /// The merchant of `merchant_id`. A number beyond all merchants' matches none.
    pub(crate) fn merchant(&self, problems: &mut Problems) -> Option<MerchantId> {
        let number = self.whole_number("merchant_id", problems)?;
        Some(MerchantId(i64::try_from(number).unwrap_or(i64::MAX)))
    }

    fn time(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Option<Timestamp>,
        problems: &mut Problems,
    ) -> Option<Timestamp> {
        let value = self.text(name, problems)?;
        // An unescaped plus sign arrives as a blank, and a time has no other blank.
        let value = value.replace(' ', "+");
        let time = parse(&value);
        if time.is_none() {
            problems.add(name, "must be an ISO 8601 date or instant");
        }
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Result<Page, Vec<String>> {
        let mut problems = Problems::new();
        let page = Query::parse(text).map_err(|_| vec![])?.page(&mut problems);
        if problems.is_empty() { Ok(page) } else { Err(problems.into_messages()) }
    }

    #[test]
    fn a_page_is_20_items_from_the_first_unless_asked_otherwise() {
        assert_eq!(page(""), Ok(Page::default()));
        assert_eq!(page("unknown=1&unknown=2"), Ok(Page::default()));
        assert_eq!(page("limit=100&offset=7"), Ok(Page::new(100, 7).expect("a page")));
    }

    #[test]
    fn an_invalid_or_repeated_parameter_is_a_problem() {
        for text in [
            "limit=0",
            "limit=101",
            "limit=",
            "limit=ten",
            "limit=1.5",
            "limit=%2B1",
            "limit=-1",
            "limit=1&limit=1",
            "limit=99999999999999999999999",
            "offset=-1",
            "offset=9007199254740992",
            "offset=%00",
            "offset=%FF",
        ] {
            assert_eq!(page(text).expect_err(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_repeatable_parameter_is_read_value_by_value() {
        let query = Query::parse("at=1&at=2&at=x&other=3").map_err(|_| ()).expect("pairs");
        let mut problems = Problems::new();
        assert_eq!(query.parsed_all::<u8>("at", &mut problems), [1, 2]);
        assert_eq!(problems.messages().len(), 1);
        assert!(query.parsed_all::<u8>("none", &mut problems).is_empty());
    }

    #[test]
    fn a_replacement_character_that_was_sent_is_a_character_like_others() {
        let text = |text: &str| {
            let (query, mut problems) = (Query::parse(text).map_err(|_| ()).expect("pairs"), Problems::new());
            query.text("a", &mut problems).map(str::to_owned)
        };
        assert_eq!(text("a=%EF%bf%BDx&b=1").as_deref(), Some("\u{fffd}x"));
        assert_eq!(text("a=%EF%BF%BDx%FF"), None);
        assert_eq!(text("a=x&b=%FF").as_deref(), Some("x"));
    }

    #[test]
    fn a_member_of_a_form_is_sent_once_and_in_utf_8() {
        let members =
            |text: &str| Query::parse(text).map_err(|_| ()).expect("pairs").into_members_of("payout");
        let (sent, problems) = members("bank_account=1&recipient_name=%C3%9A");
        assert_eq!((sent["bank_account"].as_str(), sent["recipient_name"].as_str()), ("1", "Ú"));
        assert!(problems.is_empty());
        let (_, problems) = members("bank_account=1&bank_account=2&recipient_name=a%ff");
        let told = ["payout.bank_account must be given only once", "payout.recipient_name must be UTF-8"];
        assert_eq!(problems.into_messages(), told);
    }

    #[test]
    fn dates_include_their_ends() {
        let query = "a=2026-01-31&b=2026-01-31T02:00:00+02:00&c=20260131&d=2026-01-31T00:00";
        let query = Query::parse(query).map_err(|_| ()).expect("pairs");
        let mut problems = Problems::new();
        let shown = |time: Option<Timestamp>| time.expect("a time").to_string();
        assert_eq!(shown(query.start_time("a", &mut problems)), "2026-01-31T00:00:00.000Z");
        assert_eq!(shown(query.end_time("a", &mut problems)), "2026-01-31T23:59:59.999Z");
        assert_eq!(shown(query.end_time("b", &mut problems)), "2026-01-31T00:00:00.000Z");
        assert_eq!(shown(query.end_time("c", &mut problems)), "2026-01-31T23:59:59.999Z");
        assert_eq!(shown(query.end_time("d", &mut problems)), "2026-01-31T00:00:00.000Z");
    }
}
