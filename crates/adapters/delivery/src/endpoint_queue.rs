//! The queue of one endpoint: its deliveries on this node, and how many of them may be attempted at once.

use std::{collections::VecDeque, time::Duration};

use quipu_kernel::Timestamp;
use quipu_webhooks::Owed;

use crate::{
    kept::{Amount, Kept},
    pace::Pace,
};

/// The attempts in progress to an endpoint of which nothing is known yet.
pub(crate) const FIRST_WINDOW: usize = 8;
/// The most attempts in progress to one endpoint, however well it answers.
pub(crate) const WIDEST_WINDOW: usize = 128;
/// After this many hanging attempts in a row an endpoint gets only one probe at a time.
const HANGS_UNTIL_PROBED: u32 = 3;
/// An endpoint that answers within this time is a quick one. A failure within it says nothing of the pace.
const QUICK: Duration = Duration::from_secs(1);
/// Deliveries kept in memory for an endpoint: many for a quick one, few for an unproven one, whose turn comes
/// seldom.
const KEPT_QUICK: usize = 2_000;
const KEPT_UNPROVEN: usize = 64;
/// After this many fresh deliveries a repeated one has its turn, so that neither kind starves the other.
const FRESH_IN_A_ROW: u32 = 4;

/// The end of an attempt, as far as it matters for the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// An answer of any kind came, after this time.
    Answered(Duration),
    /// It failed without an answer, after this time.
    Failed(Duration),
    /// It hung until its time limit.
    Hung,
}

/// The deliveries to an endpoint and what its answers have shown.
#[derive(Debug)]
pub(crate) struct EndpointQueue {
    fresh: VecDeque<Owed>,
    again: VecDeque<Owed>,
    fresh_in_a_row: u32,
    pub(crate) under_way: usize,
    /// The bytes of the deliveries here, those in progress included.
    bytes: usize,
    /// The bytes that a delivery took of late, on the average; 0 if none is known.
    pub(crate) usual_bytes: usize,
    window: usize,
    hangs: u32,
    pace: Pace,
    /// When the last success ended.
    pub(crate) succeeded_at: Option<Timestamp>,
    /// Whether the endpoint is among those that may send next.
    pub(crate) ready: bool,
    /// Whether the store may have more due deliveries.
    pub(crate) more_stored: bool,
}

impl Default for EndpointQueue {
    fn default() -> Self {
        Self {
            fresh: VecDeque::new(),
            again: VecDeque::new(),
            fresh_in_a_row: 0,
            under_way: 0,
            bytes: 0,
            usual_bytes: 0,
            window: FIRST_WINDOW,
            hangs: 0,
            pace: Pace::Unproven,
            succeeded_at: None,
            ready: false,
            more_stored: false,
        }
    }
}

impl EndpointQueue {
    pub(crate) const fn pace(&self) -> Pace {
        self.pace
    }

    const fn is_probed(&self) -> bool {
        self.hangs >= HANGS_UNTIL_PROBED
    }

    /// How many more deliveries may be kept here. For a probed endpoint only the probe is kept.
    pub(crate) fn room(&self) -> usize {
        let most = match self.pace {
            _ if self.is_probed() => 1,
            Pace::Quick => KEPT_QUICK,
            Pace::Unproven => KEPT_UNPROVEN,
        };
        most.saturating_sub(self.held().deliveries)
    }

    /// The deliveries here, those in progress included.
    pub(crate) fn held(&self) -> Amount {
        Amount::new(self.waiting() + self.under_way, self.bytes)
    }

    /// The deliveries here that are not in progress.
    pub(crate) fn waiting_here(&self) -> impl Iterator<Item = &Owed> {
        self.fresh.iter().chain(&self.again)
    }

    fn waiting(&self) -> usize {
        self.fresh.len() + self.again.len()
    }

    /// The same by pace.
    pub(crate) fn kept(&self) -> Kept {
        Kept::of(self.pace, self.held())
    }

    /// Whether there is a delivery to send and a place for it.
    pub(crate) fn may_send(&self) -> bool {
        self.under_way < self.window && self.waiting() > 0
    }

    pub(crate) fn push(&mut self, owed: Owed) {
        let bytes = owed.bytes();
        self.bytes += bytes;
        self.usual_bytes = if self.usual_bytes == 0 { bytes } else { self.usual_bytes / 8 * 7 + bytes / 8 };
        let kind = if owed.is_fresh() { &mut self.fresh } else { &mut self.again };
        kind.push_back(owed);
    }

    /// Takes the next delivery, which is in progress from now on.
    pub(crate) fn take(&mut self) -> Option<Owed> {
        let turn_of_again = self.fresh_in_a_row >= FRESH_IN_A_ROW && !self.again.is_empty();
        let fresh = if turn_of_again { None } else { self.fresh.pop_front() };
        self.fresh_in_a_row = if fresh.is_some() { self.fresh_in_a_row + 1 } else { 0 };
        let taken = fresh.or_else(|| self.again.pop_front())?;
        self.under_way += 1;
        Some(taken)
    }

    /// Adapts the window and the state to the end of an attempt to send a delivery of so many bytes.
    pub(crate) fn ended(&mut self, ending: Ending, bytes: usize) {
        self.under_way -= 1;
        self.bytes -= bytes;
        match ending {
            Ending::Answered(after) => {
                self.pace = if after < QUICK { Pace::Quick } else { Pace::Unproven };
                // Each quick answer makes room for one more, so that the window doubles with each round of
                // answers; a slow endpoint gets no more than its first places.
                let window = match self.pace {
                    Pace::Quick => self.window + 1,
                    Pace::Unproven => self.window.min(FIRST_WINDOW),
                };
                self.window = window.clamp(FIRST_WINDOW / 2, WIDEST_WINDOW);
                self.hangs = 0;
            }
            Ending::Failed(after) if after < QUICK => {}
            // Each of its attempts holds a place as long as one to a slow endpoint does.
            Ending::Failed(_) => {
                self.pace = Pace::Unproven;
                self.window = self.window.min(FIRST_WINDOW);
            }
            Ending::Hung => {
                self.hangs = self.hangs.saturating_add(1);
                self.pace = Pace::Unproven;
                self.window = if self.is_probed() { 1 } else { (self.window / 2).max(1) };
            }
        }
    }

    /// Takes out deliveries that an unproven endpoint must not keep, which are then in the store: as much as
    /// `beyond`, and all but the next probe if it is probed.
    pub(crate) fn give_up(&mut self, beyond: Amount) -> Vec<Owed> {
        let before = self.held();
        let mut given_up = Vec::new();
        loop {
            let gone = before.without(self.held());
            let is_enough = gone.deliveries >= beyond.deliveries && gone.bytes >= beyond.bytes;
            if is_enough && !(self.is_probed() && self.waiting() > 1) {
                break;
            }
            let Some(owed) = self.again.pop_back().or_else(|| self.fresh.pop_back()) else { break };
            self.bytes -= owed.bytes();
            given_up.push(owed);
        }
        self.more_stored |= !given_up.is_empty();
        given_up
    }

    /// Takes out all deliveries that are not in progress.
    pub(crate) fn drain(&mut self) -> Vec<Owed> {
        let drained: Vec<_> = self.fresh.drain(..).chain(self.again.drain(..)).collect();
        self.bytes -= drained.iter().map(Owed::bytes).sum::<usize>();
        drained
    }
}
