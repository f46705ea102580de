//! The requests of merchants about endpoints.

use quipu_kernel::{Environment, Fields, Problems};
use quipu_signing::WebhookSecret;
use serde_json::Value;

use crate::{name::EventName, target::TargetUrl};

/// The longest description, in characters.
const LONGEST_DESCRIPTION: usize = 500;

/// A valid request for a new endpoint.
#[derive(Debug, Clone)]
pub struct EndpointDraft {
    pub(crate) url: TargetUrl,
    pub(crate) events: Vec<EventName>,
    pub(crate) description: Option<String>,
    pub(crate) secret: Option<WebhookSecret>,
}

impl EndpointDraft {
    /// Reads the body of a request, or answers all its problems. Unknown members are ignored; `null` is the
    /// same as leaving a member out.
    pub fn parse(body: &Value, environment: Environment) -> Result<Self, Problems> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let p = &mut problems;
        fields.require("url", p);
        let url = TargetUrl::read(&fields, "url", environment, p);
        let events = EventName::read_list(&fields, "events", p);
        let description = fields.long_text("description", LONGEST_DESCRIPTION, p).map(str::to_owned);
        let secret = read_secret(&fields, p);
        let events = events.unwrap_or_else(|| EventName::DEFAULTS.to_vec());
        let description = description.filter(|text| !text.is_empty());
        problems.admit(url).map(|url| Self { url, events, description, secret })
    }
}

fn read_secret(fields: &Fields<'_>, problems: &mut Problems) -> Option<WebhookSecret> {
    let text = fields.text("secret", 255, problems)?;
    WebhookSecret::parse(text).map_err(|error| problems.add("secret", error)).ok()
}

/// A valid request to change an endpoint; absent members stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndpointPatch {
    /// The new URL for deliveries.
    pub url: Option<TargetUrl>,
    /// The new subscription.
    pub events: Option<Vec<EventName>>,
    /// The new description; the empty text removes it.
    pub description: Option<String>,
}

impl EndpointPatch {
    /// Reads the body of a request, or answers all its problems.
    pub fn parse(body: &Value, environment: Environment) -> Result<Self, Problems> {
        let fields = Fields::of_body(body)?;
        let mut problems = Problems::new();
        let p = &mut problems;
        let patch = Self {
            url: TargetUrl::read(&fields, "url", environment, p),
            events: EventName::read_list(&fields, "events", p),
            description: fields.long_text("description", LONGEST_DESCRIPTION, p).map(str::to_owned),
        };
        problems.into_result().map(|()| patch)
    }
}

impl EventName {
    /// Reads a member that lists events; a name that is given twice counts once.
    pub fn read_list(fields: &Fields<'_>, name: &str, problems: &mut Problems) -> Option<Vec<Self>> {
        let texts = fields.texts(name, 100, problems)?;
        let mut events = Vec::with_capacity(Self::ALL.len().min(texts.len()));
        for text in &texts {
            match text.parse::<Self>() {
                Ok(event) if events.contains(&event) => {}
                Ok(event) => events.push(event),
                Err(_) => {
                    problems.add(&fields.path(name), "must be known event names, such as payment.completed");
                    return None;
                }
            }
        }
        if events.is_empty() {
            problems.add(&fields.path(name), "must name at least one event");
            return None;
        }
        Some(events)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(body: &Value) -> Result<EndpointDraft, Vec<String>> {
        EndpointDraft::parse(body, Environment::Test).map_err(Problems::into_messages)
    }

    #[test]
    fn a_url_is_enough_and_subscribes_to_the_four_defaults() {
        let draft = parse(&json!({"url": "http://a.b", "description": "", "whatever": 1})).expect("valid");
        assert_eq!(draft.events, EventName::DEFAULTS);
        assert!(draft.description.is_none() && draft.secret.is_none());
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let body =
            json!({"url": 7, "events": ["payment.paid"], "description": "a\u{0}", "secret": "whsec_short"});
        let expected = [
            "url must be a string",
            "events must be known event names, such as payment.completed",
            "description must not contain control characters",
            "secret must be whsec_ and base64 of 24 to 64 bytes",
        ];
        assert_eq!(parse(&body).expect_err("wrong"), expected);
        assert_eq!(parse(&json!({})).expect_err("empty"), ["url is required"]);
        assert_eq!(parse(&json!([])).expect_err("a list"), ["body must be a JSON object"]);
        let none = parse(&json!({"url": "http://a.b", "events": []})).expect_err("no event");
        assert_eq!(none, ["events must name at least one event"]);
    }

    #[test]
    fn every_event_can_be_subscribed_to_and_counts_once() {
        let mut names: Vec<_> = EventName::ALL.iter().map(|name| name.as_str()).collect();
        names.push("ticket.created");
        let draft = parse(&json!({"url": "http://a.b", "events": names})).expect("valid");
        assert_eq!(draft.events, EventName::ALL);
    }

    #[test]
    fn a_change_touches_only_what_it_names() {
        let patch = |body| EndpointPatch::parse(&body, Environment::Live).map_err(Problems::into_messages);
        assert_eq!(patch(json!({"events": null})), Ok(EndpointPatch::default()));
        let changed = patch(json!({"url": "https://c.d", "description": ""})).expect("valid");
        assert_eq!((changed.url.expect("given").as_str(), changed.events), ("https://c.d", None));
        assert_eq!(changed.description.as_deref(), Some(""));
        let wrong = patch(json!({"url": "http://c.d", "events": "all"})).expect_err("wrong");
        assert_eq!(
            wrong,
            ["url must be an https URL in the live environment", "events must be an array of strings"]
        );
    }
}
