//! Webhook endpoints.

use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use quipu_kernel::Timestamp;
use quipu_webhooks::Endpoint;

use super::columns::columns;
use crate::rows::endpoint::{disabled_reason, events_text};

columns! {
    in "webhook_endpoints" from (line: Endpoint) {
        merchant_id: i64 as BigInt = line.tenant.merchant().0;
        environment: &'a str as Text = line.tenant.environment().as_str();
        id: &'a str as Text = line.id.as_str();
        source: &'a str as Text = line.source.as_str();
        url: &'a str as Text = line.url.as_str();
        events: String as Text = events_text(&line.events);
        description: Option<&'a str> as Nullable<Text> = line.description.as_deref();
        sealed_secret: Option<&'a str> as Nullable<Text> = line.sealed_secret.as_deref();
        enabled: bool as Bool = line.is_enabled();
        disabled_reason: Option<&'a str> as Nullable<Text> = disabled_reason(line);
        failing_since: Option<i64> as Nullable<BigInt> = line.failing_since.map(Timestamp::millis);
        created_at: i64 as BigInt = line.created_at.millis();
        updated_at: i64 as BigInt = line.updated_at.millis();
    }
}
