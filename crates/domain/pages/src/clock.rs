//! The countdown to a deadline.

use quipu_kernel::Timestamp;

use crate::{story::Story, words::Words};

/// A deadline and the time until then.
pub(crate) struct Clock {
    /// The deadline in milliseconds since 1970, for the script.
    pub(crate) until: i64,
    /// The time left, in the format that the script uses.
    pub(crate) left: String,
    /// The deadline in ISO 8601.
    pub(crate) machine: String,
    /// The deadline in UTC, for a reader whose time zone is not known.
    pub(crate) text: String,
    /// The sentence around the deadline.
    pub(crate) by_before: String,
    pub(crate) by_after: String,
    /// What is told after the deadline, until the payment has ended.
    pub(crate) over: Story,
}

impl Clock {
    /// A countdown to `until` whose sentence is the message `key`.
    pub(crate) fn new((until, now): (Timestamp, Timestamp), key: &str, over: Story, words: Words) -> Self {
        const PLACE: char = '\u{1}';
        let sentence = words.say_with(key, &[("moment", &PLACE.to_string())]);
        let (before, after) = sentence.split_once(PLACE).unwrap_or((&sentence, ""));
        Self {
            until: until.millis(),
            left: left(until, now, words),
            machine: until.to_string(),
            text: moment(until),
            by_before: before.to_owned(),
            by_after: after.to_owned(),
            over,
        }
    }
}

/// `2026-11-22 21:40 UTC`: the same in every language. The script puts it into the reader's own time and form.
fn moment(at: Timestamp) -> String {
    let text = at.to_string();
    let (date, time) = text.split_once('T').unwrap_or((&text, ""));
    format!("{date} {} UTC", time.get(..5).unwrap_or_default())
}

/// Hours, minutes and seconds, and days if there are any. A part of a second counts as one, so that zero
/// means the end.
fn left(until: Timestamp, now: Timestamp, words: Words) -> String {
    let seconds = until.since(now).as_millis().div_ceil(1000);
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    let rest = format!("{hours:02}:{minutes:02}:{:02}", seconds % 60);
    if days == 0 {
        rest
    } else {
        format!("{} {rest}", words.say_with("days", &[("count", &days.to_string())]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;

    #[test]
    fn the_time_left_is_counted_to_the_second() {
        let words = Words::of(Language::English);
        let now = Timestamp::from_millis(1_763_683_200_000);
        let table = [
            (0, "00:00:00"),
            (1, "00:00:01"),
            (59_000, "00:00:59"),
            (60_000, "00:01:00"),
            (3_599_001, "01:00:00"),
            (3_723_000, "01:02:03"),
            (86_399_000, "23:59:59"),
            (86_400_000, "1 d 00:00:00"),
            (183_845_000, "2 d 03:04:05"),
            (259_200_000, "3 d 00:00:00"),
        ];
        for (millis, expected) in table {
            let until = Timestamp::from_millis(now.millis() + millis);
            assert_eq!(left(until, now, words), expected);
        }
        assert_eq!(left(Timestamp::from_millis(0), now, words), "00:00:00");
    }

    #[test]
    fn the_moment_stands_inside_its_sentence() {
        let at = Timestamp::from_millis(1_763_683_200_000);
        let over = Story { tone: "wait", headline: String::new(), text: String::new(), more: None };
        let clock = Clock::new((at, at), "pay-by", over, Words::of(Language::Sinhala));
        assert_eq!((clock.text.as_str(), clock.by_before.as_str()), ("2025-11-21 00:00 UTC", ""));
        assert!(!clock.by_after.is_empty());
    }
}
