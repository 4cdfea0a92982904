use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere does not make the value wrong: every change under the lock is a single step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
