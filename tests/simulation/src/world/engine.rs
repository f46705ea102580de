//! Who goes on next: tasks in one thread, which give way, wait for a time, or die with their node.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use quipu_kernel::{Clock as _, Timestamp, locked};

use crate::{chance::Dice, clock::HandClock};

/// A clock that can be waited for.
#[derive(Clone)]
pub(crate) struct Alarm {
    pub(crate) clock: Arc<HandClock>,
    wanted: Arc<Mutex<Option<Timestamp>>>,
}

impl Alarm {
    pub(crate) fn new(clock: Arc<HandClock>) -> Self {
        Self { clock, wanted: Arc::default() }
    }

    /// Completes at `at`.
    pub(crate) async fn rings(&self, at: Timestamp) {
        poll_fn(|_| {
            if self.clock.now() >= at {
                return Poll::Ready(());
            }
            *locked(&self.wanted) = Some(at);
            Poll::Pending
        })
        .await;
    }

    fn take(&self) -> Option<Timestamp> {
        locked(&self.wanted).take()
    }
}

/// What is to be done if a task dies with its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A call from outside: whoever made it calls again.
    Call(usize),
    /// A worker's round over what is due; the next is begun when this one is over.
    Round(&'static str),
}

pub(crate) type Doing = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Task {
    node: usize,
    kind: Kind,
    wakes: Timestamp,
    doing: Doing,
}

/// The tasks of a world.
pub(crate) struct Engine {
    tasks: Vec<Task>,
    alarm: Alarm,
    pub(crate) dice: Dice,
    /// Turns given so far.
    pub(crate) turns: u64,
}

impl Engine {
    pub(crate) fn new(alarm: Alarm, seed: u64) -> Self {
        Self { tasks: Vec::new(), alarm, dice: Dice::new(seed ^ 0x00e4_919e), turns: 0 }
    }

    pub(crate) fn begin(&mut self, node: usize, kind: Kind, doing: Doing) {
        self.tasks.push(Task { node, kind, wakes: self.alarm.clock.now(), doing });
    }

    /// Whether such a task is under way.
    pub(crate) fn is_under_way(&self, kind: &Kind) -> bool {
        self.tasks.iter().any(|task| task.kind == *kind)
    }

    /// Gives some task that can go on its turn, and answers its node; none where all wait.
    pub(crate) fn turn(&mut self) -> Option<usize> {
        let now = self.alarm.clock.now();
        let able = self.tasks.iter().filter(|task| task.wakes <= now).count();
        if able == 0 {
            return None;
        }
        let chosen = usize::try_from(self.dice.below(able as u64)).unwrap_or(0);
        let mut able = self.tasks.iter().enumerate().filter(|(_, task)| task.wakes <= now);
        let place = able.nth(chosen).map(|(place, _)| place)?;
        self.turns += 1;
        let task = &mut self.tasks[place];
        let node = task.node;
        let polled = task.doing.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let wanted = self.alarm.take();
        match polled {
            Poll::Ready(()) => drop(self.tasks.swap_remove(place)),
            Poll::Pending => task.wakes = wanted.unwrap_or(now),
        }
        Some(node)
    }

    /// When the next task can go on.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.tasks.iter().map(|task| task.wakes).min()
    }

    /// Ends everything on a node, wherever it stands; answers the calls that were lost.
    pub(crate) fn kill(&mut self, node: usize) -> Vec<usize> {
        let mut lost = Vec::new();
        self.tasks.retain(|task| {
            if task.node != node {
                return true;
            }
            if let Kind::Call(call) = task.kind {
                lost.push(call);
            }
            false
        });
        lost
    }
}
