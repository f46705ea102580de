//! A webhook endpoint: where a merchant is told, of what, and under which secret.

use std::{fmt, str::FromStr};

use quipu_kernel::{Entropy, Tenant, Timestamp, Unrecognised, wire_names};
use serde::Serialize;
use uuid::{Builder, Uuid};

use crate::{draft::EndpointPatch, error::EndpointError, name::EventName, target::TargetUrl};

/// An endpoint's identifier: a UUID.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct EndpointId(String);

impl EndpointId {
    /// A new one (UUID v7, so that later endpoints sort after earlier ones).
    pub fn new(at: Timestamp, entropy: &dyn Entropy) -> Self {
        let mut random = [0; 10];
        entropy.fill(&mut random);
        let millis = u64::try_from(at.millis()).unwrap_or(0);
        Self(Builder::from_unix_timestamp_millis(millis, &random).into_uuid().to_string())
    }

    /// An identifier as a store kept it.
    pub const fn restore(text: String) -> Self {
        Self(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for EndpointId {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        let hyphenated = Uuid::try_parse(text).ok().filter(|_| text.len() == 36);
        hyphenated.map(|id| Self(id.to_string())).ok_or(Unrecognised { expected: "a UUID" })
    }
}

impl fmt::Display for EndpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

wire_names! {
    /// Who made an endpoint.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Source {
        /// The merchant or the operator, on purpose. It hears what its subscription names.
        Admin = "admin",
        /// A payment whose request named its URL. It hears only of payments that named it, and is signed for with the merchant's
        /// default secret.
        InRequest = "in_request",
    }
}

/// Whether deliveries go out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// They do.
    Enabled,
    /// They do not, and nothing new is owed. The reason is ours; there is none where the merchant disabled it.
    Disabled(Option<String>),
}

/// A webhook endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Its identifier.
    pub id: EndpointId,
    /// Whose.
    pub tenant: Tenant,
    /// Who made it.
    pub source: Source,
    /// Where deliveries go.
    pub url: TargetUrl,
    /// What it is subscribed to, each event once.
    pub events: Vec<EventName>,
    /// The merchant's words about it.
    pub description: Option<String>,
    /// Its sealed secret; none for an in-request endpoint, whose deliveries the merchant's default secret signs.
    pub sealed_secret: Option<String>,
    /// Whether deliveries go out.
    pub standing: Standing,
    /// When the first attempt failed after the last one that succeeded.
    pub failing_since: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed, by a person or by the gateway.
    pub updated_at: Timestamp,
}

/// A change of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndpointChange {
    /// Other members.
    Update(EndpointPatch),
    /// Deliveries go out again.
    Enable,
    /// They stop.
    Disable,
}

impl Endpoint {
    /// How many endpoints a tenant may have, those that payments named not counted.
    pub const MOST: u32 = 50;

    /// The endpoint for a URL that a payment has named and no earlier one had.
    pub const fn named(
        id: EndpointId,
        tenant: Tenant,
        url: TargetUrl,
        events: Vec<EventName>,
        at: Timestamp,
    ) -> Self {
        Self {
            id,
            tenant,
            source: Source::InRequest,
            url,
            events,
            description: None,
            sealed_secret: None,
            standing: Standing::Enabled,
            failing_since: None,
            created_at: at,
            updated_at: at,
        }
    }

    /// What the sealed secret of an endpoint is bound to, so that a row copied elsewhere opens nothing.
    pub fn seal_context(id: &EndpointId) -> String {
        format!("webhook-endpoint/{id}/secret")
    }

    /// Whether deliveries go out.
    pub const fn is_enabled(&self) -> bool {
        matches!(self.standing, Standing::Enabled)
    }

    /// Whether an event is owed to it. `named` are the events for which the event's payment named this very endpoint, none
    /// where it did not.
    pub fn is_owed(&self, event: EventName, named: Option<&[EventName]>) -> bool {
        let wanted = match self.source {
            Source::Admin => Some(self.events.as_slice()),
            Source::InRequest => named,
        };
        self.is_enabled() && wanted.is_some_and(|wanted| wanted.contains(&event))
    }

    /// Applies a change that was asked for at `at`. An in-request endpoint is found by its address, which therefore stays.
    pub fn apply(&mut self, change: EndpointChange, at: Timestamp) -> Result<(), EndpointError> {
        match change {
            EndpointChange::Enable => self.enable(at),
            EndpointChange::Disable => self.disable(None, at),
            EndpointChange::Update(patch) => {
                let before = (self.url.clone(), self.events.clone(), self.description.clone());
                if let Some(url) = patch.url.filter(|url| *url != self.url) {
                    self.move_to(url)?;
                }
                self.events = patch.events.unwrap_or_else(|| std::mem::take(&mut self.events));
                if let Some(text) = patch.description {
                    self.description = Some(text).filter(|text| !text.is_empty());
                }
                if before != (self.url.clone(), self.events.clone(), self.description.clone()) {
                    self.updated_at = at;
                }
            }
        }
        Ok(())
    }

    /// Gives it another address. How the former one failed counts no longer.
    fn move_to(&mut self, url: TargetUrl) -> Result<(), EndpointError> {
        if self.source == Source::InRequest {
            return Err(EndpointError::AddressFixed);
        }
        self.url = url;
        self.failing_since = None;
        Ok(())
    }

    /// Lets deliveries go out from `at` on. What failed before counts no longer.
    pub fn enable(&mut self, at: Timestamp) {
        if !self.is_enabled() {
            self.standing = Standing::Enabled;
            self.failing_since = None;
            self.updated_at = at;
        }
    }

