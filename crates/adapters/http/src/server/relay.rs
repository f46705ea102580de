//! Wakes the tasks of a worker from other threads, all at once instead of one by one.
//!
//! A single-threaded runtime keeps tasks woken by other threads in a separate queue, which it checks only
//! every 31 turns while its own sockets have work. In a flood they always have, and answers that the database
//! gave long ago would wait behind new requests that are only refused. So other threads wake one task of the
//! worker, and that task wakes all others.

use std::{
    cell::Cell,
    future::poll_fn,
    pin::Pin,
    rc::Rc,
    sync::{Arc, Mutex},
    task::{Context, Poll, Wake, Waker},
    thread::{self, ThreadId},
};

use quipu_kernel::locked;

use futures_util::task::AtomicWaker;

/// The relay of one worker.
#[derive(Clone, Default)]
pub(crate) struct Relay {
    post: Arc<Post>,
    is_served: Rc<Cell<bool>>,
}

/// The tasks that other threads have woken.
#[derive(Default)]
struct Post {
    woken: Mutex<Vec<Arc<Waiter>>>,
    worker: AtomicWaker,
}

/// A task that waits for another thread.
struct Waiter {
    home: ThreadId,
    post: Arc<Post>,
    task: Mutex<Waker>,
}

impl Relay {
    /// Runs a future on this worker, so that other threads wake it through the relay.
    pub(crate) async fn run<F: Future>(&self, future: F) -> F::Output {
        if !self.is_served.replace(true) {
            actix_web::rt::spawn(serve(Arc::clone(&self.post)));
        }
        let mut future = std::pin::pin!(future);
        let mut waiter: Option<(Arc<Waiter>, Waker)> = None;
        poll_fn(move |context| {
            let (waiter, waker) = waiter.get_or_insert_with(|| {
                let waiter = Arc::new(Waiter {
                    home: thread::current().id(),
                    post: Arc::clone(&self.post),
                    task: Mutex::new(context.waker().clone()),
                });
                (Arc::clone(&waiter), Waker::from(waiter))
            });
            locked(&waiter.task).clone_from(context.waker());
            Pin::as_mut(&mut future).poll(&mut Context::from_waker(waker))
        })
        .await
    }
}

/// Wakes, on this thread, the tasks that other threads have woken.
async fn serve(post: Arc<Post>) {
    let mut taken = Vec::new();
    poll_fn(move |context| {
        post.worker.register(context.waker());
        std::mem::swap(&mut taken, &mut *locked(&post.woken));
        for waiter in taken.drain(..) {
            locked(&waiter.task).wake_by_ref();
        }
        Poll::<()>::Pending
    })
    .await;
}

impl Wake for Waiter {
    fn wake(self: Arc<Self>) {
        if thread::current().id() == self.home {
            locked(&self.task).wake_by_ref();
            return;
        }
        let post = Arc::clone(&self.post);
        let is_first = {
            let mut woken = locked(&post.woken);
            woken.push(self);
            woken.len() == 1
        };
        if is_first {
            post.worker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use actix_web::rt::{System, spawn, task::yield_now};
    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn those_whom_another_thread_answered_go_on_within_a_few_turns_of_a_busy_worker() {
        const CALLERS: usize = 100;
        System::new().block_on(async {
            let relay = Relay::default();
            let (asked, asking) = mpsc::channel::<oneshot::Sender<()>>();
            let callers: Vec<_> = (0..CALLERS)
                .map(|_| {
                    let (relay, asked) = (relay.clone(), asked.clone());
                    spawn(async move {
                        let (reply, answer) = oneshot::channel();
                        asked.send(reply).expect("it is asked");
                        relay.run(answer).await.expect("an answer");
                    })
                })
                .collect();
            let mut replies = Vec::new();
            while replies.len() < CALLERS {
                yield_now().await;
                replies.extend(asking.try_iter());
            }
            let answering = thread::spawn(move || {
                for reply in replies {
                    reply.send(()).expect("somebody waits");
                }
            });
            // Keeps the worker always busy, so that it seldom checks the queue of tasks woken by other
            // threads.
            let busy = spawn(poll_fn(|context| {
                context.waker().wake_by_ref();
                Poll::<()>::Pending
            }));
            answering.join().expect("no panic");
            let mut turns = 0;
            while !callers.iter().all(actix_web::rt::task::JoinHandle::is_finished) {
                turns += 1;
                yield_now().await;
            }
            busy.abort();
            assert!(turns < CALLERS / 10, "{turns} turns");
        });
    }

    #[test]
    fn what_wakes_on_its_own_thread_wakes_at_once() {
        System::new().block_on(async {
            let relay = Relay::default();
            let (reply, answer) = oneshot::channel();
            let waiting = spawn({
                let relay = relay.clone();
                async move { relay.run(answer).await }
            });
            yield_now().await;
            reply.send(7).expect("somebody waits");
            assert_eq!(waiting.await.expect("no panic"), Ok(7));
            assert!(locked(&relay.post.woken).is_empty());
        });
    }
}
