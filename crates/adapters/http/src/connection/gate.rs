//! Begins requests a few at a time, so that requests in progress do not wait behind all new ones.
//!
//! A worker runs its tasks in the order in which they were woken. In a flood thousands of sockets are
//! readable at once, and a payment that was committed long ago would be answered only after all of them were
//! refused. So a limited number of requests begins in each round of the tasks; the others wait at the gate,
//! in their order, and cost almost nothing there.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::poll_fn,
    rc::Rc,
    task::{Context, Poll, Waker},
};

/// How many requests begin in one round. Refusing as many takes a few milliseconds.
const AT_ONCE: usize = 256;

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
    is_called: Cell<bool>,
    waker: RefCell<Waker>,
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

    /// Ready when a request may begin. `ticket` is kept between calls.
    pub(super) fn poll_enter(&self, ticket: &mut Option<Rc<Ticket>>, context: &Context<'_>) -> Poll<()> {
        if let Some(waiting) = ticket {
            if !waiting.is_called.get() {
                waiting.waker.borrow_mut().clone_from(context.waker());
                return Poll::Pending;
            }
            *ticket = None;
            return Poll::Ready(());
        }
        self.begin_round();
        let left = self.0.left.get();
        if left > 0 {
            self.0.left.set(left - 1);
            return Poll::Ready(());
        }
        let waiting =
            Rc::new(Ticket { is_called: Cell::new(false), waker: RefCell::new(context.waker().clone()) });
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

    /// Lets in the requests that have waited for longest, and begins the next round with them.
    fn end_round(&self, context: &Context<'_>) {
        let mut waiting = self.0.waiting.borrow_mut();
        let called = waiting.len().min(AT_ONCE);
        for ticket in waiting.drain(..called) {
            ticket.is_called.set(true);
            ticket.waker.borrow().wake_by_ref();
        }
        // New requests queue behind those that already wait.
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

    #[test]
    fn a_round_lets_some_in_and_the_next_one_those_who_waited_first() {
        let gate = gate();
        for _ in 0..AT_ONCE {
            assert!(enter(&gate, &mut None));
        }
        let mut tickets: Vec<Option<Rc<Ticket>>> = (0..AT_ONCE + 2).map(|_| None).collect();
        assert!(tickets.iter_mut().all(|ticket| !enter(&gate, ticket)));
        assert!(tickets.iter_mut().all(|ticket| !enter(&gate, ticket)), "asking twice helps nobody");

        gate.end_round(&Context::from_waker(Waker::noop()));
        assert!(!enter(&gate, &mut None), "a newcomer goes behind those who wait");
        let entered: Vec<bool> = tickets.iter_mut().map(|ticket| enter(&gate, ticket)).collect();
        assert!(entered[..AT_ONCE].iter().all(|entered| *entered));
        assert_eq!(entered[AT_ONCE..], [false, false]);

        gate.end_round(&Context::from_waker(Waker::noop()));
        assert!(tickets[AT_ONCE..].iter_mut().all(|ticket| enter(&gate, ticket)));
        assert!(enter(&gate, &mut None), "there is room again");
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