    /// Stops deliveries at `at`; `reason` is `None` if the merchant asked for it. An endpoint that is disabled already
    /// keeps its reason.
    pub fn disable(&mut self, reason: Option<String>, at: Timestamp) {
        if self.is_enabled() {
            self.standing = Standing::Disabled(reason);
            self.updated_at = at;
        }
    }
}

/// An endpoint as it is shown.
#[derive(Debug, Serialize)]
pub struct EndpointView<'a> {
    id: &'a EndpointId,
    url: &'a str,
    events: Vec<&'static str>,
    enabled: bool,
    source: Source,
    description: Option<&'a str>,
    disabled_reason: Option<&'a str>,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'a str>,
}

impl<'a> EndpointView<'a> {
    /// Without its secret.
    pub fn of(endpoint: &'a Endpoint) -> Self {
        let disabled_reason = match &endpoint.standing {
            Standing::Enabled => None,
            Standing::Disabled(reason) => reason.as_deref(),
        };
        Self {
            id: &endpoint.id,
            url: endpoint.url.as_str(),
            events: endpoint.events.iter().map(|name| name.as_str()).collect(),
            enabled: endpoint.is_enabled(),
            source: endpoint.source,
            description: endpoint.description.as_deref(),
            disabled_reason,
            created_at: endpoint.created_at,
            updated_at: endpoint.updated_at,
            secret: None,
        }
    }

    /// With its secret, for the one answer that shows it.
    pub const fn with_secret(mut self, secret: &'a str) -> Self {
        self.secret = Some(secret);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        draft::EndpointPatch,
        samples::{NOON, endpoint},
    };

    #[test]
    fn an_identifier_is_a_hyphenated_uuid() {
        let id = endpoint(Source::Admin).id;
        assert_eq!(id.as_str().parse(), Ok(id.clone()));
        assert_eq!(id.as_str().to_uppercase().parse(), Ok(id.clone()));
        for text in ["", "x", &id.as_str().replace('-', ""), &format!("{{{id}}}"), &format!("{id} ")] {
            assert!(text.parse::<EndpointId>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_configured_endpoint_hears_its_subscription_and_a_named_one_what_the_payment_named() {
        let (completed, refunded) = (EventName::PaymentCompleted, EventName::PaymentRefunded);
        for (source, subscribed, named, event, owed) in [
            (Source::Admin, completed, None, completed, true),
            (Source::Admin, completed, None, refunded, false),
            (Source::Admin, completed, Some(refunded), refunded, false),
            (Source::InRequest, completed, None, completed, false),
            (Source::InRequest, completed, Some(refunded), refunded, true),
            (Source::InRequest, completed, Some(refunded), completed, false),
        ] {
            let endpoint = Endpoint { events: vec![subscribed], ..endpoint(source) };
            let named = named.map(|name| vec![name]);
            assert_eq!(endpoint.is_owed(event, named.as_deref()), owed, "{source:?} {named:?} {event:?}");
        }
    }

    #[test]
    fn nothing_is_owed_to_an_endpoint_while_it_is_disabled() {
        for source in [Source::Admin, Source::InRequest] {
            let mut endpoint = endpoint(source);
            let event = endpoint.events[0];
            endpoint.failing_since = Some(NOON);
            endpoint.disable(Some("gone".to_owned()), NOON);
            assert!(!endpoint.is_owed(event, Some(&[event])));
            endpoint.disable(None, NOON);
            assert_eq!(endpoint.standing, Standing::Disabled(Some("gone".to_owned())));
            endpoint.enable(NOON);
            assert!(endpoint.is_owed(event, Some(&[event])));
            assert_eq!(endpoint.failing_since, None);
        }
    }

    #[test]
    fn a_change_touches_what_it_names_and_an_in_request_address_stays() {
        let later = NOON.plus(std::time::Duration::from_secs(1));
        let moved = TargetUrl::restore("https://moved.example/".to_owned());
        let patch = EndpointPatch { url: Some(moved.clone()), ..EndpointPatch::default() };
        let mut endpoint = endpoint(Source::Admin);
        endpoint.failing_since = Some(NOON);
        endpoint.apply(EndpointChange::Update(EndpointPatch::default()), later).expect("applied");
        assert_eq!((endpoint.updated_at, endpoint.failing_since), (NOON, Some(NOON)));
        endpoint.apply(EndpointChange::Update(patch.clone()), later).expect("applied");
        assert_eq!((&endpoint.url, endpoint.updated_at), (&moved, later));
        assert_eq!(endpoint.failing_since, None, "that was at the former address");
        let words = EndpointPatch { description: Some("shop".to_owned()), ..EndpointPatch::default() };
        endpoint.apply(EndpointChange::Update(words), later).expect("applied");
        assert_eq!(endpoint.description.as_deref(), Some("shop"));

        let mut named = crate::samples::endpoint(Source::InRequest);
        assert!(matches!(
            named.apply(EndpointChange::Update(patch), later),
            Err(EndpointError::AddressFixed)
        ));
        named.apply(EndpointChange::Disable, later).expect("applied");
        assert_eq!(named.standing, Standing::Disabled(None));
    }

    #[test]
    fn an_endpoint_shows_its_secret_only_where_it_is_asked_to() {
        let endpoint = endpoint(Source::Admin);
        let shown = serde_json::to_value(EndpointView::of(&endpoint)).expect("JSON");
        let expected = serde_json::json!({
            "id": endpoint.id.as_str(), "url": "https://shop.example/hooks", "events": ["payment.completed"],
            "enabled": true, "source": "admin", "description": null, "disabled_reason": null,
            "created_at": "2025-11-21T12:00:00.000Z", "updated_at": "2025-11-21T12:00:00.000Z",
        });
        assert_eq!(shown, expected);
        let shown = serde_json::to_value(EndpointView::of(&endpoint).with_secret("whsec_x")).expect("JSON");
        assert_eq!(shown["secret"], "whsec_x");
    }
}
