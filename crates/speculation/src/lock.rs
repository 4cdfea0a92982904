use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic in another thread does not make the value wrong, because every change under the lock is a single step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
