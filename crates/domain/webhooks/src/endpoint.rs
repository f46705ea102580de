//! A webhook endpoint: the URL, the subscription and the secret with which a merchant is told of events.

use std::{fmt, str::FromStr, time::Duration};

use quipu_kernel::{Entropy, Tenant, Timestamp, Unrecognised, read_uuid, uuid_v7, wire_names};
use serde::Serialize;

use crate::{
    draft::EndpointPatch,
    error::{EndpointError, MOST_ENDPOINTS},
    name::EventName,
    target::TargetUrl,
};

/// An endpoint's identifier: a UUID.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct EndpointId(String);

impl EndpointId {
    /// A new one (UUID v7, so that later endpoints sort after earlier ones).
    pub fn new(at: Timestamp, entropy: &dyn Entropy) -> Self {
        Self(uuid_v7(at, entropy))
    }

    /// An identifier that was read from a store.
    pub const fn restore(text: String) -> Self {
        Self(text)
    }

    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for EndpointId {
    type Err = Unrecognised;

    fn from_str(text: &str) -> Result<Self, Unrecognised> {
        read_uuid(text).map(Self).ok_or(Unrecognised { expected: "a UUID" })
    }
}

impl fmt::Display for EndpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

wire_names! {
    /// How an endpoint came to be.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Source {
        /// The merchant or the operator made it. It gets the events of its subscription.
        Admin = "admin",
        /// A payment's request named its URL. It gets only events of payments that named it, signed with the
        /// merchant's default secret.
        InRequest = "in_request",
    }
}

/// Whether an endpoint is enabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Enablement {
    /// Deliveries are sent.
    Enabled,
    /// Deliveries are not sent, and no new ones are made. The text is our reason; `None` if the merchant
    /// disabled it.
    Disabled(Option<String>),
}

/// A webhook endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The identifier of the endpoint.
    pub id: EndpointId,
    /// The tenant that owns it.
    pub tenant: Tenant,
    /// How it came to be.
    pub source: Source,
    /// The URL that deliveries are sent to.
    pub url: TargetUrl,
    /// The events of its subscription, each once.
    pub events: Vec<EventName>,
    /// The merchant's description.
    pub description: Option<String>,
    /// Its sealed secret; `None` for an in-request endpoint, whose deliveries are signed with the merchant's
    /// default secret.
    pub sealed_secret: Option<String>,
    /// Whether it is enabled.
    pub enablement: Enablement,
    /// When the first attempt after the last success failed (UTC); `None` if no attempt has failed since.
    pub failing_since: Option<Timestamp>,
    /// When it was made (UTC).
    pub created_at: Timestamp,
    /// When a person or the gateway last changed it (UTC).
    pub updated_at: Timestamp,
}

/// A change of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndpointChange {
    /// Sets other members.
    Update(EndpointPatch),
    /// Lets deliveries be sent again.
    Enable,
    /// Stops deliveries.
    Disable,
}

impl Endpoint {
    /// The most endpoints of a tenant, not counting those that payments named.
    pub const MOST: u32 = MOST_ENDPOINTS;

    /// How long a removed endpoint is remembered. A commit that read it before the removal may still add
    /// deliveries to it; it takes a few seconds at most.
    pub const REMAINS_FOR: Duration = Duration::from_mins(1);

    /// The endpoint for a URL that a payment has named for the first time.
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
            enablement: Enablement::Enabled,
            failing_since: None,
            created_at: at,
            updated_at: at,
        }
    }

    /// The context to which the sealed secret of an endpoint is bound, so that a row copied elsewhere opens
    /// nothing.
    pub fn seal_context(id: &EndpointId) -> String {
        format!("webhook-endpoint/{id}/secret")
    }

    /// Whether deliveries are sent.
    pub const fn is_enabled(&self) -> bool {
        matches!(self.enablement, Enablement::Enabled)
    }

    /// Whether the endpoint gets an event. `named` are the events for which the event's payment named this
    /// endpoint; `None` if it did not name it.
    pub fn is_owed(&self, event: EventName, named: Option<&[EventName]>) -> bool {
        let wanted = match self.source {
            Source::Admin => Some(self.events.as_slice()),
            Source::InRequest => named,
        };
        self.is_enabled() && wanted.is_some_and(|wanted| wanted.contains(&event))
    }

    /// Applies a change that was asked for at `at`. The URL of an in-request endpoint cannot change, since
    /// payments find it by the URL.
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

    /// Sets another URL. Failures of the former one no longer count.
    fn move_to(&mut self, url: TargetUrl) -> Result<(), EndpointError> {
        if self.source == Source::InRequest {
            return Err(EndpointError::AddressFixed);
        }
        self.url = url;
        self.failing_since = None;
        Ok(())
    }

    /// Lets deliveries be sent from `at` on. Earlier failures no longer count.
    pub fn enable(&mut self, at: Timestamp) {
        if !self.is_enabled() {
            self.enablement = Enablement::Enabled;
            self.failing_since = None;
            self.updated_at = at;
        }
    }

    /// Stops deliveries at `at`; `reason` is `None` if the merchant asked for it. An endpoint that is already
    /// disabled keeps its reason.
    pub fn disable(&mut self, reason: Option<String>, at: Timestamp) {
        if self.is_enabled() {
            self.enablement = Enablement::Disabled(reason);
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
    /// The endpoint without its secret.
    pub fn of(endpoint: &'a Endpoint) -> Self {
        let disabled_reason = match &endpoint.enablement {
            Enablement::Enabled => None,
            Enablement::Disabled(reason) => reason.as_deref(),
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

    /// The same with its secret, for the one answer that shows it.
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
        fixtures::{NOON, endpoint},
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
            assert_eq!(endpoint.enablement, Enablement::Disabled(Some("gone".to_owned())));
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

        let mut named = crate::fixtures::endpoint(Source::InRequest);
        assert!(matches!(
            named.apply(EndpointChange::Update(patch), later),
            Err(EndpointError::AddressFixed)
        ));
        named.apply(EndpointChange::Disable, later).expect("applied");
        assert_eq!(named.enablement, Enablement::Disabled(None));
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
