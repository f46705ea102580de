//! Locks for values that are valid after every statement, so that a panic does not spoil them.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The locked value, even if a thread has panicked while it held the lock.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
