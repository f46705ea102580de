//! Begins requests a few at a time, so that requests in progress do not wait behind all new ones.
//!
//! A worker runs its tasks in the order in which they were woken. In a flood thousands of sockets are
//! readable at once, and a payment that was committed long ago would be answered only after all of them were
//! refused. So a limited number of requests begins in each round of the tasks; the others wait at the gate,
//! and cost almost nothing there. If more wait than begin at once, half of the places go to those who came last and half
//! to those who have waited for longest: the former are answered while their clients still wait, and the latter do not
//! wait for ever. Served only in their order, all would wait for long, and what is then accepted would come late.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::poll_fn,
    rc::Rc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

/// How many requests begin in one round. Refusing as many takes a few milliseconds.
const AT_ONCE: usize = 256;
/// Who has waited for as long as this comes late.
const LATE: Duration = Duration::from_millis(100);

/// The gate of one worker.
#[derive(Clone)]
pub(crate) struct Gate(Rc<Inner>);

struct Inner {
    /// How many requests may still begin in this round.
    left: Cell<usize>,
    waiting: RefCell<VecDeque<Rc<Ticket>>>,
    keeper: Cell<Option<Waker>>,
    is_kept: Cell<bool>,
}

/// The place of one connection in the queue.
pub(super) struct Ticket {
    since: Cell<Instant>,
    is_called: Cell<bool>,
    waker: RefCell<Waker>,
}

impl Ticket {
    fn new(waker: Waker) -> Self {
        Self { since: Cell::new(Instant::now()), is_called: Cell::new(false), waker: RefCell::new(waker) }
    }

    fn call(&self) {
        self.is_called.set(true);
        self.waker.borrow().wake_by_ref();
    }
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self(Rc::new(Inner {
            left: Cell::new(AT_ONCE),
            waiting: RefCell::default(),
            keeper: Cell::default(),
            is_kept: Cell::new(false),
        }))
    }

    /// Ready when a request may begin, with whether it has waited for so long that it should not begin anything that takes
    /// longer. `ticket` is kept between calls.
    pub(super) fn poll_enter(&self, ticket: &mut Option<Rc<Ticket>>, context: &Context<'_>) -> Poll<bool> {
        if let Some(waiting) = ticket {
            if !waiting.is_called.get() {
                waiting.waker.borrow_mut().clone_from(context.waker());
                return Poll::Pending;
            }
            let is_late = waiting.since.get().elapsed() >= LATE;
            *ticket = None;
            return Poll::Ready(is_late);
        }
        self.begin_round();
        let left = self.0.left.get();
        if left > 0 {
            self.0.left.set(left - 1);
            return Poll::Ready(false);
        }
        let waiting = Rc::new(Ticket::new(context.waker().clone()));
        self.0.waiting.borrow_mut().push_back(Rc::clone(&waiting));
        *ticket = Some(waiting);
        Poll::Pending
    }

    /// Begins a round. It ends when the keeper's task runs, after all tasks that were woken before it.
    fn begin_round(&self) {
        if !self.0.is_kept.replace(true) {
            let gate = self.clone();
            actix_web::rt::spawn(poll_fn(move |context| {
                gate.end_round(context);
                Poll::<()>::Pending
            }));
        } else if let Some(keeper) = self.0.keeper.take() {
            keeper.wake();
        }
    }

    /// Lets in requests that wait, and begins the next round with them.
    fn end_round(&self, context: &Context<'_>) {
        let mut waiting = self.0.waiting.borrow_mut();
        let called = waiting.len().min(AT_ONCE);
        let newest = if waiting.len() > AT_ONCE { AT_ONCE / 2 } else { 0 };
        for ticket in waiting.drain(..called - newest) {
            ticket.call();
        }
        let others = waiting.len() - newest;
        for ticket in waiting.drain(others..) {
            ticket.call();
        }
        // While some wait, newcomers join them.
        self.0.left.set(if waiting.is_empty() { AT_ONCE - called } else { 0 });
        if called > 0 {
            context.waker().wake_by_ref();
        } else {
            self.0.keeper.set(Some(context.waker().clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gate whose keeper is the test.
    fn gate() -> Gate {
        let gate = Gate::new();
        gate.0.is_kept.set(true);
        gate
    }

    fn enter(gate: &Gate, ticket: &mut Option<Rc<Ticket>>) -> bool {
        gate.poll_enter(ticket, &Context::from_waker(Waker::noop())).is_ready()
    }

    fn end_round(gate: &Gate) {
        gate.end_round(&Context::from_waker(Waker::noop()));
    }

    /// Fills the present round, and lets so many wait.
    fn waiting(gate: &Gate, number: usize) -> Vec<Option<Rc<Ticket>>> {
        while enter(gate, &mut None) {}
        let mut tickets: Vec<_> = (0..number).map(|_| None).collect();
        assert!(tickets.iter_mut().all(|ticket| !enter(gate, ticket)));
        // Who asked in vain to fill the round waits as well, before all others.
        gate.0.waiting.borrow_mut().pop_front();
        tickets
    }

    #[test]
    fn those_who_wait_come_in_with_the_next_round_and_newcomers_behind_them() {
        let gate = gate();
        let mut tickets = waiting(&gate, AT_ONCE);
        assert!(tickets.iter_mut().all(|ticket| !enter(&gate, ticket)), "asking twice helps nobody");
        end_round(&gate);
        assert!(!enter(&gate, &mut None), "all places are taken");
        assert!(tickets.iter_mut().all(|ticket| enter(&gate, ticket)));
        end_round(&gate);
        end_round(&gate);
        assert!(enter(&gate, &mut None), "there is room again");
    }

    #[test]
    fn of_too_many_the_newest_and_the_oldest_come_in() {
        let gate = gate();
        let mut tickets = waiting(&gate, 2 * AT_ONCE);
        end_round(&gate);
        let entered: Vec<bool> = tickets.iter_mut().map(|ticket| enter(&gate, ticket)).collect();
        let half = AT_ONCE / 2;
        let expected = |place| place < half || place >= 2 * AT_ONCE - half;
        assert!(
            entered.iter().enumerate().all(|(place, entered)| *entered == expected(place)),
            "{entered:?}"
        );
        end_round(&gate);
        assert!(tickets[half..2 * AT_ONCE - half].iter_mut().all(|ticket| enter(&gate, ticket)));
    }

    #[test]
    fn who_waits_long_comes_late() {
        let gate = gate();
        let enter =
            |ticket: &mut Option<Rc<Ticket>>| gate.poll_enter(ticket, &Context::from_waker(Waker::noop()));
        assert_eq!(enter(&mut None), Poll::Ready(false));
        let mut tickets = waiting(&gate, 2);
        for (ticket, waited) in tickets.iter_mut().zip([LATE, Duration::ZERO]) {
            let since = &ticket.as_ref().expect("it waits").since;
            since.set(since.get().checked_sub(waited).expect("the machine runs for longer"));
        }
        end_round(&gate);
        let entered: Vec<_> = tickets.iter_mut().map(enter).collect();
        assert_eq!(entered, [Poll::Ready(true), Poll::Ready(false)]);
    }

    #[test]
    fn a_quiet_round_gives_all_places_back() {
        let gate = gate();
        for _ in 0..3 * AT_ONCE {
            assert!(enter(&gate, &mut None));
            gate.end_round(&Context::from_waker(Waker::noop()));
        }
    }
}
