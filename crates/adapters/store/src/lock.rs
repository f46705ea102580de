//! Locks of values that are valid after every statement.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The value, also after a thread that held it has panicked.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
