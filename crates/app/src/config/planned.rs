//! Keys whose features are not there yet. They are read and judged like the others, so that one configuration serves
//! this release and the next ones, and the start says which of them have no effect.

use super::{
    reader::Reader,
    values::{self, Expected},
};

/// Judges the form of a value.
type Form = fn(&str) -> Result<(), Expected>;

/// Each planned key with the form of its value.
const PLANNED: [(&str, Form); 5] = [
    ("webhooks.allow_private", values::flag),
    ("webhooks.retry_schedule", values::schedule),
    ("webhooks.disable_after", |text| values::duration(text).map(drop)),
    ("rails.status_schedule", values::schedule),
    ("redirectpay.alert_after", |text| values::duration(text).map(drop)),
];

/// The planned keys that are set.
pub(super) fn take(from: &mut Reader) -> Vec<&'static str> {
    PLANNED.into_iter().filter_map(|(key, form)| from.take(key, form).map(|()| key)).collect()
}
