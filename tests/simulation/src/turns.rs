//! Taking turns in one thread: whoever gives way lets others go on, or never goes on again.

use std::{
    future::poll_fn,
    pin::pin,
    task::{Context, Poll, Waker},
};

use crate::chance::Dice;

/// More turns than anything here takes: what takes more waits for something that never comes.
const MOST_TURNS: u32 = 1_000_000;

/// Gives way once.
pub async fn give_way() {
    let mut gave = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut gave, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Runs what waits for nothing but its next turn.
pub fn finish<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..MOST_TURNS {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
    }
    panic!("it waits for what never comes");
}

/// Runs both at the same time, in turns that the dice decide.
pub async fn race<A, B>(
    dice: &mut Dice,
    one: impl Future<Output = A>,
    other: impl Future<Output = B>,
) -> (A, B) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    let (mut first, mut second) = (None, None);
    poll_fn(|cx| {
        let turn = dice.below(3);
        if first.is_none()
            && turn != 0
            && let Poll::Ready(output) = one.as_mut().poll(cx)
        {
            first = Some(output);
        }
        if second.is_none()
            && turn != 1
            && let Poll::Ready(output) = other.as_mut().poll(cx)
        {
            second = Some(output);
        }
        // Who was passed over may have been the one that was woken.
        if turn != 2 {
            cx.waker().wake_by_ref();
        }
        match (first.take(), second.take()) {
            (Some(one), Some(other)) => Poll::Ready((one, other)),
            (one, other) => {
                (first, second) = (one, other);
                Poll::Pending
            }
        }
    })
    .await
}
